"""How many fresh puzzles a policy solves, by puzzle type."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tf_relational.analysis.episode import Policy, play
from tf_relational.analysis.scripted_player import ScriptedPlayer
from tf_relational.envs import BoxWorldConfig, generate
from tf_relational.envs.step_limit import within

PuzzleKind = tuple[int, ...]
"""(a, b, c) of a puzzle with a bridge, (a,) of one without."""


@dataclass(frozen=True)
class SolveRate:
    """Puzzles solved.

    Attributes:
        by_type: Puzzle type -> (solved, episodes).
        step_limit: Steps within which a puzzle counts as solved; `None` is no limit.
    """

    by_type: dict[PuzzleKind, tuple[int, int]]
    step_limit: int | None

    @property
    def solved(self) -> int:
        """Puzzles solved, of all types."""
        return sum(solved for solved, _ in self.by_type.values())

    @property
    def episodes(self) -> int:
        """Puzzles played, of all types."""
        return sum(episodes for _, episodes in self.by_type.values())

    @property
    def fraction(self) -> float:
        """Solved over played."""
        return self.solved / self.episodes

    def text(self) -> str:
        """A table, one puzzle type a line."""
        share = f"{self.solved}/{self.episodes} = {self.fraction:.3f}"
        lines = [f"all: {share} solved {within(self.step_limit)}"]
        for kind, (solved, episodes) in self.by_type.items():
            lines.append(f"{kind}: {solved}/{episodes} = {solved / episodes:.3f}")
        return "\n".join(lines)


def solve_rate(
    config: BoxWorldConfig,
    episodes: int,
    seed: int,
    step_limit: int | None,
    policy: Policy | None = None,
) -> SolveRate:
    """Plays `episodes` fresh levels, each once, with the scripted player or another policy.

    Args:
        config: The task; its own horizon is not used.
        episodes: How many levels.
        seed: Seed of the levels.
        step_limit: Steps within which a puzzle counts as solved; `None` for no limit.
        policy: Who plays; `ScriptedPlayer()` if left out.

    Raises:
        ValueError: `episodes` is less than 1.

    >>> from tf_relational.envs import BRIDGE
    >>> solve_rate(BRIDGE, episodes=5, seed=0, step_limit=200).episodes
    5
    """
    if episodes < 1:
        raise ValueError(f"received episodes={episodes}; allowed: at least 1")
    levels = generate(config, episodes, np.random.default_rng(seed))
    outcomes = play(policy or ScriptedPlayer(), levels, step_limit)
    played, solved = Counter(), Counter()
    for index in range(episodes):
        level = levels[index]
        kind = level.puzzle_type or (level.solution_length,)
        played[kind] += 1
        solved[kind] += bool(outcomes.solved[index])
    kinds = sorted(played, key=lambda kind: (kind[0], len(kind), kind))
    return SolveRate({kind: (solved[kind], played[kind]) for kind in kinds}, step_limit)
