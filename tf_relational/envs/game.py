"""One game of Box-World in plain integers, for when there is only one to step."""

from __future__ import annotations

import functools

import numpy as np

from .level import EMPTY, GEM, Level, Start
from .render import EMPTY_INVENTORY, FLOOR, PLAYER
from .rules import DECOY_REWARD, GEM_REWARD, KEY_REWARD
from .vector_env import neighbours

_FLOOR, _PLAYER, _NO_KEY = bytes(FLOOR), bytes(PLAYER), bytes(EMPTY_INVENTORY)


class Game:
    """One game, played from a level.

    The rules are those of :func:`tf_relational.envs.rules.step`; where arrays of one game would
    spend their time in NumPy's calls, this is Python on a flat board (tile ``(x, y)`` at
    ``y * (columns + 1) + x``) whose picture is repainted where it changes.

    Args:
        level: where the game begins.

    Attributes:
        inventory: colours held, in the order they were taken.
        won, distractor_opened: how the game ended, if it did.
        opened: ``(x, y)`` of the loose keys taken and locks opened so far, in order.

    >>> board = np.full((6, 3), -1)
    >>> board[1, 1], board[2, 1], board[4, 1] = 0, 1, 1
    >>> game = Game(Level(board, np.zeros((2, 3), np.uint8)))
    >>> [game.step(action) for action in (2, 2, 2, 2, 3)]
    [0.0, 0.0, 0.0, 0.0, 1.0]
    """

    def __init__(self, level: Level):
        self.origin = level
        self.rows, self.columns = level.rows, level.columns
        self._width = level.columns + 1
        self._neighbour = _neighbour_list(level.rows, level.columns)
        padded = np.full((self.rows, self._width), EMPTY, np.int64)
        padded[:, : self.columns] = level.board.T
        self._board = padded.ravel().tolist()
        self._decoys = {y * self._width + x for x, y in level.decoys.tolist()}
        x, y = level.start.position
        self._cell = y * self._width + x
        self.inventory = list(level.start.inventory)
        self.won = self.distractor_opened = False
        self.opened: list[tuple[int, int]] = []
        self._colours = [colour.tobytes() for colour in level.colours]
        image = np.full((*padded.shape, 3), FLOOR, np.uint8)
        filled = padded >= 0
        image[filled] = level.colours[padded[filled]]
        self._image = bytearray(image.tobytes())
        self._shape = image.shape
        self._paint_inventory()

    @property
    def position(self) -> tuple[int, int]:
        """``(x, y)`` of the player."""
        y, x = divmod(self._cell, self._width)
        return x, y

    @property
    def board(self) -> np.ndarray:
        """int8 ``[columns, rows]`` tiles as they are now."""
        flat = np.array(self._board, np.int8).reshape(self.rows, self._width)
        return flat[:, : self.columns].T.copy()

    @property
    def over(self) -> bool:
        """Whether the gem was taken or a distractor opened."""
        return self.won or self.distractor_opened

    @property
    def level(self) -> Level:
        """The game as it stands, as a level that begins there; not once it is over."""
        decoys = [[c % self._width, c // self._width] for c in self._decoys]
        return Level(
            board=self.board,
            colours=self.origin.colours,
            decoys=np.array(sorted(decoys), np.int8).reshape(-1, 2),
            solution_length=self.origin.solution_length,
            puzzle_type=self.origin.puzzle_type,
            start=Start(self.position, tuple(self.inventory)),
        )

    def step(self, action: int) -> float:
        """Play 0 left, 1 up, 2 right or 3 down, and return the reward."""
        target = self._neighbour[self._cell][action]
        tile = self._board[target]
        if tile < 0:
            self._cell = target
            return 0.0
        return self._meet(target, tile)

    def observation(self) -> np.ndarray:
        """uint8 ``[rows, columns + 1, 3]``, a fresh array."""
        image = bytearray(self._image)
        place = 3 * self._cell
        image[place : place + 3] = _PLAYER
        return np.ndarray(self._shape, np.uint8, image)

    def _meet(self, target: int, tile: int) -> float:
        board, held = self._board, self.inventory
        content = board[target - 1]
        if content < 0:
            if board[target + 1] >= 0:
                return 0.0
            locks, content = [], tile
        else:
            locks = [target]
            if content == GEM:
                locks += [c for c in (target - self._width, target + self._width) if self._gem(c)]
        left = held.copy()
        for lock in locks:
            if board[lock] not in left:
                return 0.0
            left.remove(board[lock])
        left += [content] * max(1, len(locks))
        for cell in [target, *(c for lock in locks for c in (lock, lock - 1))]:
            board[cell] = EMPTY
            self._image[3 * cell : 3 * cell + 3] = _FLOOR
        changed = left != held
        self.inventory = left
        self._cell = target
        self._paint_inventory()
        self.opened.append(self.position)
        if content == GEM:
            self.won = True
            return GEM_REWARD
        if target in self._decoys:
            self.distractor_opened = True
            return DECOY_REWARD
        return KEY_REWARD if changed else 0.0

    def _gem(self, lock: int) -> bool:
        return 0 < lock < len(self._board) and self._board[lock - 1] == GEM

    def _paint_inventory(self) -> None:
        held = self.inventory
        for row in range(self.rows):
            place = 3 * (row * self._width + self.columns)
            colour = self._colours[held[row]] if row < len(held) else _NO_KEY
            self._image[place : place + 3] = colour


@functools.lru_cache
def _neighbour_list(rows: int, columns: int) -> list[list[int]]:
    return neighbours(rows, columns).tolist()
