"""The boxes on a Box-World board, as Appendix B of the simplicial paper counts them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

EMPTY = -1
GEM_COLOUR = 0


@dataclass(frozen=True)
class Box:
    """One box: an ordinary locked box, the box with the gem, or a loose key (no lock).

    Attributes:
        content: Colour of the key inside; 0 is the gem.
        needs: Colours of its locks, from the top; empty for a loose key, two on a double gem.
        key: Tile (x, y) of the content, the upper one of a double gem.
        locks: Tiles (x, y) of the locks, from the top.
    """

    content: int
    needs: tuple[int, ...]
    key: tuple[int, int]
    locks: tuple[tuple[int, int], ...]

    @property
    def targets(self) -> tuple[tuple[int, int], ...]:
        """Tiles to step on to open it, or to pick the loose key up."""
        return self.locks or (self.key,)


def boxes_on_board(board: np.ndarray) -> tuple[Box, ...]:
    """All boxes of a board [columns, rows] (-1 empty, 0 gem, k colour k), in reading order.

    A box is a key tile with its lock tile to the right; a tile with empty tiles on both sides is a
    loose key; gem tiles one below the other with their locks are one box.

    Raises:
        ValueError: The array is not two-dimensional, or three tiles stand in a row.

    >>> board = np.full((5, 3), -1)
    >>> board[1, 0], board[1, 2], board[2, 2] = 7, 0, 7
    >>> [(box.content, box.needs) for box in boxes_on_board(board)]
    [(7, ()), (0, (7,))]
    """
    board = np.asarray(board)
    if board.ndim != 2:
        raise ValueError(f"received a board of shape {board.shape}; expected [columns, rows]")
    columns, rows = board.shape
    tiles = board.tolist()
    found = []
    for y in range(rows):
        x = 0
        while x < columns:
            width = 0
            while x + width < columns and tiles[x + width][y] != EMPTY:
                width += 1
            if width > 2:
                raise ValueError(f"received {width} tiles in a row at x={x}, y={y}; a box has 2")
            if width:
                locks = ((x + 1, y),) if width == 2 else ()
                needs = tuple(tiles[i][j] for i, j in locks)
                found.append(Box(tiles[x][y], needs, (x, y), locks))
            x += max(width, 1)
    return tuple(_join_gem(found))


def _join_gem(boxes):
    gems = [box for box in boxes if box.content == GEM_COLOUR]
    if len(gems) != 2 or gems[1].key != (gems[0].key[0], gems[0].key[1] + 1):
        return boxes
    first, second = gems
    joined = Box(GEM_COLOUR, first.needs + second.needs, first.key, first.locks + second.locks)
    return [joined if box is first else box for box in boxes if box is not second]


def opened_boxes(boxes: Sequence[Box], boards: Iterable[np.ndarray]) -> tuple[int, ...]:
    """Which boxes vanish over a sequence of boards [columns, rows], and in which order.

    Args:
        boxes: The boxes of the board that the sequence starts from.
        boards: The board after each step.

    Returns:
        Indices into `boxes`, in the order in which they were opened or picked up.
    """
    order = []
    for board in boards:
        for index, box in enumerate(boxes):
            if index not in order and board[box.key] == EMPTY:
                order.append(index)
    return tuple(order)
