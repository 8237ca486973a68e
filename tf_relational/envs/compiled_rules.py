"""The rules and the picture of Box-World without a branch, a loop or a scatter, in `keras.ops`.

The second writing of `rules.py` and `render.py`, for programs that stay on one device. A game is
its row of a pool (`packed.py`) and what has changed since: which objects are left, where the player
is, what is held. Every rule is a comparison over objects, so that a compiler fuses a step into a
few loops over the batch.

Shapes: B games, K objects, I keys held at most, P cells, W integers a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from .packed import COLOUR_SHIFT, NOTHING, Layout
from .render import EMPTY_INVENTORY, FLOOR, PLAYER
from .rules import DECOY_REWARD, GEM_REWARD, KEY_REWARD

_RGB = (1 << COLOUR_SHIFT) - 1


class GameState(NamedTuple):
    """B games in progress; a pytree of tensors."""

    level: Any
    """int32 ``[B, W]``: the row each game began from."""
    present: Any
    """bool ``[B, K]``: the objects still on the board."""
    cell: Any
    """int32 ``[B]``: where the player is."""
    inventory: Any
    """int32 ``[B, I]``: codes of the keys held, in the order they were taken, then -1."""
    steps: Any
    """int32 ``[B]``: steps of this episode."""
    episode_return: Any
    """float32 ``[B]``: rewards of this episode."""


class StepOutcome(NamedTuple):
    """What one step gave, each ``[B]``."""

    reward: Any
    """float32."""
    done: Any
    """bool: the episode ended, for whatever reason."""
    won: Any
    """bool: with the gem."""
    decoy_opened: Any
    """bool: with a bridge or a distractor."""
    truncated: Any
    """bool: by the horizon alone."""


def begin(layout: Layout, level) -> GameState:
    """The games that rows ``[B, W]`` begin with."""
    level = ops.cast(level, "int32")
    place = layout.slices
    start = level[:, place["start"]][:, 0]
    return GameState(
        level=level,
        present=level[:, place["cell"]] >= 0,
        cell=start,
        inventory=level[:, place["inventory"]],
        steps=ops.zeros_like(start),
        episode_return=ops.zeros_like(ops.cast(start, "float32")),
    )


def step(layout: Layout, state: GameState, actions) -> tuple[GameState, StepOutcome]:
    """Play one action in each game, by the rules of :func:`tf_relational.envs.rules.step`.

    Args:
        layout: of the rows.
        state: B games, none of them over.
        actions: int32 ``[B]``: 0 left, 1 up, 2 right, 3 down. Others are not checked.

    Returns:
        The games after it, ended ones included, and what it gave.

    Example:
        >>> from tf_relational.envs import BRIDGE, generate
        >>> from tf_relational.envs.packed import pack
        >>> layout = Layout.of_config(BRIDGE)
        >>> rows = pack(generate(BRIDGE, 2, np.random.default_rng(0)), layout)
        >>> state, outcome = step(layout, begin(layout, rows), np.array([2, 3], "int32"))
        >>> np.asarray(state.cell).tolist()
        [1, 10]
    """
    place = layout.slices
    cells, contents, locks, decoys = (
        state.level[:, place[name]] for name in ("cell", "content", "lock", "decoy")
    )
    target = _target(layout, state.cell, actions)
    is_locked = locks != NOTHING
    on_key = state.present & (cells == target[:, None])
    on_lock = state.present & is_locked & (cells + 1 == target[:, None])
    hit = on_key | on_lock
    is_lock = ops.any(on_lock, axis=1)
    is_loose = ops.any(on_key & ~is_locked, axis=1)

    lock, content = _pick(on_lock, locks), _pick(hit, contents)
    is_gem = _is_gem(contents)
    at_gem = ops.any(on_lock & is_gem, axis=1)
    other = state.present & is_locked & is_gem & ~on_lock & at_gem[:, None]
    two_locks = ops.any(other, axis=1)
    paid, has_key = _remove(state.inventory, lock)
    paid_both, has_both = _remove(paid, _pick(other, locks))
    opens = is_lock & has_key & (~two_locks | has_both)
    takes = is_loose | opens
    opens_two = opens & two_locks

    held = ops.where(two_locks[:, None], paid_both, paid)
    held = ops.where(opens[:, None], held, state.inventory)
    held = _append(held, content, takes)
    held = _append(held, content, opens_two)
    gone = (hit & takes[:, None]) | (other & opens_two[:, None])

    free = ~ops.any(hit, axis=1)
    won = ops.any(_is_gem(held), axis=1)
    decoy = ops.any(on_lock & (decoys == 1), axis=1) & opens & ~won
    reward = ops.where(ops.any(held != state.inventory, axis=1), KEY_REWARD, 0.0)
    reward = ops.where(decoy, DECOY_REWARD, reward)
    reward = ops.cast(ops.where(won, GEM_REWARD, reward), "float32")
    terminated = won | decoy
    steps = state.steps + 1
    truncated = (steps >= state.level[:, place["horizon"]][:, 0]) & ~terminated
    after = GameState(
        level=state.level,
        present=state.present & ~gone,
        cell=ops.where(takes | free, target, state.cell),
        inventory=held,
        steps=steps,
        episode_return=state.episode_return + reward,
    )
    return after, StepOutcome(reward, terminated | truncated, won, decoy, truncated)


def restart(layout: Layout, state: GameState, done, pool, cursor):
    """Begin the next levels of a pool in the games that ended, in the order of the games.

    Args:
        layout: of the rows.
        state: B games.
        done: bool ``[B]``.
        pool: int32 ``[L, W]``, read in a ring.
        cursor: int32 scalar, the row that is next.

    Returns:
        The games, and the next cursor.
    """
    ended = ops.cast(done, "int32")
    size = pool.shape[0]
    index = ops.mod(cursor + ops.cumsum(ended) - 1, size)
    # Games that go on read a row as well, and leave it.
    fresh = begin(layout, ops.take(pool, index, axis=0))
    kept = (
        ops.where(ops.reshape(done, (-1,) + (1,) * (len(new.shape) - 1)), new, old)
        for new, old in zip(fresh, state, strict=True)
    )
    return GameState(*kept), ops.mod(cursor + ops.sum(ended), size)


def observe(layout: Layout, state: GameState):
    """What the agents see, uint8 ``[B, rows, columns + 1, 3]``.

    Equal to :func:`tf_relational.envs.render.observation`.
    """
    place = layout.slices
    cells, contents, locks = (state.level[:, place[name]] for name in ("cell", "content", "lock"))
    shown = min(layout.keys, layout.rows)
    inventory = state.inventory[:, :shown]
    inventory_cells = ops.broadcast_to(
        np.arange(shown, dtype="int32") * layout.width + layout.columns, ops.shape(inventory)
    )
    absent = ops.full_like(cells, NOTHING)
    there = ops.concatenate(
        [
            ops.where(state.present, cells, absent),
            ops.where(state.present & (locks != NOTHING), cells + 1, absent),
            ops.where(inventory != NOTHING, inventory_cells, ops.full_like(inventory, NOTHING)),
        ],
        axis=1,
    )
    colours = ops.bitwise_and(ops.concatenate([contents, locks, inventory], axis=1), _RGB)
    covers = there[:, None, :] == np.arange(layout.cells, dtype="int32")[:, None]
    # No two objects share a cell, so that the sum is the one colour there, or nothing.
    painted = ops.sum(ops.where(covers, colours[:, None, :], 0), axis=2)
    image = ops.where(ops.any(covers, axis=2), painted, _blank(layout))
    player = state.cell[:, None] == np.arange(layout.cells, dtype="int32")
    image = ops.where(player, _rgb(PLAYER), image)
    parts = [ops.bitwise_and(ops.right_shift(image, shift), 255) for shift in (16, 8, 0)]
    image = ops.cast(ops.stack(parts, axis=-1), "uint8")
    return ops.reshape(image, (-1, layout.rows, layout.width, 3))


def _target(layout: Layout, cell, actions):
    """The neighbouring cell in the direction of the action, clamped to the board."""
    x, y = ops.mod(cell, layout.width), cell // layout.width
    right = ops.cast(actions == 2, "int32") - ops.cast(actions == 0, "int32")
    down = ops.cast(actions == 3, "int32") - ops.cast(actions == 1, "int32")
    x = ops.clip(x + right, 0, layout.columns - 1)
    y = ops.clip(y + down, 0, layout.rows - 1)
    return y * layout.width + x


def _is_gem(code):
    return (code >= 0) & (code <= _RGB)


def _pick(where, values):
    """The value ``[B]`` at the one true place of a row of ``where``; 0 where there is none."""
    return ops.sum(ops.where(where, values, 0), axis=1)


def _remove(inventory, code):
    """``inventory`` without the first key of that code, and whether there was one."""
    held = inventory == code[:, None]
    shifted = ops.concatenate([inventory[:, 1:], ops.full_like(inventory[:, :1], NOTHING)], axis=1)
    from_first = ops.cumsum(ops.cast(held, "int32"), axis=1) > 0
    return ops.where(from_first, shifted, inventory), ops.any(held, axis=1)


def _append(inventory, code, where):
    """``inventory`` with the code at its end in the games of the mask ``where``."""
    count = ops.sum(ops.cast(inventory != NOTHING, "int32"), axis=1)
    places = np.arange(inventory.shape[1], dtype="int32")
    at_end = (places == count[:, None]) & where[:, None]
    return ops.where(at_end, code[:, None], inventory)


def _rgb(colour: tuple[int, int, int]) -> int:
    red, green, blue = colour
    return red << 16 | green << 8 | blue


def _blank(layout: Layout) -> np.ndarray:
    """``[P]``: floor, and the empty inventory in the last column."""
    board = np.full((layout.rows, layout.width), _rgb(FLOOR), np.int32)
    board[:, -1] = _rgb(EMPTY_INVENTORY)
    return board.reshape(-1)
