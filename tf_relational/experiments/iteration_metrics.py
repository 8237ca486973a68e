"""From an engine's result of an iteration to a line of metrics."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any


class SolvedWindow:
    """The fraction solved over the latest finished episodes, in all and by kind of puzzle.

    An iteration finishes a handful of episodes; the shares stand over the iterations that
    together make at least `least` episodes of that kind (fewer while there are fewer).

    Args:
        least: fewest episodes that a share stands over.

    Example:
        >>> window = SolvedWindow(least=10)
        >>> window.add({"(1,0,0)": 0.5, "(1,1,2)": 1.0}, {"(1,0,0)": 4, "(1,1,2)": 1})
        >>> window.shares()["fraction_solved"]
        0.6
    """

    def __init__(self, least: int = 200) -> None:
        self.least = least
        self._kinds: dict[str, collections.deque[tuple[int, int]]] = {}

    def add(self, shares: Mapping[str, float], episodes: Mapping[str, int]) -> None:
        """Adds an iteration.

        Args:
            shares: fraction solved by puzzle type "(a,b,c)"; "(a,0,0)" is a bridge-free one of
                solution length a.
            episodes: finished episodes of the same types.
        """
        sums: dict[str, list[int]] = {}
        for name, count in episodes.items():
            solved = round(shares[name] * count)
            for key in _keys(name):
                total = sums.setdefault(key, [0, 0])
                total[0] += solved
                total[1] += int(count)
        for key, (solved, count) in sums.items():
            latest = self._kinds.setdefault(key, collections.deque())
            latest.append((solved, count))
            kept = sum(count for _, count in latest)
            while kept - latest[0][1] >= self.least:
                kept -= latest.popleft()[1]

    def shares(self) -> dict[str, float]:
        """Returns the shares by metric name; empty before the first episode."""
        return {
            key: sum(solved for solved, _ in latest) / sum(count for _, count in latest)
            for key, latest in sorted(self._kinds.items())
        }

    def get_state(self) -> dict[str, list[list[int]]]:
        """Returns the window as plain data for a checkpoint."""
        return {key: [list(pair) for pair in latest] for key, latest in self._kinds.items()}

    def set_state(self, state: Mapping[str, list[list[int]]]) -> None:
        """Takes over what `get_state` returned."""
        self._kinds = {
            key: collections.deque((solved, count) for solved, count in latest)
            for key, latest in state.items()
        }


def iteration_metrics(
    result: dict[str, Any], window: SolvedWindow, step_limit: int | None, wall_time: float
) -> dict[str, Any]:
    """Returns a line of `metrics.jsonl` from either engine's result of one iteration.

    Args:
        result: what RLlib's `algo.train()` returned, or of `CompiledTrainer.train()` one replica's.
        window: takes in the iteration's episodes and gives the shares solved.
        step_limit: of the training episodes.
        wall_time: seconds of training so far.
    """
    runners = result.get("env_runners", {})
    learner = result.get("learners", {}).get("default_policy", {})
    curriculum, levels = result.get("curriculum", {}), result.get("levels", {})
    window.add(runners.get("fraction_solved_by_type", {}), runners.get("episodes_by_type", {}))
    frames, throughput = result["frames"], result.get("throughput", {})
    line = {
        "frames": int(frames["sampled"]),
        "iteration": result["training_iteration"],
        "wall_time": round(wall_time, 3),
        "step_limit": step_limit,
        "trained_frames": int(frames["trained"]),
        "dropped_frames": int(frames["dropped"]),
        "frames_per_second": throughput.get("sampled_per_s"),
        "trained_frames_per_second": throughput.get("trained_per_s"),
        **window.shares(),
        "episodes": runners.get("num_episodes_lifetime"),
        "episode_return_mean": runners.get("episode_return_mean"),
        "episode_len_mean": runners.get("episode_len_mean"),
        "bridge_opened": runners.get("bridge_opened"),
        "distractor_opened": runners.get("distractor_opened"),
        "entropy": learner.get("entropy"),
        "policy_loss": learner.get("policy_loss"),
        "value_loss": learner.get("value_loss"),
        "explained_variance": learner.get("explained_variance"),
        "gradient_norm": learner.get("gradient_norm"),
        "importance_weight": learner.get("importance_weight_mean"),
        "importance_weight_max": learner.get("importance_weight_max"),
        "policy_lag": learner.get("policy_lag"),
        "learning_rate": learner.get("learning_rate"),
        "updates": learner.get("num_updates_lifetime"),
        "levels/begun": levels.get("begun"),
        "levels/window": levels.get("window"),
        "levels/reused": levels.get("reused"),
        "curriculum/difficulty": curriculum.get("difficulty"),
        "curriculum/probability": curriculum.get("probability"),
        "curriculum/success": curriculum.get("success"),
    }
    # RLlib gives NaN for what has not happened yet. A step limit of None is a value.
    limit = {"step_limit": line.pop("step_limit")}
    known = {key: value for key, value in line.items() if value is not None and value == value}
    return known | limit


def _keys(name: str) -> list[str]:
    length, source, target = (int(part) for part in name.strip("()").split(","))
    if source:
        return ["fraction_solved", f"fraction_solved/({length}, {source}, {target})"]
    return ["fraction_solved", "fraction_solved/None", f"fraction_solved_by_length/{length}"]
