"""From sums over finished episodes to means."""

import math

FLAGS = {
    "win": "solved",
    "bridge_opened": "bridge_opened",
    "distractor_opened": "distractor_opened",
}
"""Booleans an environment may report at the end of an episode, and what they are counted as."""


def episode_metrics(sums):
    """Turn sums of `EpisodeStatistics` into means.

    Args:
        sums: the nested dict of sums.

    Returns:
        A dict: `episode_return_mean`, `episode_len_mean` (NaN without a finished episode); where
        the environment reports them `fraction_solved`, `bridge_opened`, `distractor_opened`,
        `fraction_solved_by_type` and `episodes_by_type` (dicts by `"(a,b,c)"`); with a curriculum
        `curriculum_episodes` and `curriculum_return_mean`.

    Example:
        >>> episode_metrics({"episodes": 4, "return": 2.0, "length": 10, "solved": 1})
        {'episode_return_mean': 0.5, 'episode_len_mean': 2.5, 'fraction_solved': 0.25}
    """
    sums = _without_nan(sums)
    episodes = sums.get("episodes", 0)
    metrics = {
        "episode_return_mean": float(sums["return"] / episodes) if episodes else float("nan"),
        "episode_len_mean": float(sums["length"] / episodes) if episodes else float("nan"),
    }
    if episodes:
        for name in FLAGS.values():
            if name in sums:
                key = "fraction_solved" if name == "solved" else name
                metrics[key] = float(sums[name] / episodes)
    by_type = {kind: part for kind, part in sums.get("by_type", {}).items() if part["episodes"]}
    if by_type:
        metrics["fraction_solved_by_type"] = {
            kind: float(part["solved"] / part["episodes"]) for kind, part in sorted(by_type.items())
        }
        metrics["episodes_by_type"] = {
            kind: int(part["episodes"]) for kind, part in sorted(by_type.items())
        }
    if sums.get("curriculum_episodes"):
        metrics["curriculum_episodes"] = int(sums["curriculum_episodes"])
        metrics["curriculum_return_mean"] = float(
            sums["curriculum_return"] / sums["curriculum_episodes"]
        )
    return metrics


def _without_nan(sums):
    """RLlib reduces a sum to which an iteration added nothing to NaN."""
    if isinstance(sums, dict):
        return {name: _without_nan(part) for name, part in sums.items()}
    return 0.0 if math.isnan(sums) else sums
