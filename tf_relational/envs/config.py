"""What a Box-World task is made of: board size, path lengths, distractors, bridges, horizon."""

from __future__ import annotations

import dataclasses

Range = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class BoxWorldConfig:
    """The settings of a Box-World task, checked when made.

    Every range ``(low, high)`` includes both ends and is drawn from uniformly; a single integer
    stands for a range of one value.

    Args:
        rows, columns: size of the board. The observation has one column more, the inventory.
        solution_length: locked boxes on a path from a loose key to the gem, the gem's own
            included.
        distractors: branches of boxes that lead nowhere (one-lock gem only).
        distractor_length: boxes in such a branch.
        gem_locks: 1, or 2 for the gem of bridge Box-World, which needs both keys.
        bridge_probability: how often a two-lock level has a bridge.
        horizon: steps after which an episode is truncated, ``None`` for no limit.
        num_colours: colours that keys and locks are drawn from, without replacement.

    Raises:
        ValueError: a value is out of its range, or the largest level does not fit on the board.

    Source: Logic and the 2-Simplicial Transformer, section 3.

    >>> BoxWorldConfig(rows=7, columns=9, solution_length=1, distractors=0).slots
    9
    """

    rows: int = 9
    columns: int = 9
    solution_length: Range = (1, 5)
    distractors: Range = (0, 4)
    distractor_length: Range = (1, 1)
    gem_locks: int = 1
    bridge_probability: float = 0.0
    horizon: int | None = None
    num_colours: int = 20

    def __post_init__(self):
        for name, least in (("solution_length", 1), ("distractors", 0), ("distractor_length", 1)):
            object.__setattr__(self, name, _range(name, getattr(self, name), least))
        self._check_values()
        self._check_fit()

    def _check_values(self):
        if not (3 <= self.rows <= 100 and 4 <= self.columns <= 100):
            raise ValueError(
                f"a board has 3 to 100 rows and 4 to 100 columns, got {self.rows} rows and "
                f"{self.columns} columns"
            )
        if self.gem_locks not in (1, 2):
            raise ValueError(f"gem_locks is 1 or 2, got {self.gem_locks!r}")
        if not 0.0 <= self.bridge_probability <= 1.0:
            raise ValueError(
                f"bridge_probability lies between 0 and 1, got {self.bridge_probability}"
            )
        if self.gem_locks == 1 and self.bridge_probability > 0:
            raise ValueError("a bridge joins two paths: bridge_probability > 0 needs gem_locks=2")
        if self.gem_locks == 2 and self.distractors[1] > 0:
            raise ValueError(
                "a gem with two locks has bridges for distractors: distractors must be (0, 0), "
                f"got {self.distractors}"
            )
        if self.horizon is not None and self.horizon < 1:
            raise ValueError(f"horizon is None or at least 1, got {self.horizon}")
        if not 1 <= self.num_colours <= 100:
            raise ValueError(f"num_colours lies between 1 and 100, got {self.num_colours}")

    def _check_fit(self):
        longest = self.solution_length[1]
        if self.gem_locks == 2:
            bridge = int(self.bridge_probability > 0)
            # The gem covers its slot and half of the one below, which stays free.
            needed, colours = 2 * longest + 2 + bridge, 2 * longest
            if len(self.slot_columns) < 2 or len(self.slot_rows) < 2:
                raise ValueError(
                    "a gem with two locks needs at least 5 rows and 6 columns, got "
                    f"{self.rows} rows and {self.columns} columns"
                )
        else:
            extra = self.distractors[1] * self.distractor_length[1]
            needed, colours = longest + 1 + extra, longest + extra
        if needed > self.slots:
            raise ValueError(
                f"the largest level needs {needed} places for boxes and loose keys, a board of "
                f"{self.rows} rows and {self.columns} columns has {self.slots}; allow a larger "
                "board, shorter solutions or fewer distractors"
            )
        if colours > self.num_colours:
            raise ValueError(
                f"the largest level needs {colours} colours, num_colours is {self.num_colours}"
            )

    @property
    def slot_columns(self) -> range:
        """Columns where the left tile of a box, or a loose key, may stand."""
        return range(1, self.columns - 1, 3)

    @property
    def slot_rows(self) -> range:
        """Rows where boxes and loose keys may stand."""
        return range(1, self.rows - 1, 2)

    @property
    def slots(self) -> int:
        """How many boxes and loose keys the board can hold."""
        return len(self.slot_columns) * len(self.slot_rows)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """``(rows, columns + 1, 3)``."""
        return self.rows, self.columns + 1, 3


def _range(name: str, value, least: int) -> Range:
    low, high = (value, value) if isinstance(value, int) else value
    if not (isinstance(low, int) and isinstance(high, int) and least <= low <= high):
        raise ValueError(
            f"{name} is an integer or a pair low <= high of integers from {least} on, got {value!r}"
        )
    return low, high


STANDARD = BoxWorldConfig()
"""Standard Box-World: 9x9, solution length 1 to 5, 0 to 4 distractors (section 3.1)."""

BRIDGE = BoxWorldConfig(
    rows=7,
    solution_length=(1, 3),
    distractors=(0, 0),
    gem_locks=2,
    bridge_probability=0.5,
)
"""Bridge Box-World: 7x9, solution length 1 to 3, a bridge in half of the levels (section 3.2)."""


def resolve_config(default: BoxWorldConfig, config: BoxWorldConfig | None, fields: dict):
    """``config`` or else ``default``, with single fields replaced by name."""
    known = {field.name for field in dataclasses.fields(BoxWorldConfig)}
    unknown = sorted(set(fields) - known)
    if unknown:
        raise TypeError(
            f"unknown setting {', '.join(unknown)}; allowed: {', '.join(sorted(known))}"
        )
    return dataclasses.replace(config or default, **fields)
