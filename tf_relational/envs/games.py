"""Many games laid out for speed: every tile knows whether it is free, shut or an event.

The board is flat, tile ``(x, y)`` at ``y * width + x`` with ``width = columns + 1``: the layout of
the observation's pixels, inventory column included, so one index serves both.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .config import BoxWorldConfig
from .level import EMPTY, GEM
from .levels import Levels
from .render import EMPTY_INVENTORY, FLOOR, PIXEL, observation, pixel

FREE, SHUT, EVENT = 0, 1, 2
"""What a tile is: floor; a key in a box; a loose key or a lock."""

_FLOOR = pixel(FLOOR)

NO_HORIZON = np.iinfo(np.int64).max


@dataclasses.dataclass(eq=False)
class Games:
    """B games, each field with the batch in front (P tiles, C colours, K keys held at most)."""

    rows: int
    width: int  # columns + 1
    board: np.ndarray  # int8 [B, P]
    kind: np.ndarray  # uint8 [B, P]: FREE, SHUT or EVENT
    needs: np.ndarray  # int8 [B, 2, P]: keys that open the tile, C + 1 for none
    image: np.ndarray  # PIXEL [B, P]: the observation without the player
    palette: np.ndarray  # PIXEL [B, C + 2]: the empty inventory's colour, then colours 0 to C
    inventory: np.ndarray  # int8 [B, K + 1]: the last place stays empty
    count: np.ndarray  # int64 [B]: keys in the inventory
    copies: np.ndarray  # int8 [B, C + 2]: copies held of each colour; the last is always 1
    decoy: np.ndarray  # bool [B, P]
    cell: np.ndarray  # int64 [B]: the player
    puzzle_type: np.ndarray  # int8 [B, 3]
    curriculum: np.ndarray  # bool [B]
    horizon: np.ndarray  # int64 [B]

    @classmethod
    def begin(
        cls,
        levels: Levels,
        num_colours: int | None = None,
        curriculum: np.ndarray | bool = False,
        horizon: np.ndarray | int = NO_HORIZON,
    ) -> Games:
        """The games that ``levels`` begin with.

        Args:
            levels: B levels.
            num_colours: C, by default that of the levels.
            curriculum, horizon: ``[B]``, or one value for all.
        """
        batch, columns, rows = levels.board.shape
        colours = levels.colours.shape[1] - 1
        held = levels.start_inventory[:, : (levels.start_inventory != EMPTY).sum(axis=1).max()]
        games = cls.empty(batch, rows, columns, num_colours or colours)
        games.board[:] = _flatten(levels.board)
        _describe_tiles(games)
        image = observation(levels.board, levels.colours, None, held)
        games.image[:] = image.view(PIXEL).reshape(batch, -1)
        games.palette[:] = pixel(EMPTY_INVENTORY)
        colour = np.ascontiguousarray(levels.colours)
        games.palette[:, 1 : colours + 2] = colour.view(PIXEL)[:, :, 0]
        games.inventory[:] = EMPTY
        games.inventory[:, : held.shape[1]] = held
        games.count[:] = (held != EMPTY).sum(axis=1)
        games.copies[:] = 0
        game, place = np.nonzero(held != EMPTY)
        np.add.at(games.copies, (game, held[game, place]), 1)
        games.copies[:, -1] = 1
        games.decoy[:] = False
        game, place = np.nonzero(levels.decoys[:, :, 0] != EMPTY)
        x, y = levels.decoys[game, place].T.astype(np.int64)
        games.decoy[game, y * (columns + 1) + x] = True
        x, y = levels.start_position.T.astype(np.int64)
        games.cell[:] = y * (columns + 1) + x
        games.puzzle_type[:] = levels.puzzle_type
        games.curriculum[:] = curriculum
        games.horizon[:] = horizon
        return games

    @classmethod
    def empty(cls, batch: int, rows: int, columns: int, num_colours: int) -> Games:
        """Room for ``batch`` games, to be filled."""
        tiles, colours = rows * (columns + 1), num_colours + 2
        # A start with ``rows`` keys, and all the loose keys there can be: no row has more than
        # every second of its inner columns.
        room = rows + rows * ((columns - 1) // 2)
        return cls(
            rows=rows,
            width=columns + 1,
            board=np.empty((batch, tiles), np.int8),
            kind=np.empty((batch, tiles), np.uint8),
            needs=np.empty((batch, 2, tiles), np.int8),
            image=np.empty((batch, tiles), PIXEL),
            palette=np.empty((batch, colours), PIXEL),
            inventory=np.empty((batch, room + 1), np.int8),
            count=np.empty(batch, np.int64),
            copies=np.empty((batch, colours), np.int8),
            decoy=np.empty((batch, tiles), bool),
            cell=np.empty(batch, np.int64),
            puzzle_type=np.empty((batch, 3), np.int8),
            curriculum=np.empty(batch, bool),
            horizon=np.empty(batch, np.int64),
        )

    def replace(self, places: np.ndarray, other: Games, index) -> None:
        """Put the games ``index`` of ``other`` in ``places``."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                value[places] = getattr(other, name)[index]

    def openable(self, game: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Whether EVENT tiles can be entered with the keys held.

        Args:
            game: ``[K]`` indices of games.
            cell: ``[K]`` a tile in each.
        """
        tiles, colours = self.board.shape[1], self.copies.shape[1]
        first, copies, needs = game * colours, self.copies.reshape(-1), self.needs.reshape(-1)
        place = game * (2 * tiles) + cell
        one = copies.take(first + needs.take(place))
        other = copies.take(first + needs.take(place + tiles))
        return np.minimum(one, other) > 0

    def collect(self, game: np.ndarray, cell: np.ndarray):
        """Take the loose keys or open the boxes on openable EVENT tiles, and repaint.

        Args:
            game: ``[K]`` indices of games, each once.
            cell: ``[K]`` a tile in each.

        Returns:
            ``[K]`` contents taken, and ``[K]`` whether the inventory changed.
        """
        tiles, colours = self.board.shape[1], self.copies.shape[1]
        board, pixels = self.board.reshape(-1), self.image.reshape(-1)
        at, first = game * tiles + cell, game * colours
        tile = board.take(at)
        is_lock = self.needs.reshape(-1).take(at + game * tiles) < colours - 1
        content = np.where(is_lock, board.take(at - 1), tile)

        before = self.inventory.take(game, axis=0)
        paid = (before[:, :-1] == tile[:, None]) & is_lock[:, None]
        # From the first copy on, each key moves up one place.
        moved_up = np.logical_or.accumulate(paid, axis=1)
        after = np.where(moved_up, before[:, 1:], before[:, :-1])
        count = self.count.take(game) - is_lock
        after[np.arange(game.size), count] = content
        self.inventory[game, :-1] = after
        self.count[game] = count + 1
        copies = self.copies.reshape(-1)
        copies[first + tile] -= is_lock
        copies[first + content] += 1

        gone = np.concatenate([at, at - 1])
        board[gone] = EMPTY
        self.kind.reshape(-1)[gone] = FREE
        pixels[gone] = _FLOOR
        shown = first[:, None] + 1 + after[:, : self.rows]
        column = (game * tiles)[:, None] + np.arange(self.width - 1, tiles, self.width)
        pixels[column] = self.palette.reshape(-1).take(shown)

        gem = (content == GEM).nonzero()[0]
        if gem.size:
            rest = self.board[game[gem]] == GEM
            twin = rest.any(axis=1)
            if twin.any():
                self.collect(game[gem[twin]], rest[twin].argmax(axis=1) + 1)
        return content, (after != before[:, :-1]).any(axis=1)

    def levels(self) -> Levels:
        """The games as they stand, as levels that begin there."""
        batch, width = len(self.board), self.width
        board = self.board.reshape(batch, self.rows, width)[:, :, :-1].transpose(0, 2, 1)
        y, x = np.divmod(self.cell, width)
        # A decoy that was opened is gone from the board.
        decoy = self.decoy & (self.board != EMPTY)
        game, cell = decoy.nonzero()
        count = decoy.sum(axis=1)
        decoys = np.full((batch, int(count.max()), 2), -1, np.int8)
        place = np.arange(game.size) - (count.cumsum() - count)[game]
        decoys[game, place, 0] = cell % width
        decoys[game, place, 1] = cell // width
        return Levels(
            board=np.ascontiguousarray(board),
            colours=self.palette[:, 1:].copy().view(np.uint8).reshape(batch, -1, 3),
            decoys=decoys,
            solution_length=self.puzzle_type[:, 0].copy(),
            puzzle_type=self.puzzle_type.copy(),
            start_position=np.stack([x, y], axis=1).astype(np.int8),
            start_inventory=self.inventory[:, :-1].copy(),
        )


def check_levels(levels: Levels, config: BoxWorldConfig) -> None:
    """Raise ``ValueError`` for levels that an environment of this ``config`` cannot play."""
    columns, rows = levels.board.shape[1:]
    colours = levels.colours.shape[1] - 1
    if (rows, columns) != (config.rows, config.columns) or colours > config.num_colours:
        raise ValueError(
            f"this environment has {config.rows} rows, {config.columns} columns and at most "
            f"{config.num_colours} colours; got levels with {rows} rows, {columns} columns "
            f"and {colours} colours"
        )
    held = (levels.start_inventory != EMPTY).sum(axis=1).max()
    if held > rows:
        raise ValueError(
            f"a game begins with at most {rows} keys, one for each place of the inventory; "
            f"got a level with {held}"
        )


def _flatten(board: np.ndarray) -> np.ndarray:
    """``[B, columns, rows]`` tiles in the flat layout, ``[B, rows * (columns + 1)]``."""
    batch, columns, rows = board.shape
    flat = np.full((batch, rows, columns + 1), EMPTY, np.int8)
    flat[:, :, :columns] = board.transpose(0, 2, 1)
    return flat.reshape(batch, -1)


def _describe_tiles(games: Games) -> None:
    """Fill ``kind`` and ``needs`` from the board."""
    board, kind = games.board, games.kind
    filled = board != EMPTY
    is_lock = np.zeros_like(filled)
    is_lock[:, 1:] = filled[:, 1:] & filled[:, :-1]
    kind[:] = filled
    kind[is_lock] = EVENT
    loose = filled & ~is_lock
    loose[:, :-1] &= ~filled[:, 1:]
    kind[loose] = EVENT
    games.needs[:] = games.copies.shape[1] - 1
    games.needs[:, 0][is_lock] = board[is_lock]
    gem_lock = np.zeros_like(filled)
    gem_lock[:, 1:] = is_lock[:, 1:] & (board[:, :-1] == GEM)
    game = np.flatnonzero(gem_lock.sum(axis=1) == 2)
    upper = gem_lock[game].argmax(axis=1)
    lower = board.shape[1] - 1 - gem_lock[game, ::-1].argmax(axis=1)
    games.needs[game, 1, upper] = board[game, lower]
    games.needs[game, 1, lower] = board[game, upper]
