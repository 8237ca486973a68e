"""What a game looks like: the observation of the agent, a larger picture, text."""

from __future__ import annotations

import numpy as np

FLOOR = (199, 199, 199)
PLAYER = (127, 127, 127)
EMPTY_INVENTORY = (10, 10, 10)

PIXEL = np.dtype("V3")
"""Three bytes as one element, which NumPy scatters faster than rows of three."""


def pixel(colour: tuple[int, int, int]) -> np.ndarray:
    """``[1]`` element of type :data:`PIXEL`."""
    return np.array(colour, np.uint8).view(PIXEL)


def observation(
    board: np.ndarray,
    colours: np.ndarray,
    position: np.ndarray | None,
    inventory: np.ndarray,
) -> np.ndarray:
    """The RGB image an agent sees, uint8 ``[B, rows, columns + 1, 3]``, one pixel a tile.

    The rightmost column is the inventory, filled from the top with at most ``rows`` keys; the
    player is drawn last, over the tile below.

    Args:
        board: ``[B, columns, rows]`` tiles.
        colours: ``[B, num_colours + 1, 3]`` uint8.
        position: ``[B, 2]`` the player's ``(x, y)``, or ``None`` to leave the player out.
        inventory: ``[B, K]`` colours held, in order, then -1.

    Source: Logic and the 2-Simplicial Transformer, section 3.1; equal to the authors' recordings.

    >>> board, colours = np.full((1, 9, 7), -1), np.zeros((1, 21, 3), np.uint8)
    >>> observation(board, colours, np.array([[0, 0]]), np.array([[-1, -1]]))[0, 0, :2, 0].tolist()
    [127, 199]
    """
    batch, columns, rows = board.shape
    game = np.arange(batch)
    image = np.empty((batch, rows, columns + 1, 3), np.uint8)
    image[:, :, :columns] = _paint(board.transpose(0, 2, 1), colours, FLOOR)
    shown = np.full((batch, rows), -1, np.int8)
    width = min(rows, inventory.shape[1])
    shown[:, :width] = inventory[:, :width]
    image[:, :, columns] = _paint(shown, colours, EMPTY_INVENTORY)
    if position is not None:
        x, y = np.asarray(position).T
        image[game, y, x] = PLAYER
    return image


def _paint(indices, colours, blank):
    """Colour each index, where -1 is the last entry of the table: ``blank``."""
    batch, size = colours.shape[:2]
    table = np.empty((batch, size + 1, 3), np.uint8)
    table[:, :size] = colours
    table[:, size] = blank
    indices = np.where(indices < 0, size, indices)
    first = np.arange(batch).reshape(-1, *[1] * (indices.ndim - 1)) * (size + 1)
    painted = table.reshape(-1).view(PIXEL).take(indices + first)
    return painted.view(np.uint8).reshape(*indices.shape, 3)


def picture(image: np.ndarray, scale: int = 32) -> np.ndarray:
    """An observation enlarged for people, uint8 ``[rows * scale, (columns + 1) * scale, 3]``.

    Every tile becomes a square of ``scale`` pixels with a thin edge; a dark line sets the
    inventory apart.

    Args:
        image: one observation ``[rows, columns + 1, 3]``.
        scale: pixels a tile, at least 4.

    >>> picture(np.zeros((7, 10, 3), np.uint8), scale=8).shape
    (56, 80, 3)
    """
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or scale < 4:
        raise ValueError(
            "picture needs one observation [rows, columns + 1, 3] and a scale of at least 4, got "
            f"shape {image.shape} and scale {scale}"
        )
    large = image.repeat(scale, axis=0).repeat(scale, axis=1)
    edge = (image * 0.88).astype(np.uint8)
    large[scale - 1 :: scale] = edge.repeat(scale, axis=1)
    large[:, scale - 1 :: scale] = edge.repeat(scale, axis=0)
    border = (image.shape[1] - 1) * scale
    large[:, border - max(1, scale // 16) : border] = 0
    return large


def text(board: np.ndarray, position, inventory) -> str:
    """A game in letters: ``@`` player, ``*`` gem, ``a`` a key of colour 1, ``A`` its lock.

    Args:
        board: ``[columns, rows]`` tiles.
        position: the player's ``(x, y)``.
        inventory: colours held, in order.

    >>> board = np.full((6, 3), -1)
    >>> board[1, 1], board[2, 1], board[4, 1] = 0, 1, 1
    >>> print(text(board, (0, 0), ()))
    @ . . . . .
    . * A . a .
    . . . . . .
    holding: nothing
    """
    columns, rows = board.shape
    lines = []
    for y in range(rows):
        cells = []
        for x in range(columns):
            if (x, y) == tuple(position):
                cells.append("@")
            elif board[x, y] < 0:
                cells.append(".")
            else:
                is_lock = x > 0 and board[x - 1, y] >= 0
                cells.append(letter(int(board[x, y]), is_lock))
        lines.append(" ".join(cells))
    held = " ".join(letter(int(colour)) for colour in inventory if colour >= 0)
    return "\n".join([*lines, f"holding: {held or 'nothing'}"])


def letter(colour: int, is_lock: bool = False) -> str:
    """The letter of a colour index; past ``z`` the index itself."""
    if colour == 0:
        return "*"
    if colour > 26:
        return str(colour)
    return chr((ord("A") if is_lock else ord("a")) + colour - 1)
