"""Plays fresh Box-World levels with a policy and counts what was solved, by puzzle type."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tf_relational.envs.generator import puzzle_types
from tf_relational.experiments.intervals import wilson

NO_LIMIT_CAP = 20_000
"""Steps after which an episode without a limit counts as unsolved."""

Policy = Callable[[np.ndarray], np.ndarray]
"""Actions [B] of uint8 observations [B, rows, columns + 1, 3]."""

# Training seeds its environments with single integers; a seed sequence of several words that
# begins with this one never meets them.
_STREAM = 0xE7A1
_SELECTION = 3
_CHUNK = 512
# 1,024 levels each: ends the search where a setting makes a type next to impossible.
_MOST_DRAWS = 1_000


@dataclasses.dataclass(frozen=True)
class Episodes:
    """Levels and how their episodes ended.

    Attributes:
        puzzle_type: [E, 3] integers, (a, b, c); (a, 0, 0) without a bridge.
        natural: how many of the first levels are an unweighted draw from the task; those
            after them were added to rare puzzle types.
        solved: [E] whether the gem was reached within the limit.
        length: [E] steps played.
    """

    puzzle_type: np.ndarray
    natural: int
    solved: np.ndarray
    length: np.ndarray

    def shares(self) -> dict[str, dict[str, float | int]]:
        """Returns share, 95 % interval and number of episodes: "all", "None" and by type.

        "all" counts the natural draw alone; "None" is every bridge-free puzzle of it, and
        "length a" those of solution length a; "(a, b, c)" is a type with a bridge. What would say
        the same twice is left out: "None" where no puzzle has a bridge, "length a" where there is
        one length alone ("None" then counts the added ones too), and an only type.
        """
        types = [tuple(row) for row in self.puzzle_type.tolist()]
        groups: dict[str, list[int]] = {"all": list(range(self.natural))}
        for index, (length, source, target) in enumerate(types):
            if source:
                groups.setdefault(str((length, source, target)), []).append(index)
            else:
                groups.setdefault(f"length {length}", []).append(index)
                if index < self.natural:
                    groups.setdefault("None", []).append(index)
        lengths = [name for name in groups if name.startswith("length ")]
        bridges = [name for name in groups if name.startswith("(")]
        if len(lengths) == 1:
            only = groups.pop(lengths[0])
            if bridges:
                groups["None"] = only
        if not bridges:
            groups.pop("None", None)
        elif len(bridges) == 1 and not lengths:
            del groups[bridges[0]]
        order = sorted(groups, key=lambda name: (name != "all", name != "None", name))
        return {name: _share(self.solved[groups[name]]) for name in order}


def fresh_levels(config: Any, per_type: int, seed: int, selection: bool = False) -> tuple[Any, int]:
    """Draws levels until each puzzle type stands at least `per_type` times among them.

    Args:
        config: a `tf_relational.envs.BoxWorldConfig`.
        per_type: fewest levels of each type.
        seed: levels are the same for the same seed, and never those of a training seed's stream.
        selection: draw from a stream apart, for the evaluations that choose a model: what is
            reported of the chosen one is measured on levels that had no part in the choice.

    Returns:
        `tf_relational.envs.Levels` and how many of the first are an unweighted draw.
    """
    from tf_relational.envs.generator import generate
    from tf_relational.envs.levels import Levels

    rng = np.random.default_rng([_STREAM, seed, *([_SELECTION] * selection)])
    types = puzzle_types(config)
    natural = per_type * min(len(types), 4)
    drawn = generate(config, natural, rng)
    levels = list(drawn)
    counts = dict.fromkeys(types, 0)
    for row in drawn.puzzle_type.tolist():
        counts[tuple(row)] += 1
    for _ in range(_MOST_DRAWS):
        if min(counts.values()) >= per_type:
            break
        more = generate(config, 1024, rng)
        for index, row in enumerate(more.puzzle_type.tolist()):
            if counts[tuple(row)] < per_type:
                counts[tuple(row)] += 1
                levels.append(more[index])
    return Levels.stack(levels), natural


def play(config: Any, levels: Any, natural: int, policy: Policy, limit: int | None) -> Episodes:
    """Plays each level once.

    Args:
        config: the levels' `tf_relational.envs.BoxWorldConfig`; its own horizon is not used.
        levels: `Levels`, E of them.
        natural: see `Episodes`.
        policy: called with the observations of the episodes that still run.
        limit: steps after which an episode counts as unsolved; None for `NO_LIMIT_CAP`.
    """
    parts = [
        _play_chunk(config, levels[start : start + _CHUNK], policy, limit)
        for start in range(0, len(levels), _CHUNK)
    ]
    solved, length = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Episodes(np.asarray(levels.puzzle_type), natural, solved, length)


def _play_chunk(config: Any, levels: Any, policy: Policy, limit: int | None) -> Any:
    from tf_relational.envs.vector_env import BoxWorldVectorEnv

    limit = NO_LIMIT_CAP if limit is None else limit
    count = len(levels)
    env = BoxWorldVectorEnv(count, dataclasses.replace(config, horizon=limit))
    observations, _ = env.reset(seed=0, options={"levels": levels})
    solved, length = np.zeros(count, bool), np.zeros(count, int)
    running = np.arange(count)
    actions = np.zeros(count, np.int64)
    for step in range(1, limit + 1):
        actions[running] = policy(observations[running])
        observations, _, terminated, truncated, infos = env.step(actions)
        ended = terminated[running] | truncated[running]
        if ended.any():
            first = running[ended]
            solved[first] = infos["final_info"]["win"][first]
            length[first] = step
            running = running[~ended]
            if not len(running):
                break
    env.close()
    return solved, length


def most_deterministic_steps(config: Any) -> int:
    """Returns after how many steps a deterministic policy that has not ended never will.

    Between two events (a key taken, a box opened) only the player's place changes, so more steps
    than places without an event are a circle; and there are no more events than boxes and keys.

    Example:
        >>> from tf_relational.envs.config import BRIDGE
        >>> most_deterministic_steps(BRIDGE)
        630
    """
    return config.rows * config.columns * (config.slots + 1)


def uniform_policy(seed: int) -> Policy:
    """Returns the policy that draws each of the four actions with probability 1/4."""
    rng = np.random.default_rng([_STREAM, seed, 1])
    return lambda observations: rng.integers(4, size=len(observations))


def model_policy(model: Any, greedy: bool, seed: int = 0, selection: bool = False) -> Policy:
    """Returns a trained agent's policy.

    Args:
        model: a Keras model with an output "logits" [B, actions].
        greedy: take the likeliest action instead of drawing from the softmax.
        seed: of the draws.
        selection: draw from a stream apart, as in `fresh_levels`.

    The batch is filled up to a power of two, so that few shapes are ever traced.
    """
    rng = np.random.default_rng([_STREAM, seed, 2, *([_SELECTION] * selection)])
    forward = _forward(model)

    def act(observations: np.ndarray) -> np.ndarray:
        count = len(observations)
        size = max(8, 1 << (count - 1).bit_length())
        filled = np.zeros((size, *observations.shape[1:]), np.uint8)
        filled[:count] = observations
        logits = forward(filled)[:count]
        if not greedy:
            # The largest of logits plus Gumbel noise is a draw from their softmax.
            logits = logits + rng.gumbel(size=logits.shape)
        return logits.argmax(axis=-1)

    return act


def _forward(model: Any) -> Policy:
    import keras

    if keras.backend.backend() != "tensorflow":
        return lambda observations: model.predict_on_batch(observations)["logits"]
    import tensorflow as tf

    compiled = tf.function(
        lambda observations: model(observations)["logits"], reduce_retracing=True
    )
    return lambda observations: compiled(tf.constant(observations)).numpy()


def _share(solved: np.ndarray) -> dict[str, float | int]:
    count, total = int(solved.sum()), len(solved)
    low, high = wilson(count, total)
    return {"mean": count / total, "low": low, "high": high, "solved": count, "episodes": total}
