"""Count finished episodes of a vector environment, as sums that add up over runners."""

import numpy as np

from tf_relational.rl.episode_metrics import FLAGS, episode_metrics

__all__ = ["EpisodeStatistics", "episode_metrics"]


class EpisodeStatistics:
    """Accumulate returns and lengths, and what the environment reports of finished episodes.

    Every statistic is a sum (episodes, returns, lengths, wins, ...), so that runners, iterations
    and evaluation rounds add up to exact means; `episode_metrics` divides. Episodes that began from
    a start-state curriculum (`curriculum` true in the final info) are kept apart: they appear under
    `curriculum_*` keys only, and each leaves a boolean (positive return) in `curriculum_outcomes`.

    Args:
        num_envs: `B`.
    """

    def __init__(self, num_envs):
        self.curriculum_outcomes = []
        self.num_episodes = 0
        self.just_finished = np.zeros(num_envs, bool)
        self._num_envs = num_envs
        self._sums = {}
        self.reset()

    def reset(self):
        """Forget the unfinished episodes."""
        self._returns = np.zeros(self._num_envs)
        self._lengths = np.zeros(self._num_envs, np.int64)

    def record(self, rewards, done, valid, infos, same_step, counted=None):
        """Add one step of all environments.

        Args:
            rewards, done, valid: `[B]`; rows that are not valid only reset.
            infos: of the vector environment.
            same_step: whether what an episode reports lies under `infos["final_info"]`.
            counted: `[B]` booleans, or None; episodes of the other environments are ignored.
        """
        self._returns += rewards * valid
        self._lengths += valid
        self.just_finished = done & valid
        if not self.just_finished.any():
            return
        report = infos.get("final_info", {}) if same_step else infos
        for index in np.flatnonzero(self.just_finished):
            if counted is None or counted[index]:
                self._finish(index, report)
        self._returns[self.just_finished] = 0.0
        self._lengths[self.just_finished] = 0

    def _finish(self, index, report):
        value = float(self._returns[index])
        if "curriculum" in report and report["curriculum"][index]:
            self.curriculum_outcomes.append(value > 0)
            self._add("curriculum_episodes", 1)
            self._add("curriculum_return", value)
            return
        self.num_episodes += 1
        self._add("episodes", 1)
        self._add("return", value)
        self._add("length", int(self._lengths[index]))
        for key, name in FLAGS.items():
            if key in report:
                self._add(name, int(report[key][index]))
        if "puzzle_type" in report and "win" in report:
            kind = "({},{},{})".format(*(int(part) for part in report["puzzle_type"][index]))
            self._add(("by_type", kind, "episodes"), 1)
            self._add(("by_type", kind, "solved"), int(report["win"][index]))

    def _add(self, key, value):
        key = ("sums", *key) if isinstance(key, tuple) else ("sums", key)
        self._sums[key] = self._sums.get(key, 0) + value

    def take(self):
        """Return the sums since the last call, by key, and start anew."""
        sums, self._sums, self.num_episodes = self._sums, {}, 0
        return sums
