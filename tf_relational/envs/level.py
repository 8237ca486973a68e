"""One puzzle as data."""

from __future__ import annotations

import dataclasses

import numpy as np

EMPTY = -1
GEM = 0

PuzzleType = tuple[int, int, int]


@dataclasses.dataclass(frozen=True)
class Start:
    """Where a level begins when not at the top left with empty hands.

    Args:
        position: ``(x, y)`` of the player.
        inventory: colour indices of the keys held, in the order they were taken.
    """

    position: tuple[int, int] = (0, 0)
    inventory: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Level:
    """One Box-World puzzle, checked when made; a state in the middle of a game is one too.

    A box is two tiles side by side, the key it holds at ``(x, y)`` and its lock at ``(x + 1, y)``.
    A gem with two locks is two such boxes above one another.

    Args:
        board: ``[columns, rows]`` integers, **x first**, origin top left: -1 empty, 0 gem,
            k >= 1 the colour with index k.
        colours: ``[num_colours + 1, 3]`` uint8, the RGB colour of each index.
        decoys: ``[n, 2]`` ``(x, y)`` of the lock tiles of distractors and bridges.
        solution_length: locked boxes on a path to the gem; traced on the board when left out
            (0 where no path can be traced).
        puzzle_type: ``(a, b, c)`` of a level with a bridge: solution length ``a``, the bridge is
            opened with key ``b`` and holds key ``c``, where the keys of the bridge's own path are
            numbered 1 to a and those of the other path a + 1 to 2a, both away from the gem;
            ``None`` without a bridge. Traced with ``solution_length``.
        start: where the player begins.

    Raises:
        ValueError: the board is not a legal one; the message names the tile.

    Source: Logic and the 2-Simplicial Transformer, sections 3 and 6 (puzzle type).

    >>> board = np.full((6, 3), -1)
    >>> board[1, 1], board[2, 1], board[4, 1] = 0, 1, 1
    >>> Level(board, np.zeros((2, 3), np.uint8)).solution_length
    1
    """

    board: np.ndarray
    colours: np.ndarray
    decoys: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 2), np.int8))
    solution_length: int | None = None
    puzzle_type: PuzzleType | None = None
    start: Start = Start()

    def __post_init__(self):
        fields = {
            "board": np.array(self.board, np.int8),
            "colours": np.array(self.colours, np.uint8),
            "decoys": np.array(self.decoys, np.int8).reshape(-1, 2),
        }
        fields["decoys"] = fields["decoys"][fields["decoys"][:, 0] >= 0]
        for name, value in fields.items():
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        _check(self)
        if self.solution_length is None:
            length, kind = _trace(self)
            object.__setattr__(self, "solution_length", length)
            object.__setattr__(self, "puzzle_type", kind)

    @property
    def rows(self) -> int:
        return self.board.shape[1]

    @property
    def columns(self) -> int:
        return self.board.shape[0]

    @property
    def boxes(self) -> list[tuple[int, int, int, int]]:
        """``(x, y, key, lock)`` of each box; ``(x, y)`` is its key tile."""
        board = self.board
        return [
            (int(x), int(y), int(board[x, y]), int(board[x + 1, y]))
            for x, y in np.argwhere((board[:-1] >= 0) & (board[1:] >= 0))
        ]

    @property
    def loose_keys(self) -> list[tuple[int, int, int]]:
        """``(x, y, key)`` of each key that lies open."""
        filled = np.pad(self.board >= 0, ((1, 1), (0, 0)))
        alone = filled[1:-1] & ~filled[:-2] & ~filled[2:]
        return [(int(x), int(y), int(self.board[x, y])) for x, y in np.argwhere(alone)]


def _check(level: Level) -> None:
    board, colours = level.board, level.colours
    if board.ndim != 2:
        raise ValueError(f"board is [columns, rows], got shape {board.shape}")
    if colours.ndim != 2 or colours.shape[1] != 3:
        raise ValueError(f"colours is [num_colours + 1, 3], got shape {colours.shape}")
    if board.min() < EMPTY or board.max() >= len(colours):
        raise ValueError(
            f"tiles are -1 (empty) to {len(colours) - 1} (the last of colours), got "
            f"{board.min()} to {board.max()}"
        )
    filled = board >= 0
    if filled[0].any():
        y = int(filled[0].argmax())
        raise ValueError(f"column 0 stays empty, got tile {board[0, y]} at (0, {y})")
    runs = filled[:-2] & filled[1:-1] & filled[2:]
    if runs.any():
        x, y = np.argwhere(runs)[0]
        raise ValueError(f"boxes are two tiles wide, three tiles touch at ({x}, {y})")
    last = filled[-1] & ~filled[-2]
    if last.any():
        y = int(last.argmax())
        raise ValueError(f"a loose key cannot stand in the last column, got one at (last, {y})")
    boxes = level.boxes
    if any(lock == GEM for *_, lock in boxes):
        raise ValueError("the gem cannot be a lock")
    _check_gem(level, boxes)
    _check_decoys(level, boxes)
    (x, y), held = level.start.position, level.start.inventory
    if not (0 <= x < level.columns and 0 <= y < level.rows) or board[x, y] >= 0:
        raise ValueError(f"the player starts on an empty tile of the board, got ({x}, {y})")
    if any(not 1 <= key < len(colours) for key in held):
        raise ValueError(f"held keys are 1 to {len(colours) - 1}, got {held}")


def _check_gem(level: Level, boxes) -> None:
    count = int((level.board == GEM).sum())
    gem_boxes = [box for box in boxes if box[2] == GEM]
    stacked = (
        len(gem_boxes) == 2
        and gem_boxes[0][0] == gem_boxes[1][0]
        and gem_boxes[0][1] + 1 == gem_boxes[1][1]
        and gem_boxes[0][3] != gem_boxes[1][3]
    )
    if count != 1 and not (count == 2 and stacked):
        raise ValueError(
            "a level has one gem tile, or two above one another behind locks of two different "
            f"colours; got gem tiles at {np.argwhere(level.board == GEM).tolist()}"
        )


def _check_decoys(level: Level, boxes) -> None:
    locks = {(x + 1, y) for x, y, key, _ in boxes if key != GEM}
    for x, y in level.decoys.tolist():
        if (x, y) not in locks:
            raise ValueError(f"a decoy is the lock tile of a box without the gem, got ({x}, {y})")


def _trace(level: Level) -> tuple[int, PuzzleType | None]:
    """Solution length and puzzle type, followed on the board from the gem outwards."""
    decoys = {tuple(decoy) for decoy in level.decoys.tolist()}
    path_boxes = [box for box in level.boxes if (box[0] + 1, box[1]) not in decoys]
    lock_of = {key: lock for _, _, key, lock in path_boxes if key != GEM}
    paths = []
    for colour in [lock for _, _, key, lock in path_boxes if key == GEM]:
        path = [colour]
        while path[-1] in lock_of and lock_of[path[-1]] not in path:
            path.append(lock_of[path[-1]])
        paths.append(path)
    loose = {key for *_, key in level.loose_keys} | set(level.start.inventory)
    if not paths or any(path[-1] not in loose for path in paths):
        return 0, None
    length = max(map(len, paths))
    if len(paths) == 2 and len(level.decoys) == 1:
        x, y = level.decoys[0]
        source, target = int(level.board[x, y]), int(level.board[x - 1, y])
        for own, other in (paths, paths[::-1]):
            if source in own and target in other:
                kind = length, own.index(source) + 1, length + other.index(target) + 1
                return length, kind
    return length, None
