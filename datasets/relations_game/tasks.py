"""The tasks: how objects are laid out on the 3x3 grid for each label.

A layout is ``[count, 9]`` ints, the cells in reading order: an object of the set, or -1 for none.
Every sampler takes ``(objects, labels, rng)``: the object set, ``[count]`` labels and the source
of all randomness. Label 1 is True and 0 is False, but for `colour_shape`.

Source: An Explicitly Relational Neural Network Architecture, section 3, Figure 2 and section 5;
what these leave open was measured on DeepMind's pictures or, where none could be had, guessed. Rows
R1 to R15 of docs/fidelity.md say which is which.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from .object_sets import OBJECT_SETS, ObjectSet
from .render import EMPTY

Sampler = Callable[[ObjectSet, np.ndarray, np.random.Generator], np.ndarray]

ROWS = np.arange(9).reshape(3, 3)
COLUMNS = ROWS.T
DIAGONALS = np.array([[0, 4, 8], [2, 4, 6]])
TRIPLES = np.array(list(itertools.permutations(range(9), 3)))

# The letters of a pattern count the objects of a line in the order of their first appearance.
PATTERNS = {
    "aba": (0, 1, 0),
    "aab": (0, 0, 1),
    "abb": (0, 1, 1),
    "aaa": (0, 0, 0),
    "abc": (0, 1, 2),
}
LETTERS = np.array(list(PATTERNS.values()))


@dataclasses.dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: of the task.
        sample: its sampler.
        num_labels: labels are 0 to ``num_labels - 1``, uniformly.
        object_sets: names of the sets in which it can be played.
        about: what it asks, in one line.
    """

    name: str
    sample: Sampler
    about: str
    num_labels: int = 2
    object_sets: tuple[str, ...] = tuple(OBJECT_SETS)


def same(objects, labels, rng):
    """Two objects in random cells: are they the same?"""
    pair = objects.distinct(len(labels), 2, rng)
    pair[:, 1] = np.where(labels, pair[:, 0], pair[:, 1])
    return _place(_triples(len(labels), rng)[:, :2], pair)


def colour_shape(objects, labels, rng):
    """Two objects in random cells; each label is a way in which they agree or differ.

    0: same shape and colour. 1: other colour. 2: other shape. 3: both other.
    """
    first = objects.draw(len(labels), rng)
    second = np.where(labels, objects.vary(first, rng, kind=labels - 1), first)
    return _place(_triples(len(labels), rng)[:, :2], np.stack([first, second], axis=1))


def between(objects, labels, rng):
    """Three objects: are they in a line, and the outer two the same? The middle one is free.

    If not, the kinds are equally frequent: in a line with outer objects that differ in one of the
    `kinds` of the set, or three free objects in any cells.
    """
    # The middle row stands twice in the list: in DeepMind's data it is twice as frequent.
    lines = np.concatenate([ROWS, COLUMNS, DIAGONALS, ROWS[1:2]])
    count = len(labels)
    cells = lines[rng.integers(len(lines), size=count)]
    first, middle = objects.draw(count, rng), objects.draw(count, rng)
    kind = rng.integers(objects.kinds + 1, size=count)
    other = objects.vary(first, rng, kind=kind)
    three = np.stack([first, middle, np.where(labels, first, other)], axis=1)

    scattered = np.flatnonzero((labels == 0) & (kind == objects.kinds))
    while len(scattered):
        cells[scattered] = _triples(len(scattered), rng)
        three[scattered] = objects.draw(3 * len(scattered), rng).reshape(-1, 3)
        # By chance such a picture can be a true one.
        scattered = scattered[_is_between(cells[scattered], three[scattered])]
    return _place(cells, three)


def occurs(objects, labels, rng):
    """Is the object at the top among the three at the bottom? All others differ."""
    which = np.where(labels[:, None], [0, 1, 2], [1, 2, 3])
    return _top_and_bottom(objects, which, rng)


def xoccurs(objects, labels, rng):
    """Is the object at the top among the three at the bottom, and do the other two differ?

    If not, either none of three different objects is the one at the top, or one is and the other
    two are the same; each in half of the cases.
    """
    twice = rng.integers(2, size=len(labels))
    false = np.where(twice[:, None], [0, 1, 1], [1, 2, 3])
    return _top_and_bottom(objects, np.where(labels[:, None], [0, 1, 2], false), rng)


def match_rows(objects, labels, rng):
    """Six objects in the upper and the lower row: do the rows have the same pattern?

    No object of one row is in the other.
    """
    upper = rng.integers(len(LETTERS), size=len(labels))
    lower = np.where(labels, upper, _other_pattern(upper, rng))
    letters = LETTERS[upper]
    used = letters.max(axis=1, keepdims=True) + 1
    which = np.concatenate([letters, LETTERS[lower] + used], axis=1)
    six = objects.distinct(len(labels), 6, rng)
    cells = np.broadcast_to(np.concatenate([ROWS[0], ROWS[2]]), which.shape)
    return _place(cells, np.take_along_axis(six, which, axis=1))


def pattern_sampler(lines: np.ndarray, pattern: str) -> Sampler:
    """Sampler of one pattern task: three objects fill a row (or column); have they the pattern?

    Args:
        lines: ``[3, 3]`` ints, the cells of the rows or of the columns.
        pattern: one of `PATTERNS`. If the label is False, the other four are equally frequent.

    >>> grid = pattern_sampler(COLUMNS, "aaa")(
    ...     OBJECT_SETS["hexos"], np.array([1]), np.random.default_rng(0)
    ... )
    >>> len(np.unique(grid[grid >= 0]))
    1
    """
    wanted = list(PATTERNS).index(pattern)

    def sample(objects, labels, rng):
        given = np.full(len(labels), wanted)
        shown = np.where(labels, given, _other_pattern(given, rng))
        three = objects.distinct(len(labels), 3, rng)
        cells = lines[rng.integers(3, size=len(labels))]
        return _place(cells, np.take_along_axis(three, LETTERS[shown], axis=1))

    return sample


def _place(cells: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """``[count, 9]``: objects ``[count, k]`` in their cells ``[count, k]``."""
    grids = np.full((len(cells), 9), EMPTY)
    np.put_along_axis(grids, cells, objects, axis=1)
    return grids


def _triples(count: int, rng: np.random.Generator) -> np.ndarray:
    """``[count, 3]``: three different cells each, in random order."""
    return TRIPLES[rng.integers(len(TRIPLES), size=count)]


def _is_between(cells: np.ndarray, three: np.ndarray) -> np.ndarray:
    """``[count]`` bool, for ``[count, 3]`` cells in any order and their objects."""
    order = cells.argsort(axis=1)
    cells = np.take_along_axis(cells, order, axis=1)
    three = np.take_along_axis(three, order, axis=1)
    lines = np.concatenate([ROWS, COLUMNS, DIAGONALS])
    in_line = (cells[:, None] == lines).all(axis=-1).any(axis=-1)
    return in_line & (three[:, 0] == three[:, 2])


def _other_pattern(pattern: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (pattern + rng.integers(1, len(LETTERS), size=len(pattern))) % len(LETTERS)


def _top_and_bottom(objects, which, rng):
    """The first of four distinct objects at the top; ``which`` of them, in any order, below."""
    four = objects.distinct(len(which), 4, rng)
    bottom = np.take_along_axis(four, rng.permuted(which, axis=1), axis=1)
    cells = np.broadcast_to([1, 6, 7, 8], (len(which), 4))
    return _place(cells, np.concatenate([four[:, :1], bottom], axis=1))


def _patterns(direction: str, lines: np.ndarray) -> list[Task]:
    return [
        Task(
            f"{direction}_{pattern}",
            pattern_sampler(lines, pattern),
            f"three objects in a {direction}: is their pattern {pattern.upper()}?",
        )
        for pattern in PATTERNS
    ]


TASKS = {
    task.name: task
    for task in [
        Task("same", same, "two objects: are they the same?"),
        Task("between", between, "three objects: in a line with the outer two the same?"),
        Task("occurs", occurs, "is the object at the top among the three at the bottom?"),
        Task("xoccurs", xoccurs, "the same, and do the other two at the bottom differ?"),
        Task(
            "colour_shape",
            colour_shape,
            "two objects: same, other colour, other shape, or both other?",
            num_labels=4,
            object_sets=("pentos", "hexos"),
        ),
        Task("match_rows", match_rows, "do the upper and the lower row have the same pattern?"),
        *_patterns("row", ROWS),
        *_patterns("column", COLUMNS),
    ]
}

# The multi-task sets of the paper. The first three of the five patterns are DeepMind's three.
TASK_GROUPS = {
    f"{direction}_patterns_{number}": tuple(f"{direction}_{p}" for p in list(PATTERNS)[:number])
    for direction in ("row", "column")
    for number in (3, 5)
}


def resolve(tasks: str | Sequence[str], object_set: str | None = None) -> tuple[Task, ...]:
    """The tasks of one name or of several; a task's id is its place.

    Args:
        tasks: names of `TASKS` and `TASK_GROUPS`, or one of them.
        object_set: the set in which they are to be played, if it is known.

    Raises:
        ValueError: no such task, none at all, one task twice, or one that this set has not.

    >>> [task.name for task in resolve(["between", "column_patterns_3"])]
    ['between', 'column_aba', 'column_aab', 'column_abb']
    """
    names = []
    for name in [tasks] if isinstance(tasks, str) else tasks:
        if name not in TASKS and name not in TASK_GROUPS:
            allowed = ", ".join([*TASKS, *TASK_GROUPS])
            raise ValueError(f"tasks are one or more of {allowed}; got {name!r}")
        names += TASK_GROUPS.get(name, (name,))
    if not names or len(set(names)) < len(names):
        raise ValueError(f"tasks are one or more different names, got {names}")
    found = tuple(TASKS[name] for name in names)
    for task in found:
        if object_set in OBJECT_SETS and object_set not in task.object_sets:
            allowed = " and ".join(task.object_sets)
            raise ValueError(f"{task.name} is played with {allowed}, got {object_set!r}")
    return found
