"""Levels that no generator makes: crowded boards, repeated colours, several keys held."""

import numpy as np

from tf_relational.envs import Level, Start
from tf_relational.envs.generator import palette

COLOURS = np.concatenate([[[255, 255, 255]], palette(20)]).astype(np.uint8)


def crowded_level(rng):
    """Many boxes and loose keys of three colours on a 9x7 board."""
    board = np.full((9, 7), -1)
    slots = [(x, y) for x in (1, 4, 7) for y in (0, 2, 4, 6)]
    rng.shuffle(slots)
    decoys = []
    gem_x, gem_y = slots.pop()
    locks = rng.permutation([1, 2, 3])
    board[gem_x : gem_x + 2, gem_y] = 0, locks[0]
    if rng.random() < 0.5:
        board[gem_x : gem_x + 2, gem_y + 1 if gem_y < 6 else gem_y - 1] = 0, locks[1]
    for x, y in slots[: rng.integers(4, 12)]:
        board[x, y] = rng.integers(1, 4)
        if x == 7 or rng.random() < 0.5:
            board[x + 1, y] = rng.integers(1, 4)
            if rng.random() < 0.1:
                decoys.append((x + 1, y))
    floor = np.argwhere(board < 0)
    held = tuple(rng.integers(1, 4, rng.integers(0, 8)).tolist())
    return Level(board, COLOURS, decoys, start=Start(tuple(rng.choice(floor).tolist()), held))
