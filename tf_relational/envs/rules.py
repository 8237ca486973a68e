"""The rules of Box-World, as pure functions of integer arrays.

Shapes: B games, K keys held at most, D decoys at most. Coordinates are ``(x, y)``, origin top left.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .level import EMPTY, GEM
from .levels import Levels

MOVES = np.array([(-1, 0), (0, -1), (1, 0), (0, 1)])
"""``(dx, dy)`` of the actions 0 left, 1 up, 2 right, 3 down."""

GEM_REWARD = 10.0
KEY_REWARD = 1.0
DECOY_REWARD = -1.0


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """B games in progress.

    * ``board`` int8 ``[B, columns, rows]``: -1 empty, 0 gem, k >= 1 colour k
    * ``position`` int8 ``[B, 2]``
    * ``inventory`` int8 ``[B, K]``: colours in the order they were taken, then -1
    * ``decoys`` int8 ``[B, D, 2]``: lock tiles of distractors and bridges, unused places -1
    """

    board: np.ndarray
    position: np.ndarray
    inventory: np.ndarray
    decoys: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class StepResult:
    """What one step gave, each field with the batch in front.

    ``reward`` float32, ``terminated`` bool, ``won`` bool, ``distractor_opened`` bool (a bridge
    counts), ``opened`` int8 ``[B, 2]``: the tile of the loose key taken or lock opened, else -1.
    """

    reward: np.ndarray
    terminated: np.ndarray
    won: np.ndarray
    distractor_opened: np.ndarray
    opened: np.ndarray


def initial_state(levels: Levels) -> State:
    """The games that ``levels`` begin with, with room for every key that can be held."""
    filled = np.pad(levels.board >= 0, ((0, 0), (1, 1), (0, 0)))
    loose = filled[:, 1:-1] & ~filled[:, :-2] & ~filled[:, 2:]
    held = levels.start_inventory
    most = int((loose.sum(axis=(1, 2)) + (held >= 0).sum(axis=1)).max())
    inventory = np.full((len(levels), max(most, held.shape[1], 2)), EMPTY, np.int8)
    inventory[:, : held.shape[1]] = held
    return State(levels.board, levels.start_position, inventory, levels.decoys)


def step(state: State, actions: np.ndarray) -> tuple[State, StepResult]:
    """Play one action in each game.

    The target is the neighbour in the direction of the action, clamped to the board. An empty
    target is entered. A target with a tile to its left is a lock: with its key in the inventory
    (for a gem with two locks: with both keys, at either lock) one copy of each key is given up,
    the contents are taken, the box vanishes and the player enters. A tile with no neighbour left
    or right is a loose key: it is taken and the player enters. Any other tile blocks.

    Reward: 10 and the end with the gem in the inventory; else -1 and the end on the lock tile of a
    decoy; else 1 if the inventory changed; else 0.

    Args:
        state: B games, none of them over.
        actions: ``[B]`` integers, 0 left, 1 up, 2 right, 3 down.

    Raises:
        ValueError: an action is not one of the four, or the inventory has no room.

    Source: Logic and the 2-Simplicial Transformer, section 3; equal to the authors' recorded games.

    >>> from tf_relational.envs import BRIDGE, generate
    >>> state = initial_state(generate(BRIDGE, 2, np.random.default_rng(0)))
    >>> state, result = step(state, np.array([2, 3]))
    >>> state.position.tolist()
    [[1, 0], [0, 1]]
    """
    actions = np.asarray(actions)
    batch, columns, rows = state.board.shape
    if actions.shape != (batch,) or actions.min() < 0 or actions.max() > 3:
        raise ValueError(f"actions are {batch} integers from 0 to 3, got {actions!r}")
    game = np.arange(batch)
    board, inventory = state.board, state.inventory

    target = np.clip(state.position + MOVES[actions], 0, [columns - 1, rows - 1])
    x, y = target.T
    tile = board[game, x, y]
    left = board[game, np.maximum(x - 1, 0), y]
    right = board[game, np.minimum(x + 1, columns - 1), y]
    is_lock = (tile != EMPTY) & (left != EMPTY)
    is_loose = (tile != EMPTY) & (left == EMPTY) & (right == EMPTY)

    other_y = _other_gem_row(board, game, x, y, is_lock & (left == GEM))
    two_locks = other_y >= 0
    paid, has_key = remove_key(inventory, tile)
    paid_both, has_both = remove_key(paid, board[game, x, other_y])
    opens = is_lock & has_key & (~two_locks | has_both)
    takes = is_loose | opens

    content = np.where(opens, left, tile)
    after = np.where(opens[:, None], np.where(two_locks[:, None], paid_both, paid), inventory)
    after = append_key(after, content, takes)
    after = append_key(after, content, opens & two_locks)

    board = board.copy()
    board[game[takes], x[takes], y[takes]] = EMPTY
    board[game[opens], x[opens] - 1, y[opens]] = EMPTY
    both = opens & two_locks
    board[game[both], x[both], other_y[both]] = EMPTY
    board[game[both], x[both] - 1, other_y[both]] = EMPTY

    enters = takes | (tile == EMPTY)
    position = np.where(enters[:, None], target, state.position).astype(np.int8)
    won = (after == GEM).any(axis=1)
    on_decoy = (state.decoys == position[:, None]).all(axis=2).any(axis=1) & ~won
    changed = (after != inventory).any(axis=1)
    reward = np.where(changed, KEY_REWARD, 0.0)
    reward = np.where(on_decoy, DECOY_REWARD, reward)
    reward = np.where(won, GEM_REWARD, reward).astype(np.float32)
    opened = np.where(takes[:, None], target, -1).astype(np.int8)
    new_state = State(board, position, after, state.decoys)
    return new_state, StepResult(reward, won | on_decoy, won, on_decoy, opened)


def _other_gem_row(board, game, x, y, is_gem_lock):
    """Row of the second lock of a gem with two, -1 for every other target."""
    rows = board.shape[2]
    below, above = np.minimum(y + 1, rows - 1), np.maximum(y - 1, 0)
    content_x = np.maximum(x - 1, 0)
    gem_below = (below != y) & (board[game, content_x, below] == GEM)
    gem_above = (above != y) & (board[game, content_x, above] == GEM)
    other = np.where(gem_below, below, np.where(gem_above, above, -1))
    return np.where(is_gem_lock, other, -1)


def remove_key(inventory, colour):
    """``inventory`` without the first copy of ``colour``, and whether there was one."""
    held = inventory == colour[:, None]
    found = held.any(axis=1)
    shifted = np.full_like(inventory, EMPTY)
    shifted[:, :-1] = inventory[:, 1:]
    from_first = np.logical_or.accumulate(held, axis=1)
    return np.where(from_first, shifted, inventory), found


def append_key(inventory, colour, where):
    """``inventory`` with ``colour`` at its end in the games of the mask ``where``."""
    count = (inventory >= 0).sum(axis=1)
    if (count[where] == inventory.shape[1]).any():
        raise ValueError(f"an inventory of {inventory.shape[1]} places is full")
    result = inventory.copy()
    game = np.flatnonzero(where)
    result[game, count[game]] = colour[game]
    return result
