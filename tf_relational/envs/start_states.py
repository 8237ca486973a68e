"""Levels that begin nearer to their end: states for a curriculum of start states."""

from __future__ import annotations

import dataclasses

import numpy as np

from .games import EVENT, collect, flatten, tile_status
from .level import EMPTY, GEM
from .levels import Levels
from .rules import MOVES


def curriculum_levels(levels: Levels, difficulty: int, rng: np.random.Generator) -> Levels:
    """The same puzzles, begun in the middle: some keys taken, the player near a target.

    For each level, a number of needed keys, uniform from none to all (for solution length 1 with
    two locks: 0, 1 or 2), is taken in a random order that the rules allow; decoys stay shut. Then
    one of the tiles that can be taken or opened next is drawn, and the player is put where a
    random walk over empty tiles of 1 to ``difficulty`` steps from it ends. Rules, boards and
    rewards stay as they are.

    Args:
        levels: real levels.
        difficulty: the longest walk, at least 1.
        rng: source of all randomness.

    >>> from tf_relational.envs import BRIDGE, generate
    >>> rng = np.random.default_rng(0)
    >>> near = curriculum_levels(generate(BRIDGE, 8, rng), 1, rng)
    >>> near[0].start.position != (0, 0)
    True
    """
    if difficulty < 1:
        raise ValueError(f"difficulty is at least 1, got {difficulty}")
    batch, columns, rows = levels.board.shape
    width = columns + 1
    num_colours = levels.colours.shape[1] - 1
    every = np.arange(batch)
    board = flatten(levels.board)
    shut = np.zeros(board.shape, bool)
    game, place = np.nonzero(levels.decoys[:, :, 0] >= 0)
    x, y = levels.decoys[game, place].T.astype(np.int64)
    shut[game, y * width + x] = True
    needed = _needed_keys(board, shut)
    held = (levels.start_inventory != EMPTY).sum(axis=1)
    inventory = np.full((batch, int((held + needed).max()) + 2), EMPTY, np.int8)
    inventory[:, : levels.start_inventory.shape[1]] = levels.start_inventory

    taken = rng.integers(0, needed, endpoint=True)
    gem_lock = np.zeros(board.shape, bool)
    gem_lock[:, 1:] = board[:, :-1] == GEM
    for count in range(int(taken.max(initial=0))):
        game = np.flatnonzero(taken > count)
        status = tile_status(board[game], inventory[game], num_colours)
        cell = _draw((status == EVENT) & ~shut[game] & ~gem_lock[game], rng)
        rest = board[game]
        inventory[game], _ = collect(rest, inventory[game], cell, width)
        board[game] = rest

    status = tile_status(board, inventory, num_colours)
    cell = _draw((status == EVENT) & ~shut, rng)
    x, y = cell % width, cell // width
    steps = rng.integers(1, difficulty, size=batch, endpoint=True)
    for count in range(difficulty):
        near_x, near_y = x[:, None] + MOVES[:, 0], y[:, None] + MOVES[:, 1]
        inside = (near_x >= 0) & (near_x < columns) & (near_y >= 0) & (near_y < rows)
        near = np.where(inside, near_y * width + near_x, 0)
        legal = inside & (board[every[:, None], near] == EMPTY)
        move = _draw(legal, rng)
        walks = (steps > count) & legal.any(axis=1)
        x = np.where(walks, near_x[every, move], x)
        y = np.where(walks, near_y[every, move], y)

    grid = board.reshape(batch, rows, width)[:, :, :columns].transpose(0, 2, 1)
    return dataclasses.replace(
        levels,
        board=np.ascontiguousarray(grid),
        decoys=levels.decoys,
        start_position=np.stack([x, y], axis=1).astype(np.int8),
        start_inventory=inventory,
    )


def _needed_keys(board: np.ndarray, shut: np.ndarray) -> np.ndarray:
    """How many keys, loose or boxed, lie outside the decoys."""
    shut_key = np.zeros_like(shut)
    shut_key[:, :-1] = shut[:, 1:]
    after_tile = np.zeros_like(shut)
    after_tile[:, 1:] = board[:, :-1] != EMPTY
    return ((board > GEM) & ~after_tile & ~shut_key).sum(axis=1)


def _draw(choices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One true column of each row, uniformly."""
    return (rng.random(choices.shape, np.float32) * choices).argmax(axis=1)
