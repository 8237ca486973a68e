"""Shapes and colours: the tables that the object sets are made of.

A shape is a 3x3 array of units. Its identity is that array: the 2x3 rectangle at the top of its
cell and the one at the bottom are two shapes.
"""

from __future__ import annotations

import numpy as np

# The eight pentominoes that fit into 3x3: F, P, T, U, V, W, X, Z.
PENTOMINOES = (
    ".## ##. .#.",
    "##. ##. .#.",
    "### .#. .#.",
    "##. #.. ##.",
    "#.. #.. ###",
    "#.. ##. .##",
    ".#. ### .#.",
    "##. .#. .##",
)
# The eight hexominoes that fit into 3x3, the rectangle first.
HEXOMINOES = (
    "### ### ...",
    "..# .## ###",
    "..# #.# ###",
    "..# ### .##",
    "..# ### #.#",
    "..# ### ##.",
    ".#. ### .##",
    ".#. ### #.#",
)


def orientations(base: str) -> np.ndarray:
    """``[8, 3, 3]`` bool: the four rotations of a shape and of its mirror image.

    A symmetric shape occurs several times, as often as it is drawn.

    >>> orientations(".#. ### .#.").all(axis=0).astype(int).tolist()  # the X has one orientation
    [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    """
    mask = np.array([[unit == "#" for unit in row] for row in base.split()])
    return np.stack([np.rot90(m, k) for m in (mask, mask[:, ::-1]) for k in range(4)])


def colours(levels: tuple[int, int, int]) -> np.ndarray:
    """``[25, 3]`` uint8: all RGB triples of three levels, without the darkest and the lightest.

    >>> colours((0, 128, 255))[0].tolist()
    [0, 0, 128]
    """
    return np.array([(r, g, b) for r in levels for g in levels for b in levels][1:-1], np.uint8)


TRAINING_COLOURS = colours((0, 128, 255))
HELD_OUT_COLOURS = colours((64, 144, 192))
