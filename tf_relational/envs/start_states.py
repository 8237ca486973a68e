"""Levels that begin nearer to their end: states for a curriculum of start states."""

from __future__ import annotations

import numpy as np

from .games import EVENT, FREE, Games
from .level import GEM
from .levels import Levels
from .rules import MOVES


def curriculum_levels(levels: Levels, difficulty: int, rng: np.random.Generator) -> Levels:
    """The same puzzles, begun in the middle: some keys taken, the player near a target.

    For each level, a number of needed keys, uniform from none to all (for solution length 1 with
    two locks: 0, 1 or 2), is taken in a random order that the rules allow; decoys stay shut. Then
    one of the tiles that can be taken or opened next is drawn, and the player is put where a
    random walk over empty tiles of 1 to ``difficulty`` steps from it ends. Decoys are drawn like
    the others, or else the nearest lock would always be a right one. Rules, boards and rewards
    stay as they are.

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
    every = np.arange(batch)
    games = Games.begin(levels)
    after_gem = np.zeros(games.board.shape, bool)
    after_gem[:, 1:] = games.board[:, :-1] == GEM
    needed = ((games.kind == EVENT) & ~games.decoy & ~after_gem).sum(axis=1)
    taken = rng.integers(0, needed, endpoint=True)
    for count in range(int(taken.max())):
        game = np.flatnonzero(taken > count)
        right = _openable(games, (games.kind == EVENT) & ~games.decoy & ~after_gem)
        games.collect(game, _draw(right[game], rng))

    cell = _draw(_openable(games, games.kind == EVENT), rng)
    x, y = cell % width, cell // width
    steps = rng.integers(1, difficulty, size=batch, endpoint=True)
    for count in range(difficulty):
        near_x, near_y = x[:, None] + MOVES[:, 0], y[:, None] + MOVES[:, 1]
        inside = (near_x >= 0) & (near_x < columns) & (near_y >= 0) & (near_y < rows)
        near = np.where(inside, near_y * width + near_x, 0)
        legal = inside & (games.kind[every[:, None], near] == FREE)
        move = _draw(legal, rng)
        walks = (steps > count) & legal.any(axis=1)
        x = np.where(walks, near_x[every, move], x)
        y = np.where(walks, near_y[every, move], y)
    games.cell[:] = y * width + x
    return games.levels()


def _openable(games: Games, among: np.ndarray) -> np.ndarray:
    """``[B, P]`` those of the tiles ``among`` that could be taken or opened next."""
    game, cell = among.nonzero()
    among[game, cell] = games.openable(game, cell)
    return among


def _draw(choices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One true column of each row, uniformly."""
    return (rng.random(choices.shape, np.float32) * choices).argmax(axis=1)
