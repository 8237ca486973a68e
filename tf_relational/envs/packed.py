"""Levels as rows of integers, from which a compiled program begins a game by reading one row."""

from __future__ import annotations

import dataclasses

import numpy as np

from .config import BoxWorldConfig
from .level import EMPTY, GEM
from .levels import Levels

NO_LIMIT = np.iinfo(np.int32).max
"""The horizon of an episode that is never cut."""

NOTHING = -1
"""In a row: no such box, no lock, no key."""

COLOUR_SHIFT = 24
"""A key's code is its colour index, then three bytes red, green and blue."""


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where in a row what stands, and how large the game is.

    A row has, one int32 each, in this order:

    * for each of K objects (a box or a loose key) the ``cell`` of its key tile, the code of the
      key it holds (``content``), the code of its ``lock`` (none: a loose key), and whether it is a
      ``decoy``; K cells, then K contents, and so on
    * ``inventory``: I codes of the keys held at the start
    * ``start``: the player's cell; ``kind``: an index of the puzzle type; ``curriculum``: 0, or
      the difficulty that an episode from a start-state curriculum was drawn with; ``horizon``

    Cells count along the rows of the observation, inventory column included: ``(x, y)`` is
    ``y * (columns + 1) + x``. A code is ``colour << 24 | red << 16 | green << 8 | blue``, so that
    equal codes are equal colours and a picture needs no palette.

    Args:
        rows, columns: of the board.
        objects: K, the most boxes and loose keys a level has.
        keys: I, the most keys held at once, at least 2.
    """

    rows: int
    columns: int
    objects: int
    keys: int

    FIELDS = ("cell", "content", "lock", "decoy", "inventory", "start", "kind", "curriculum",
              "horizon")  # fmt: skip

    @classmethod
    def of_config(cls, config: BoxWorldConfig) -> Layout:
        """The layout of the levels that :func:`~tf_relational.envs.generator.generate` draws.

        >>> from tf_relational.envs.config import BRIDGE
        >>> Layout.of_config(BRIDGE)
        Layout(rows=7, columns=9, objects=9, keys=2)
        """
        longest = config.solution_length[1]
        if config.gem_locks == 2:
            objects = 2 * longest + 2 + (config.bridge_probability > 0)
        else:
            objects = longest + 1 + config.distractors[1] * config.distractor_length[1]
        return cls(config.rows, config.columns, objects, 2)

    @classmethod
    def of_levels(cls, levels: Levels) -> Layout:
        """The smallest layout that holds these levels."""
        columns, rows = levels.board.shape[1:]
        head = _heads(levels.board)
        locked = np.zeros_like(head)
        locked[:, :-1] = levels.board[:, 1:] != EMPTY
        loose = (head & ~locked).sum(axis=(1, 2)) + (levels.start_inventory != EMPTY).sum(axis=1)
        return cls(rows, columns, int(head.sum(axis=(1, 2)).max()), max(int(loose.max()), 2))

    @property
    def width(self) -> int:
        """Columns of the observation."""
        return self.columns + 1

    @property
    def cells(self) -> int:
        """Cells of the observation."""
        return self.rows * self.width

    @property
    def slices(self) -> dict[str, slice]:
        """The place of each field in a row."""
        sizes = [self.objects] * 4 + [self.keys] + [1] * 4
        ends = np.cumsum(sizes).tolist()
        pairs = zip(self.FIELDS, ends, sizes, strict=True)
        return {name: slice(end - size, end) for name, end, size in pairs}

    @property
    def row(self) -> int:
        """How many integers a row has."""
        return 4 * self.objects + self.keys + 4


def pack(
    levels: Levels,
    layout: Layout,
    kind: np.ndarray | int = 0,
    curriculum: np.ndarray | int = 0,
    horizon: np.ndarray | int = NO_LIMIT,
) -> np.ndarray:
    """Write levels as rows.

    Args:
        levels: B levels.
        layout: see :class:`Layout`.
        kind, curriculum, horizon: ``[B]``, or one value for all.

    Returns:
        int32 ``[B, layout.row]``.

    Raises:
        ValueError: the levels are of another size, or have more objects or keys than the layout
            has room for.

    >>> from tf_relational.envs import BRIDGE, generate
    >>> pack(generate(BRIDGE, 8, np.random.default_rng(0)), Layout.of_config(BRIDGE)).shape
    (8, 42)
    """
    batch, columns, rows = levels.board.shape
    needed = Layout.of_levels(levels)
    if (rows, columns) != (layout.rows, layout.columns) or (
        needed.objects > layout.objects or needed.keys > layout.keys
    ):
        raise ValueError(f"the levels need {needed}, got {layout}")
    # Objects in the order of their cells.
    head = _heads(levels.board).transpose(0, 2, 1)
    game, y, x = head.nonzero()
    count = head.sum(axis=(1, 2))
    place = np.arange(game.size) - (count.cumsum() - count)[game]
    board = np.pad(levels.board, ((0, 0), (0, 1), (0, 0)), constant_values=EMPTY)
    is_decoy = np.zeros((batch, columns + 1, rows), bool)
    decoyed, number = np.nonzero(levels.decoys[:, :, 0] != EMPTY)
    is_decoy[decoyed, levels.decoys[decoyed, number, 0], levels.decoys[decoyed, number, 1]] = True

    objects = np.full((4, batch, layout.objects), NOTHING, np.int32)
    objects[0, game, place] = y * layout.width + x
    objects[1, game, place] = _codes(levels.colours, game, board[game, x, y])
    objects[2, game, place] = _codes(levels.colours, game, board[game, x + 1, y])
    objects[3, game, place] = is_decoy[game, x + 1, y]
    held = levels.start_inventory[:, : layout.keys]
    inventory = np.full((batch, layout.keys), NOTHING, np.int32)
    inventory[:, : held.shape[1]] = _codes(levels.colours, np.arange(batch)[:, None], held)
    start_x, start_y = levels.start_position.T.astype(np.int32)
    single = np.empty((4, batch), np.int32)
    single[0] = start_y * layout.width + start_x
    single[1], single[2], single[3] = kind, curriculum, horizon
    return np.concatenate([*objects, inventory, single.T], axis=1)


def _heads(board: np.ndarray) -> np.ndarray:
    """Which tiles ``[B, columns, rows]`` are the key tile of a box, or a loose key."""
    filled = board != EMPTY
    head = filled.copy()
    head[:, 1:] &= ~filled[:, :-1]
    return head


def _codes(colours: np.ndarray, game: np.ndarray, index: np.ndarray) -> np.ndarray:
    rgb = colours[game, np.maximum(index, GEM)].astype(np.int32)
    code = (index.astype(np.int32) << COLOUR_SHIFT) | rgb @ np.array([65536, 256, 1], np.int32)
    return np.where(index == EMPTY, NOTHING, code)
