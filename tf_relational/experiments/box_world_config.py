"""What the two Box-World experiments have in common: their fields, defaults and checks."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

from tf_relational.experiments.errors import UserError

EVALUATION_FIELDS = (
    "evaluation_episodes",
    "evaluation_step_limit",
    "evaluation_seed",
)
"""Fields that may differ between a run and a later evaluation of it."""


@dataclasses.dataclass(frozen=True)
class BoxWorldExperimentConfig:
    """Settings of a Box-World run; every default is the paper's, where the paper tells it.

    The paper is Clift, Doryn, Murfet, Wallbridge, *Logic and the 2-Simplicial Transformer*;
    "notebook" marks what only its published training notebook states.

    Raises:
        UserError: a value outside its range; the message names the field, the value received
            and what is allowed.
    """

    ADDED: ClassVar[tuple[str, ...]] = ("engine", "updates_per_call", "devices")
    """Fields that a run of an earlier version lacks: it did what their defaults say."""

    agent: Literal["relational", "simplicial"] = "simplicial"
    """Which agent is trained. Section 4: relational 239,241 weights, simplicial 365,513."""
    seed: int = 0
    """Seed of weights, levels and actions."""
    seeds: tuple[int, ...] = ()
    """Several seeds, one run directory each: one after the other on rllib, all at once in one
    program when compiled. Figure 3: four runs."""

    engine: Literal["rllib", "compiled"] = "rllib"
    """What trains: rllib spreads over processes and machines; compiled keeps environments, agent
    and learner in one program on one accelerator, with as many environments as fill a batch.
    Notebook: RLlib."""
    updates_per_call: int | None = None
    """Batches that a call of the compiled program makes before the host looks at it. None: 1 with
    a curriculum, which moves between calls, else 10. No paper source."""
    devices: int = 1
    """Accelerators over which a compiled run splits its environments; more than one needs
    KERAS_BACKEND=jax. No paper source."""

    rows: int = 7
    """Rows of the board. Section 5: 7 with a bridge, 9 without."""
    columns: int = 9
    """Columns of the board, the inventory's not counted. Section 5: 9."""
    solution_length: tuple[int, int] = (1, 3)
    """Fewest and most boxes on a solution path. Section 5: 1 3 with a bridge, 1 5 without."""
    horizon: int | None = None
    """Steps after which a training episode is cut; None never. Section 5: no cap. Remark 5.1:
    120 in the original BoxWorld paper."""

    total_frames: int = 5_500_000_000
    """Environment steps to train for. Section 5: 5.5e9 with a bridge, 2.35e9 without."""
    num_env_runners: int = 63
    """Processes that act; 0 acts in the learner's process. Notebook: 63."""
    num_envs: int = 1
    """Environments an env runner. Notebook: RLlib's default, 1."""
    unroll_length: int = 40
    """Steps of a trajectory before V-trace bootstraps. Table 1: 40."""
    batch_size: int = 1280
    """Environment steps of one batch. Table 1: 1280."""
    num_minibatches: int = 1
    """Parts that a batch is cut into, one gradient step each. Paper: one."""

    learning_rate: float = 2e-4
    """Step size of the optimizer, at the start. Table 1: 2e-4, constant."""
    final_learning_rate: float | None = None
    """Step size at `total_frames`, reached in a straight line; None keeps it constant, as the
    paper does."""
    optimizer: Literal["rmsprop_tf1", "rmsprop", "adam"] = "rmsprop_tf1"
    """rmsprop_tf1 is TensorFlow 1's, as the paper ran it: epsilon inside the root, mean square
    from 1; rmsprop is Keras's, mean square from 0. Table 1: RMSProp."""
    rmsprop_decay: float = 0.99
    """Decay of RMSProp's mean square. Table 1: 0.99."""
    rmsprop_momentum: float = 0.0
    """Momentum of RMSProp. Table 1: 0."""
    rmsprop_epsilon: float = 0.1
    """Epsilon of RMSProp. Table 1: 0.1; Appendix E says why it is large."""
    variant: Literal["published", "paper"] = "published"
    """Whether the authors' code or their text holds where they differ: the scale of the attention
    (Equation 4), the sum over pairs (Equation 18) and the first mean square of rmsprop_tf1
    (Appendix E); `docs/fidelity.md`, rows L1, L3, L5."""
    loss_reduction: Literal["sum", "mean"] = "sum"
    """How the loss runs over a batch's steps. Notebook: sum (RLlib's V-trace loss)."""
    entropy: float = 5e-3
    """Coefficient of the entropy bonus. Table 1: 5e-3."""
    value_coefficient: float = 0.5
    """Coefficient of the value loss. Notebook: 0.5."""
    gamma: float = 0.99
    """Discount factor. Table 1: 0.99."""
    vtrace_lambda: float = 1.0
    """Decay of V-trace's traces. Paper: 1 (IMPALA's V-trace has no other)."""
    gradient_clip: float = 40.0
    """Largest global norm of a gradient. Notebook: 40."""

    initialization: Literal["published", "contrast"] = "published"
    """First weights of the agent's convolutions and entity projection. Paper: Keras's defaults;
    contrast is `tf_relational.models.initialization`'s."""

    curriculum: bool = False
    """Whether some training episodes start near their end: keys already held, the player a few
    steps from a target. Such episodes are never counted as solved. Section 5: no curriculum."""
    curriculum_probability: float = 0.9
    """Share of episodes that start so at the first difficulty. No paper source."""
    curriculum_least_probability: float = 0.0
    """Share of such episodes that remains at every difficulty. No paper source."""
    curriculum_span: int = 14
    """Raises of the difficulty over which that share falls to nothing. No paper source."""
    curriculum_first_difficulty: int = 1
    """Most random steps between the player and a target at the start. No paper source."""
    curriculum_horizon: int = 6
    """Steps after which an episode of the curriculum is cut, at difficulty 0. No paper source."""
    curriculum_horizon_growth: int = 2
    """Steps that each difficulty adds to that limit. No paper source."""
    curriculum_window: int = 300
    """Curriculum episodes over which success is measured. No paper source."""
    curriculum_threshold: float = 0.6
    """Success above which the difficulty rises by one. No paper source."""

    jit_compile: bool = True
    """Whether XLA compiles acting and learning: some seconds at the start, then about twice the
    speed. No paper source."""
    report_interval: float = 5.0
    """Fewest seconds between two lines of metrics, and so between looks at total_frames and at
    Ctrl-C. No paper source."""
    checkpoint_interval: float = 120.0
    """Seconds between checkpoints: the most that a killed run loses. No paper source."""
    keep_checkpoints: int = 3
    """Checkpoints kept beside the best agent and those evaluated. No paper source."""
    evaluation_interval: int = 100_000_000
    """Frames between evaluations during training, and between the agents kept for curves. No
    paper source."""
    evaluation_episodes: int = 100
    """Fewest fresh episodes of each puzzle type in an evaluation. Section 6.2: 100."""
    evaluation_step_limit: int | None = None
    """Steps within which an evaluated episode has to be solved; None has no limit, as the
    paper's (an episode of 20,000 steps then counts as unsolved). Section 5: no cap."""
    evaluation_seed: int = 0
    """Seed of the evaluated levels, drawn from a stream that training never uses."""

    def __post_init__(self) -> None:
        self._whole(
            "rows", "columns", "total_frames", "num_envs", "unroll_length", "batch_size",
            "num_minibatches", "devices", "curriculum_first_difficulty", "curriculum_span",
            "curriculum_horizon", "curriculum_window",
            "keep_checkpoints", "evaluation_interval", "evaluation_episodes",
        )  # fmt: skip
        self._whole("horizon", "evaluation_step_limit", "updates_per_call", or_none=True)
        self._whole(
            "num_env_runners",
            "seed",
            "evaluation_seed",
            "curriculum_horizon_growth",
            least=0,
        )
        self._between(
            "learning_rate", "rmsprop_epsilon", "gradient_clip",
            "report_interval", "checkpoint_interval", open_low=True,
        )  # fmt: skip
        if self.final_learning_rate is not None:
            self._between("final_learning_rate", open_low=True)
        self._between("entropy", "value_coefficient")
        self._between(
            "gamma", "vtrace_lambda", "rmsprop_decay", "rmsprop_momentum",
            "curriculum_probability", "curriculum_least_probability", "curriculum_threshold",
            high=1.0,
        )  # fmt: skip
        if any(seed < 0 for seed in self.seeds) or len(set(self.seeds)) < len(self.seeds):
            self._refuse("seeds", "different whole numbers from 0 on")
        if self.curriculum_threshold == 1:
            self._refuse("curriculum_threshold", "below 1")
        if self.curriculum_least_probability > self.curriculum_probability:
            self._refuse("curriculum_least_probability", "at most curriculum_probability")
        rollout = self.unroll_length * self.num_envs
        if self.batch_size % rollout:
            self._refuse("batch_size", f"a multiple of unroll_length x num_envs = {rollout}")
        trajectories = self.batch_size // self.unroll_length
        if trajectories % self.num_minibatches:
            self._refuse("num_minibatches", f"a divisor of the batch's {trajectories} unrolls")
        if self.engine == "compiled" and trajectories % (self.num_minibatches * self.devices):
            parts = f"num_minibatches x devices = {self.num_minibatches} x {self.devices}"
            self._refuse("batch_size", f"unroll_length times a multiple of {parts}")
        if self.engine == "rllib" and self.devices > 1:
            self._refuse("devices", "1 with engine rllib")
        self.level_config()

    def level_kwargs(self) -> dict[str, Any]:
        """Returns the settings of the puzzles, fields of `tf_relational.envs.BoxWorldConfig`."""
        return {
            "rows": self.rows,
            "columns": self.columns,
            "solution_length": self.solution_length,
            "horizon": self.horizon,
        }

    def level_config(self) -> Any:
        """Returns the puzzles' `tf_relational.envs.BoxWorldConfig`."""
        from tf_relational.envs.config import BoxWorldConfig

        try:
            return BoxWorldConfig(**self.level_kwargs())
        except ValueError as error:
            raise UserError(str(error)) from error

    def _refuse(self, name: str, allowed: str) -> None:
        raise UserError(f"{name} must be {allowed}, got {getattr(self, name)!r}")

    def _whole(self, *names: str, least: int = 1, or_none: bool = False) -> None:
        for name in names:
            value = getattr(self, name)
            if or_none and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                alternative = " or None" if or_none else ""
                self._refuse(name, f"a whole number from {least} on{alternative}")

    def _between(self, *names: str, high: float = float("inf"), open_low: bool = False) -> None:
        for name in names:
            value = getattr(self, name)
            above = value > 0 if open_low else value >= 0
            if not (above and value <= high and value < float("inf")):
                low = "above 0" if open_low else "at least 0"
                self._refuse(name, low if high == float("inf") else f"{low} and at most {high:g}")
