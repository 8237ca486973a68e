"""Many games laid out for speed: every tile knows whether it is free, closed or an event.

The board is flat, tile ``(x, y)`` at ``y * width + x`` with ``width = columns + 1``: the layout of
the observation's pixels, inventory column included, so one index serves both.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .config import BoxWorldConfig
from .level import EMPTY, GEM
from .levels import Levels
from .render import EMPTY_INVENTORY, observation
from .rules import append_key, remove_key

FREE, CLOSED, EVENT = 0, 1, 2

NO_HORIZON = np.iinfo(np.int64).max


@dataclasses.dataclass(eq=False)
class Games:
    """B games, each field with the batch in front (P tiles, C colours, K keys held at most)."""

    board: np.ndarray  # int8 [B, P]
    status: np.ndarray  # uint8 [B, P]: FREE, CLOSED or EVENT
    image: np.ndarray  # uint8 [B, P, 3]: the observation without the player
    palette: np.ndarray  # uint8 [B, C + 2, 3]: the last colour is the empty inventory's
    inventory: np.ndarray  # int8 [B, K]
    decoy: np.ndarray  # bool [B, P]
    cell: np.ndarray  # int64 [B]: the player
    puzzle_type: np.ndarray  # int8 [B, 3]
    curriculum: np.ndarray  # bool [B]
    horizon: np.ndarray  # int64 [B]

    @classmethod
    def begin(
        cls,
        levels: Levels,
        config: BoxWorldConfig,
        curriculum: np.ndarray | None = None,
        horizon: np.ndarray | None = None,
    ) -> Games:
        """The games that ``levels`` begin with.

        Raises:
            ValueError: the levels have another size or more colours than ``config``, or a player
                holds more keys than the inventory shows.
        """
        batch, columns, rows = levels.board.shape
        colours = levels.colours.shape[1] - 1
        if (rows, columns) != (config.rows, config.columns) or colours > config.num_colours:
            raise ValueError(
                f"this environment has {config.rows} rows, {config.columns} columns and at most "
                f"{config.num_colours} colours; got levels with {rows} rows, {columns} columns "
                f"and {colours} colours"
            )
        board = flatten(levels.board)
        held = levels.start_inventory[:, : (levels.start_inventory != EMPTY).sum(axis=1).max()]
        if held.shape[1] > rows:
            raise ValueError(
                f"a game begins with at most {rows} keys, one for each place of the inventory; "
                f"got a level with {held.shape[1]}"
            )
        inventory = np.full((batch, inventory_room(config)), EMPTY, np.int8)
        inventory[:, : held.shape[1]] = held
        palette = np.empty((batch, config.num_colours + 2, 3), np.uint8)
        palette[:, : colours + 1] = levels.colours
        palette[:, colours + 1 :] = EMPTY_INVENTORY
        decoy = np.zeros(board.shape, bool)
        game, place = np.nonzero(levels.decoys[:, :, 0] >= 0)
        x, y = levels.decoys[game, place].T.astype(np.int64)
        decoy[game, y * (columns + 1) + x] = True
        x, y = levels.start_position.T.astype(np.int64)
        image = observation(levels.board, levels.colours, None, held)
        return cls(
            board=board,
            status=tile_status(board, inventory, config.num_colours),
            image=image.reshape(batch, -1, 3),
            palette=palette,
            inventory=inventory,
            decoy=decoy,
            cell=y * (columns + 1) + x,
            puzzle_type=levels.puzzle_type,
            curriculum=np.zeros(batch, bool) if curriculum is None else curriculum,
            horizon=np.full(batch, config.horizon or NO_HORIZON) if horizon is None else horizon,
        )

    @classmethod
    def empty(cls, batch: int, config: BoxWorldConfig) -> Games:
        """Room for ``batch`` games, to be filled by :meth:`replace`."""
        rows, columns = config.rows, config.columns
        tiles = rows * (columns + 1)
        return cls(
            board=np.empty((batch, tiles), np.int8),
            status=np.empty((batch, tiles), np.uint8),
            image=np.empty((batch, tiles, 3), np.uint8),
            palette=np.empty((batch, config.num_colours + 2, 3), np.uint8),
            inventory=np.empty((batch, inventory_room(config)), np.int8),
            decoy=np.empty((batch, tiles), bool),
            cell=np.empty(batch, np.int64),
            puzzle_type=np.empty((batch, 3), np.int8),
            curriculum=np.empty(batch, bool),
            horizon=np.empty(batch, np.int64),
        )

    def replace(self, games: np.ndarray, other: Games, index) -> None:
        """Put the games ``index`` of ``other`` in the places ``games``."""
        for name, value in vars(self).items():
            value[games] = getattr(other, name)[index]


def inventory_room(config: BoxWorldConfig) -> int:
    """The most keys a game can hold.

    A start with ``rows`` keys, and all the loose keys there can be: no row has more than every
    second of its inner columns.
    """
    return config.rows + config.rows * ((config.columns - 1) // 2)


def flatten(board: np.ndarray) -> np.ndarray:
    """``[B, columns, rows]`` tiles in the flat layout, ``[B, rows * (columns + 1)]``."""
    batch, columns, rows = board.shape
    flat = np.full((batch, rows, columns + 1), EMPTY, np.int8)
    flat[:, :, :columns] = board.transpose(0, 2, 1)
    return flat.reshape(batch, -1)


def tile_status(board: np.ndarray, inventory: np.ndarray, num_colours: int) -> np.ndarray:
    """What happens on each tile with this inventory: FREE, CLOSED or EVENT.

    Args:
        board: int8 ``[B, P]`` in the flat layout.
        inventory: int8 ``[B, K]``.
        num_colours: the largest colour index.
    """
    batch = len(board)
    held = np.zeros((batch, num_colours + 2), bool)
    held[np.arange(batch)[:, None], inventory] = True
    held[:, -1] = False  # index -1, the empty tile and the empty place
    filled = board != EMPTY
    after_tile = np.zeros_like(filled)
    after_tile[:, 1:] = filled[:, :-1]
    before_tile = np.zeros_like(filled)
    before_tile[:, :-1] = filled[:, 1:]
    gem_lock = np.zeros_like(filled)
    gem_lock[:, 1:] = board[:, :-1] == GEM

    index = board + np.arange(0, held.size, num_colours + 2)[:, None]
    index[~filled] = num_colours + 1
    opens = held.ravel().take(index) & filled & after_tile
    gem_shut = (gem_lock & ~opens).any(axis=1)
    opens &= ~(gem_lock & gem_shut[:, None])
    loose = filled & ~after_tile & ~before_tile
    status = filled.astype(np.uint8)
    status[opens | loose] = EVENT
    return status


def collect(board: np.ndarray, inventory: np.ndarray, cell: np.ndarray, width: int):
    """Enter an EVENT tile in each game: take the loose key, or open the box.

    Changes ``board`` in place.

    Args:
        board: int8 ``[B, P]`` in the flat layout.
        inventory: int8 ``[B, K]``.
        cell: ``[B]`` the tile entered.
        width: columns + 1.

    Returns:
        The new inventory and ``[B]`` the lock tile that vanished besides: the other lock of a gem
        with two, else ``cell`` again.
    """
    game = np.arange(len(board))
    tile, left = board[game, cell], board[game, cell - 1]
    is_lock = left != EMPTY
    content = np.where(is_lock, left, tile)
    paid, _ = remove_key(inventory, tile)
    after = append_key(np.where(is_lock[:, None], paid, inventory), content, np.ones_like(is_lock))
    board[game, cell] = EMPTY
    board[game, cell - 1] = EMPTY
    other = cell
    gem = np.flatnonzero(is_lock & (content == GEM) & (board == GEM).any(axis=1))
    if gem.size:
        other = cell.copy()
        other[gem] = (board[gem] == GEM).argmax(axis=1) + 1
        paid, _ = remove_key(after[gem], board[gem, other[gem]])
        after[gem] = append_key(paid, content[gem], np.ones(gem.size, bool))
        board[gem, other[gem]] = EMPTY
        board[gem, other[gem] - 1] = EMPTY
    return after, other
