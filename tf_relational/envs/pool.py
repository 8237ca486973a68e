"""A stock of levels made in bulk, from which episodes are begun."""

from __future__ import annotations

import dataclasses

import numpy as np

from .config import BoxWorldConfig
from .games import NO_HORIZON, Games
from .generator import generate
from .level import EMPTY, Level
from .levels import Levels
from .start_states import curriculum_levels


@dataclasses.dataclass(frozen=True)
class Curriculum:
    """Which share of the episodes begins in the middle of a puzzle.

    Args:
        probability: share of such episodes.
        difficulty: see :func:`~tf_relational.envs.start_states.curriculum_levels`.
        horizon: steps after which such an episode is truncated.
    """

    probability: float = 0.0
    difficulty: int = 1
    horizon: int = 20

    def __post_init__(self):
        if not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"probability lies between 0 and 1, got {self.probability}")
        if self.difficulty < 1 or self.horizon < 1:
            raise ValueError(
                f"difficulty and horizon are at least 1, got {self.difficulty} and {self.horizon}"
            )


class LevelPool:
    """Hands out levels in order and makes the next lot when they run out.

    Args:
        config: the task.
        rng: source of all randomness; what is handed out is a function of it alone.
        size: levels made at a time.
    """

    def __init__(self, config: BoxWorldConfig, rng: np.random.Generator, size: int):
        self.config, self.rng, self.size = config, rng, size
        self.curriculum = Curriculum()
        self._fixed: Levels | None = None
        self._levels: Levels | None = None
        self._games: Games | None = None
        self._next = 0

    def set_curriculum(self, curriculum: Curriculum) -> None:
        """Let the next episodes begin by this law; levels in stock are dropped if it differs."""
        if curriculum != self.curriculum:
            self.curriculum = curriculum
            self._levels = None

    def set_levels(self, levels: Levels | None) -> None:
        """Hand out ``levels`` in turn, over and over; ``None`` goes back to fresh ones."""
        self._fixed = levels
        self._levels = None

    def next_level(self) -> Level:
        """The next level."""
        if self._levels is None or self._next == len(self._levels):
            self._refill()
        self._next += 1
        return self._levels[self._next - 1]

    def begin(self, games: Games, places: np.ndarray) -> None:
        """Put the next levels, begun, in the given places of ``games``."""
        while places.size:
            if self._levels is None or self._next == len(self._levels):
                self._refill()
            if self._games is None:
                self._games = Games.begin(self._levels, self.config.num_colours, *self._law)
            stop = min(self._next + places.size, len(self._levels))
            count = stop - self._next
            games.replace(places[:count], self._games, slice(self._next, stop))
            self._next = stop
            places = places[count:]

    def _refill(self) -> None:
        if self._fixed is not None:
            levels, chosen = self._fixed, np.zeros(len(self._fixed), bool)
        else:
            levels, chosen = draw_levels(self.config, self.size, self.curriculum, self.rng)
        usual = self.config.horizon or NO_HORIZON
        self._levels = levels
        self._law = chosen, np.where(chosen, self.curriculum.horizon, usual)
        self._games = None
        self._next = 0


def draw_levels(
    config: BoxWorldConfig, size: int, curriculum: Curriculum, rng: np.random.Generator
) -> tuple[Levels, np.ndarray]:
    """Draw levels, a share of them begun in the middle of the puzzle.

    Args:
        config: the task.
        size: how many.
        curriculum: the share, and how far from the end they begin.
        rng: source of all randomness.

    Returns:
        The levels, and ``[size]`` which of them are the curriculum's.
    """
    levels = generate(config, size, rng)
    chosen = rng.random(size) < curriculum.probability
    if chosen.any():
        near = curriculum_levels(levels, curriculum.difficulty, rng)
        levels = _choose(levels, near, chosen)
    return levels, chosen


def _choose(levels: Levels, near: Levels, chosen: np.ndarray) -> Levels:
    """``near`` where chosen, else ``levels``."""
    held = np.full_like(near.start_inventory, EMPTY)
    held[:, : levels.start_inventory.shape[1]] = levels.start_inventory
    return dataclasses.replace(
        levels,
        board=np.where(chosen[:, None, None], near.board, levels.board),
        start_position=np.where(chosen[:, None], near.start_position, levels.start_position),
        start_inventory=np.where(chosen[:, None], near.start_inventory, held),
    )
