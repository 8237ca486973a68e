"""The label of a picture from its pixels alone, by looking at them one cell at a time.

It shares no code with the generator, and is the test of it; and it reads any picture of the game,
such as DeepMind's own.
"""

from __future__ import annotations

import numpy as np

_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def judge(image: np.ndarray, task: str) -> int:
    """The label of one picture.

    Args:
        image: ``[36, 36, 3]`` uint8.
        task: the name of one task.

    Returns:
        1 if the relation holds and 0 if not; in `colour_shape` 0 for the same, 1 for another
        colour, 2 for another shape, 3 for both.

    Raises:
        ValueError: the picture is none of this task (objects off the grid, missing or too many), or
            there is no such task.

    >>> judge(np.zeros((36, 36, 3), np.uint8), "same")
    Traceback (most recent call last):
    ValueError: same has 2 objects, got 0
    """
    cells = _objects(image)
    filled = [cell for cell in range(9) if cells[cell] is not None]
    if task in ("same", "colour_shape"):
        _expect(len(filled) == 2, f"{task} has 2 objects, got {len(filled)}")
        first, second = cells[filled[0]], cells[filled[1]]
        return int(first == second) if task == "same" else _colour_shape(first, second)
    if task == "between":
        _expect(len(filled) == 3, f"{task} has 3 objects, got {len(filled)}")
        return int(tuple(filled) in _LINES and cells[filled[0]] == cells[filled[2]])
    if task in ("occurs", "xoccurs"):
        _expect(filled == [1, 6, 7, 8], f"{task} has objects in cells 1, 6, 7, 8, got {filled}")
        others = [cells[cell] for cell in (6, 7, 8) if cells[cell] != cells[1]]
        if task == "occurs":
            return int(len(others) < 3)
        return int(len(others) == 2 and others[0] != others[1])
    if task == "match_rows":
        _expect(filled == [0, 1, 2, 6, 7, 8], f"{task} fills two rows, got cells {filled}")
        return int(_pattern(cells[:3]) == _pattern(cells[6:]))
    direction, _, pattern = task.partition("_")
    lines = {"row": _LINES[:3], "column": _LINES[3:6]}.get(direction)
    if lines is None or pattern not in ("aaa", "aab", "aba", "abb", "abc"):
        raise ValueError(f"task is the name of one task, got {task!r}")
    _expect(tuple(filled) in lines, f"{task} fills one {direction}, got cells {filled}")
    return int(_pattern([cells[cell] for cell in filled]) == pattern)


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _objects(image: np.ndarray) -> list[bytes | None]:
    """The 9x9 pixels of each cell's object as bytes, or None."""
    image = np.asarray(image)
    if image.shape != (36, 36, 3) or image.dtype != np.uint8:
        raise ValueError(f"an image is [36, 36, 3] uint8, got {image.shape} {image.dtype}")
    found = []
    for cell in range(9):
        y, x = 12 * (cell // 3), 12 * (cell % 3)
        inside = image[y + 1 : y + 10, x + 1 : x + 10]
        bright = np.count_nonzero(image[y : y + 12, x : x + 12])
        _expect(bright == np.count_nonzero(inside), f"cell {cell} has pixels on its margin")
        found.append(inside.tobytes() if bright else None)
    return found


def _colour_shape(first: bytes, second: bytes) -> int:
    shapes, colours = [], []
    for each in (first, second):
        pixels = [tuple(each[i : i + 3]) for i in range(0, len(each), 3)]
        shapes.append([any(pixel) for pixel in pixels])
        met = {pixel for pixel in pixels if any(pixel)}
        _expect(len(met) == 1, f"colour_shape has objects of one colour, got {sorted(met)}")
        colours.append(met)
    return int(colours[0] != colours[1]) + 2 * int(shapes[0] != shapes[1])


def _pattern(three: list[bytes]) -> str:
    """Such as "aba": each object named by the order of first appearance."""
    met = []
    for each in three:
        if each not in met:
            met.append(each)
    return "".join("abc"[met.index(each)] for each in three)
