"""Many puzzles of one size as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from .level import Level, Start


@dataclasses.dataclass(frozen=True, eq=False)
class Levels:
    """A batch of levels of one board size, each field an array with the batch in front.

    ``levels[i]`` is a :class:`Level`, ``levels[2:5]`` or ``levels[indices]`` are levels again.

    Shapes (B levels, C colours, D decoys at most, K keys held at most):

    * ``board`` int8 ``[B, columns, rows]``, ``colours`` uint8 ``[B, C + 1, 3]``
    * ``decoys`` int8 ``[B, D, 2]``, unused places -1
    * ``solution_length`` int8 ``[B]``
    * ``puzzle_type`` int8 ``[B, 3]``; ``(a, 0, 0)`` without a bridge
    * ``start_position`` int8 ``[B, 2]``, ``start_inventory`` int8 ``[B, K]``, unused places -1
    """

    board: np.ndarray
    colours: np.ndarray
    decoys: np.ndarray
    solution_length: np.ndarray
    puzzle_type: np.ndarray
    start_position: np.ndarray
    start_inventory: np.ndarray

    @classmethod
    def stack(cls, levels: Sequence[Level]) -> Levels:
        """The batch of the given levels, which have one board size and number of colours."""
        sizes = {(level.board.shape, len(level.colours)) for level in levels}
        if len(sizes) != 1:
            raise ValueError(
                "stacked levels need one board size and number of colours, got (board shape, "
                f"colours) {sorted(sizes) or 'no level'}"
            )
        types = [level.puzzle_type or (level.solution_length, 0, 0) for level in levels]
        return cls(
            board=np.stack([level.board for level in levels]),
            colours=np.stack([level.colours for level in levels]),
            decoys=_pad([level.decoys for level in levels], (2,)),
            solution_length=np.array([level.solution_length for level in levels], np.int8),
            puzzle_type=np.array(types, np.int8),
            start_position=np.array([level.start.position for level in levels], np.int8),
            start_inventory=_pad([level.start.inventory for level in levels], ()),
        )

    def __len__(self) -> int:
        return len(self.board)

    def __iter__(self) -> Iterator[Level]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index) -> Level | Levels:
        if not isinstance(index, int | np.integer):
            values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
            return Levels(**{name: value[index] for name, value in values.items()})
        kind = tuple(self.puzzle_type[index].tolist())
        held = self.start_inventory[index]
        return Level(
            board=self.board[index],
            colours=self.colours[index],
            decoys=self.decoys[index],
            solution_length=int(self.solution_length[index]),
            puzzle_type=kind if kind[1] else None,
            start=Start(
                tuple(self.start_position[index].tolist()), tuple(held[held >= 0].tolist())
            ),
        )


def _pad(rows: Sequence, tail: tuple[int, ...]) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows)), *tail), -1, np.int8)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded
