"""The objects of pictures, read from the pixels alone, and what the tests count of them."""

import itertools
from pathlib import Path

import numpy as np
from scipy import stats

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "relations_game.npz"
SAMPLE = ROOT.parent / "shared" / "data" / "relations_game_sample.npz"

# DeepMind's names of the files of which there are pictures, and the tasks by their ids.
ORIGINALS = {
    "between": ["between"],
    "3task_col_patts": ["column_aba", "column_aab", "column_abb"],
}


def units(images):
    """``[batch, 9, 3, 3, 3]``: the colour of each unit of each cell, in reading order.

    Fails if anything is off the grid: on a margin, or of two colours within a unit.
    """
    cells = (
        images.reshape(-1, 3, 12, 3, 12, 3).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 9, 12, 12, 3)
    )
    blocks = cells[:, :, 1:10, 1:10].reshape(-1, 9, 3, 3, 3, 3, 3)
    found = blocks[:, :, :, 0, :, 0]
    whole = np.zeros_like(cells)
    whole[:, :, 1:10, 1:10] = found.repeat(3, axis=2).repeat(3, axis=3)
    assert (whole == cells).all()
    return found


def filled(units):
    """``[batch, 9]`` bool."""
    return units.any(axis=(2, 3, 4))


def cells(units):
    """``[batch]``: a number for each set of filled cells, ``1 << cell`` of each."""
    return filled(units) @ (1 << np.arange(9))


def present(units, number):
    """``[batch, number, 3, 3, 3]``: the objects, cell after cell."""
    where = filled(units)
    assert (where.sum(axis=1) == number).all()
    return units[where].reshape(len(units), number, 3, 3, 3)


def shape(objects):
    """A number for each mask, of ``[..., 3, 3, 3]`` units."""
    return objects.any(axis=-1).reshape(*objects.shape[:-3], 9) @ (1 << np.arange(9))


def colour(objects):
    """A number for each colour, of objects of one colour each."""
    brightest = objects.astype(int).max(axis=(-2, -3))
    return brightest @ np.array([65536, 256, 1])


def relation(one, two):
    """0 same, 1 other colour, 2 other shape, 3 both, of objects of one colour each."""
    return (colour(one) != colour(two)) + 2 * (shape(one) != shape(two))


def p_value(values, expected):
    """Chi-square of values against a dict of each value's probability; nothing else may occur."""
    found, counts = np.unique(np.asarray(values), return_counts=True, axis=0)
    names = [tuple(each) if np.ndim(each) else each for each in found.tolist()]
    unknown = set(names) - set(expected)
    assert not unknown, f"{unknown} never occur"
    counts = dict(zip(names, counts, strict=True))
    observed = [counts.get(name, 0) for name in expected]
    weights = np.array(list(expected.values()), float)
    return stats.chisquare(observed, weights / weights.sum() * len(values)).pvalue


def uniform(choices):
    """The dict of `p_value` for choices that are equally likely."""
    return dict.fromkeys(choices, 1)


def connected_masks(size):
    """All connected sets of ``size`` units in 3x3, as frozensets of (row, column)."""
    found = set()
    for chosen in itertools.combinations(itertools.product(range(3), repeat=2), size):
        reached, left = {chosen[0]}, set(chosen[1:])
        while near := {(r, c) for r, c in left if _neighbours(r, c) & reached}:
            reached |= near
            left -= near
        if not left:
            found.add(frozenset(chosen))
    return found


def _neighbours(row, column):
    return {(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)}


def orbit(mask):
    """The masks that rotations and mirror images make of one."""
    found = set()
    for _ in range(4):
        mask = frozenset((c, 2 - r) for r, c in mask)
        found |= {mask, frozenset((r, 2 - c) for r, c in mask)}
    return frozenset(found)


def mask_number(mask):
    """The number that `shape` gives a set of units."""
    return sum(1 << (3 * r + c) for r, c in mask)
