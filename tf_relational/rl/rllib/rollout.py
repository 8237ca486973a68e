"""The batch that travels from an environment runner to the learner."""

import dataclasses

import numpy as np


@dataclasses.dataclass(eq=False)
class Rollout:
    """`T` steps of `B` environments, time-major, as NumPy arrays.

    RLlib hands these on by reference and asks them only for `env_steps()` and `agent_steps()`.

    Args:
        observations: `[T + 1, B, ...]`; the last row is the observation after the last step.
        actions: `[T, B]` int32.
        log_probs: `[T, B]` float32, `log mu(a | x)` when the action was taken.
        rewards: `[T, B]` float32.
        ends: `[T, B]` float32, 1 where nothing after the step counts (the discount is 0 there).
        mask: `[T, B]` float32, 0 on rows in which the environment only reset.
        weights_seq_no: the learner's update count at the weights that acted.

    Example:
        >>> import numpy as np
        >>> z = np.zeros((2, 3), "float32")
        >>> Rollout(np.zeros((3, 3, 4)), z.astype("int32"), z, z, z, z + 1, 7).env_steps()
        6
    """

    observations: np.ndarray
    actions: np.ndarray
    log_probs: np.ndarray
    rewards: np.ndarray
    ends: np.ndarray
    mask: np.ndarray
    weights_seq_no: int

    ARRAYS = ("observations", "actions", "log_probs", "rewards", "ends", "mask")

    def env_steps(self):
        """Count the transitions."""
        return int(self.mask.sum())

    def agent_steps(self):
        """Count the transitions (one agent acts)."""
        return self.env_steps()

    @classmethod
    def concatenate(cls, rollouts, num_envs):
        """Join rollouts along `B`, and pad to `num_envs` with environments of masked rows.

        The width is kept constant because the learner's compiled step would otherwise be compiled
        anew whenever a runner is lost while its rollout is on the way.

        Args:
            rollouts: a non-empty list of `Rollout` of equal `T`.
            num_envs: the width to reach.

        Returns:
            One `Rollout`; its `weights_seq_no` is the mean over the rollouts, weighted by width.
        """
        arrays = {
            name: np.concatenate([getattr(rollout, name) for rollout in rollouts], axis=1)
            for name in cls.ARRAYS
        }
        widths = np.array([rollout.actions.shape[1] for rollout in rollouts])
        missing = num_envs - widths.sum()
        if missing > 0:
            arrays = {
                name: np.pad(a, [(0, 0), (0, missing)] + [(0, 0)] * (a.ndim - 2))
                for name, a in arrays.items()
            }
        seq_no = np.average([rollout.weights_seq_no for rollout in rollouts], weights=widths)
        return cls(**arrays, weights_seq_no=float(seq_no))
