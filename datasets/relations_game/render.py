"""From objects on the 3x3 grid to pictures."""

from __future__ import annotations

import functools

import numpy as np

from .object_sets import OBJECT_SETS

EMPTY = -1


def render(grids: np.ndarray, object_set: str) -> np.ndarray:
    """Draw a batch of grids on black.

    A cell is 12x12 pixels: one of margin at the top and the left, nine of the object, two of margin
    at the bottom and the right. A unit of an object is 3x3 pixels of one colour.

    Args:
        grids: ``[batch, 9]`` ints, the cells in reading order: objects of the set, or -1 for none.
        object_set: name of the set.

    Returns:
        ``[batch, 36, 36, 3]`` uint8.

    >>> grid = np.array([[-1, -1, -1, -1, 7, -1, -1, -1, -1]])
    >>> image = render(grid, "stripes")[0]
    >>> np.argwhere(image.any(axis=-1))[[0, -1]].tolist()  # the cell in the middle: 13 to 21
    [[13, 13], [21, 21]]
    """
    strips = _strips(object_set)
    images = np.zeros((len(grids), 3, 12, 3 * 36), np.uint8)
    for unit in range(3):
        # [batch, 9, 36] -> [batch, 3, 108]: nine strips of a cell are three lines of the picture.
        lines = strips[unit].take(grids, axis=0).reshape(len(grids), 3, 1, 108)
        images[:, :, 1 + 3 * unit : 4 + 3 * unit] = lines
    return images.reshape(len(grids), 36, 36, 3)


@functools.cache
def _strips(object_set: str) -> np.ndarray:
    """``[3, size + 1, 36]`` uint8: one line of pixels of a cell through each row of its units.

    The last is of the empty cell, where index -1 leads.
    """
    units = OBJECT_SETS[object_set].units
    pixels = np.zeros((3, len(units) + 1, 12, 3), np.uint8)
    pixels[:, :-1, 1:10] = np.repeat(units, 3, axis=2).transpose(1, 0, 2, 3)
    return pixels.reshape(3, -1, 36)
