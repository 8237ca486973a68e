"""Bridge BoxWorld, the experiment of *Logic and the 2-Simplicial Transformer* (Section 5)."""

from __future__ import annotations

import dataclasses
from typing import Any

from tf_relational.experiments.box_world_config import BoxWorldExperimentConfig
from tf_relational.experiments.box_world_presets import LAPTOP, MODES, SMOKE
from tf_relational.experiments.registry import Experiment, register


@dataclasses.dataclass(frozen=True)
class BridgeBoxWorldConfig(BoxWorldExperimentConfig):
    """Settings of bridge BoxWorld: two solution paths, two locks on the gem, sometimes a bridge.

    Raises:
        UserError: as `BoxWorldExperimentConfig`.

    Example:
        >>> BridgeBoxWorldConfig().bridge_probability
        0.5
    """

    bridge_probability: float = 0.5
    """Share of levels that contain a bridge. Section 5: half."""

    def level_kwargs(self) -> dict[str, Any]:
        return {
            **super().level_kwargs(),
            "gem_locks": 2,
            "bridge_probability": self.bridge_probability,
            "distractors": (0, 0),
        }


EXPERIMENT = register(
    Experiment(
        name="bridge_boxworld",
        summary="the 2-simplicial or relational agent on bridge BoxWorld (2-simplicial paper, 5)",
        config=BridgeBoxWorldConfig,
        presets={
            "paper": {"solution_length": (1, 3)},
            "laptop": {**LAPTOP, "solution_length": (1, 1)},
            "smoke": {**SMOKE, "solution_length": (1, 1)},
        },
        default_preset="laptop",
        modes=MODES,
    )
)
