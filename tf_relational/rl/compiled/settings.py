"""What a compiled training run is made of, beside network, optimizer and task."""

import bisect
import dataclasses


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of `CompiledTrainer`, checked when made.

    Args:
        num_envs: E, environments a replica.
        unroll_length: T, steps of an unroll; a batch has E T frames.
        num_minibatches: gradient steps a batch, each on `E / num_minibatches` environments.
        learning_rate, entropy: a number, or `[[frames, value], ...]`: the values at these frames,
            straight lines between, constant outside.
        value_coefficient, gamma, vtrace_lambda, loss_reduction: as in `impala_loss`.
        gradient_clip: largest global norm of a gradient.
        updates_per_call: batches that one call of the program makes before the host looks at it.
        curriculum: arguments of `tf_relational.rl.Curriculum`, or None. It moves between calls.
        pool_size: levels on the device; None for four times E, at least 1,024. No level is begun
            twice within that many episodes.
        devices: over how many the environments are split (JAX only).
        jit_compile: whether XLA compiles on TensorFlow. JAX always does.

    Raises:
        ValueError: a value is out of its range.

    Example:
        >>> settings = Settings(num_envs=8, unroll_length=10, learning_rate=[[0, 1.0], [100, 0.0]])
        >>> settings.frames_per_update, settings.at("learning_rate", 25)
        (80, 0.75)
    """

    num_envs: int
    unroll_length: int
    num_minibatches: int = 1
    learning_rate: float | list = 2e-4
    entropy: float | list = 5e-3
    value_coefficient: float = 0.5
    gamma: float = 0.99
    vtrace_lambda: float = 1.0
    loss_reduction: str = "sum"
    gradient_clip: float = 40.0
    updates_per_call: int = 1
    curriculum: dict | None = None
    pool_size: int | None = None
    devices: int = 1
    jit_compile: bool = True

    def __post_init__(self):
        if self.pool_size is None:
            object.__setattr__(self, "pool_size", max(4 * self.num_envs, 1024))
        for name in ("num_envs", "unroll_length", "num_minibatches", "updates_per_call", "devices"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1; received {getattr(self, name)}.")
        if self.num_envs % (self.num_minibatches * self.devices):
            raise ValueError(
                f"num_envs is a multiple of num_minibatches x devices = {self.num_minibatches} x "
                f"{self.devices}; received {self.num_envs}."
            )
        if self.pool_size < self.num_envs:
            raise ValueError(
                f"pool_size is at least num_envs={self.num_envs}; received {self.pool_size}."
            )

    @property
    def frames_per_update(self):
        """Environment steps of one batch."""
        return self.num_envs * self.unroll_length

    def at(self, name, frames):
        """Return the value of the schedule `name`, "learning_rate" or "entropy", at `frames`."""
        schedule = getattr(self, name)
        if not isinstance(schedule, list | tuple):
            return schedule
        at = bisect.bisect_right([point[0] for point in schedule], frames)
        if at in (0, len(schedule)):
            return schedule[min(at, len(schedule) - 1)][1]
        (start, low), (end, high) = schedule[at - 1 : at + 1]
        return low + (high - low) * (frames - start) / (end - start)
