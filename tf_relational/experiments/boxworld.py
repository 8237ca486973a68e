"""Standard BoxWorld as the 2-simplicial paper plays it (Section 5): distractors, no bridge."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from tf_relational.experiments.box_world_config import BoxWorldExperimentConfig
from tf_relational.experiments.box_world_presets import LAPTOP, MODES, SMOKE
from tf_relational.experiments.registry import Experiment, register


@dataclasses.dataclass(frozen=True)
class BoxWorldRunConfig(BoxWorldExperimentConfig):
    """Settings of standard BoxWorld: one solution path, distractor branches beside it.

    Raises:
        UserError: as `BoxWorldExperimentConfig`.

    Example:
        >>> BoxWorldRunConfig().distractors
        (0, 4)
    """

    agent: Literal["relational", "simplicial"] = "relational"
    """Which agent is trained. Section 5: the relational one."""
    rows: int = 9
    """Rows of the board. Section 5: 9."""
    solution_length: tuple[int, int] = (1, 5)
    """Fewest and most boxes on the solution path. Section 5: 1 5."""
    total_frames: int = 2_350_000_000
    """Environment steps to train for. Section 5: 2.35e9."""
    distractors: tuple[int, int] = (0, 4)
    """Fewest and most distractor branches. Section 5: 0 4."""
    distractor_length: tuple[int, int] = (1, 1)
    """Fewest and most boxes on a distractor branch. No paper source; the recorded levels: 1."""

    def level_kwargs(self) -> dict[str, Any]:
        return {
            **super().level_kwargs(),
            "gem_locks": 1,
            "bridge_probability": 0.0,
            "distractors": self.distractors,
            "distractor_length": self.distractor_length,
        }


EXPERIMENT = register(
    Experiment(
        name="boxworld",
        summary="the relational or 2-simplicial agent on standard BoxWorld (2-simplicial paper, 5)",
        config=BoxWorldRunConfig,
        presets={
            "paper": {},
            "laptop": {**LAPTOP, "solution_length": (1, 1), "distractors": (0, 1)},
            "smoke": {**SMOKE, "solution_length": (1, 1), "distractors": (0, 1)},
        },
        default_preset="laptop",
        modes=MODES,
    )
)
