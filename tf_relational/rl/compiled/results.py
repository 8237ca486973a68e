"""From what a compiled program counted to a result like RLlib's."""

import numpy as np

from tf_relational.rl.compiled.program import LEARNER_METRICS
from tf_relational.rl.episode_metrics import episode_metrics


class Tally:
    """Add up the calls of one iteration of one replica, and keep pool and curriculum in step.

    Args:
        kinds: list of the puzzle types, in the order of their numbers.
        bridges: whether an opened decoy is a bridge, and else a distractor.
        curriculum: a `tf_relational.rl.Curriculum`, or None.
        pool: the replica's `LevelPool`.
    """

    def __init__(self, kinds, bridges, curriculum, pool):
        self.kinds, self.curriculum, self.pool = kinds, curriculum, pool
        self.decoy = "bridge_opened" if bridges else "distractor_opened"
        self.other = "distractor_opened" if bridges else "bridge_opened"
        self.lifetime = 0
        self._calls = []

    def add(self, told):
        """Take in what one call told, a dict of arrays `[U, ...]`: see `Program.statistics`."""
        self.pool.advance(int(told["starts"].sum()))
        self.lifetime += int(told["episodes"].sum())
        if self.curriculum is not None:
            self._record(told.pop("outcomes"))
        self._calls.append(told)

    def _record(self, outcomes):
        before = self.curriculum.difficulty
        flat = outcomes.reshape(-1)
        for outcome in flat[flat > 0]:
            self.curriculum.record([outcome == 2])
            # The rest of the call was played at the difficulty that is now past.
            if self.curriculum.difficulty != before:
                break

    def result(self, last):
        """Return the iteration's result and begin the next.

        Args:
            last: what to add to the learner's metrics.
        """
        calls, self._calls = self._calls, []
        total = {
            name: np.sum([call[name].sum(axis=0, dtype=np.float64) for call in calls], axis=0)
            for name in calls[0]
            if name not in ("learner", "outcomes")
        }
        sums = {
            "episodes": total["episodes"],
            "return": total["return"],
            "length": total["length"],
            "solved": total["solved"],
            self.decoy: total["decoy_opened"],
            self.other: 0,
            "by_type": {
                "({},{},{})".format(*kind): {"episodes": episodes, "solved": solved}
                for kind, episodes, solved in zip(
                    self.kinds, total["episodes_by_kind"], total["solved_by_kind"], strict=True
                )
            },
            "curriculum_episodes": total["curriculum_episodes"],
            "curriculum_return": total["curriculum_return"],
        }
        steps = np.concatenate(
            [call["learner"].reshape(-1, len(LEARNER_METRICS)) for call in calls]
        )
        learner = dict(zip(LEARNER_METRICS, steps.mean(axis=0).tolist(), strict=True))
        learner["importance_weight_max"] = float(
            steps[:, LEARNER_METRICS.index("importance_weight_max")].max()
        )
        result = {
            "env_runners": {**episode_metrics(sums), "num_episodes_lifetime": self.lifetime},
            # The batch that is learned from was sampled with the weights it changes first.
            "learners": {"default_policy": {**learner, "policy_lag": 0.0, **last}},
            "levels": {
                "begun": self.pool.started,
                "window": self.pool.window,
                "reused": self.pool.reused,
            },
        }
        if self.curriculum is not None:
            result["curriculum"] = {
                "difficulty": self.curriculum.difficulty,
                "probability": self.curriculum.probability,
                "success": self.curriculum.success,
                "episodes": len(self.curriculum.outcomes),
            }
        return result
