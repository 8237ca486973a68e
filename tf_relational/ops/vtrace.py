"""V-trace: off-policy corrected value targets and policy-gradient advantages."""

from typing import NamedTuple

import keras
from keras import ops


class VTrace(NamedTuple):
    """What `vtrace` returns; every field has shape `[T, B]` and carries no gradient."""

    targets: keras.KerasTensor
    """`v_s`, the value the critic is regressed to."""
    advantages: keras.KerasTensor
    """`min(rho_bar_pg, pi/mu) (r + gamma v_{s+1} - V(x_s))`, the weight of `grad log pi`."""
    importance_weights: keras.KerasTensor
    """`pi/mu` before any clipping; 0 where `mask` is 0."""


def vtrace(
    target_log_probs,
    behaviour_log_probs,
    rewards,
    discounts,
    values,
    bootstrap_value,
    mask=None,
    clip_rho=1.0,
    clip_c=1.0,
    clip_pg_rho=1.0,
    lambda_=1.0,
):
    """Compute V-trace targets and advantages of time-major unrolls.

    With `rho_t = min(clip_rho, pi(a_t|x_t) / mu(a_t|x_t))`, `c_t = lambda min(clip_c, pi/mu)` and
    `gamma_t` the discount of step `t` (0 where the episode ends at `t`)::

        delta_t = rho_t (r_t + gamma_t V(x_{t+1}) - V(x_t))
        v_t     = V(x_t) + delta_t + gamma_t c_t (v_{t+1} - V(x_{t+1}))
        adv_t   = min(clip_pg_rho, pi/mu) (r_t + gamma_t v_{t+1} - V(x_t))

    A row with `mask` 0 is no transition (the row in which a `NEXT_STEP` vector environment resets):
    its target is its own value, its advantage 0, and nothing flows through it from later rows. The
    row before it may bootstrap from it (a time limit that is not the end of the episode) by having
    a discount above 0.

    No gradient flows through the result.

    Args:
        target_log_probs: `[T, B]`, `log pi(a_t | x_t)` under the policy being learned.
        behaviour_log_probs: `[T, B]`, `log mu(a_t | x_t)` under the policy that acted.
        rewards: `[T, B]`.
        discounts: `[T, B]`, `gamma`, or 0 where the episode terminated at that step.
        values: `[T, B]`, `V(x_t)` under the value function being learned.
        bootstrap_value: `[B]`, the value of the observation after the last row.
        mask: `[T, B]` of 0 and 1 (or booleans); `None` means that every row is a transition.
        clip_rho: clip of the weight of the temporal difference, or `None` for no clip.
        clip_c: clip of the trace coefficients, or `None`.
        clip_pg_rho: clip of the weight in the advantage, or `None`.
        lambda_: factor on the trace coefficients; 1 is the published algorithm.

    Returns:
        A `VTrace` tuple of `[T, B]` tensors.

    Raises:
        ValueError: the `[T, B]` arguments disagree in shape, or `bootstrap_value` is not `[B]`.

    Source: Espeholt et al. 2018, IMPALA, equations 1 and 4 and section 4.1; the clips of 1 are
    those of the 2-simplicial transformer's training runs.

    Example:
        >>> import numpy as np
        >>> row = np.zeros((1, 2), "float32")
        >>> result = vtrace(row, row, row + 1.0, row + 0.5, row, np.array([2.0, 4.0], "float32"))
        >>> np.asarray(result.targets).tolist()
        [[2.0, 3.0]]
    """
    values = ops.convert_to_tensor(values)
    dtype = values.dtype
    target_log_probs = ops.cast(target_log_probs, dtype)
    behaviour_log_probs = ops.cast(behaviour_log_probs, dtype)
    rewards = ops.cast(rewards, dtype)
    discounts = ops.cast(discounts, dtype)
    bootstrap_value = ops.cast(bootstrap_value, dtype)
    mask = ops.ones_like(values) if mask is None else ops.cast(mask, dtype)
    _check_shapes(
        values.shape,
        bootstrap_value.shape,
        target_log_probs=target_log_probs.shape,
        behaviour_log_probs=behaviour_log_probs.shape,
        rewards=rewards.shape,
        discounts=discounts.shape,
        mask=mask.shape,
    )

    # A reset row may hold anything, infinities too, so its ratio is replaced, not multiplied.
    log_weights = ops.where(mask > 0, target_log_probs - behaviour_log_probs, 0.0)
    weights = ops.exp(log_weights)
    rho = weights if clip_rho is None else ops.minimum(weights, clip_rho)
    c = lambda_ * (weights if clip_c is None else ops.minimum(weights, clip_c))
    pg_rho = weights if clip_pg_rho is None else ops.minimum(weights, clip_pg_rho)

    next_values = ops.concatenate([values[1:], bootstrap_value[None]], axis=0)
    deltas = mask * rho * (rewards + discounts * next_values - values)
    # v_t - V(x_t) = deltas_t + traces_t (v_{t+1} - V(x_{t+1})): a linear recurrence backwards in t.
    traces = mask * discounts * c

    def step(correction, row):
        delta, trace = row
        correction = delta + trace * correction
        return correction, correction

    _, corrections = ops.scan(step, ops.zeros_like(bootstrap_value), (deltas, traces), reverse=True)
    targets = values + corrections
    next_targets = ops.concatenate([targets[1:], bootstrap_value[None]], axis=0)
    advantages = mask * pg_rho * (rewards + discounts * next_targets - values)
    return VTrace(
        ops.stop_gradient(targets),
        ops.stop_gradient(advantages),
        ops.stop_gradient(mask * weights),
    )


def _check_shapes(expected, bootstrap, **shapes):
    for name, shape in shapes.items():
        if len(shape) != 2 or tuple(shape) != tuple(expected):
            raise ValueError(
                f"vtrace: `{name}` must have the shape [T, B] of `values`, {tuple(expected)}; "
                f"received {tuple(shape)}."
            )
    if tuple(bootstrap) != tuple(expected[1:]):
        raise ValueError(
            f"vtrace: `bootstrap_value` must have shape [B], {tuple(expected[1:])}; received "
            f"{tuple(bootstrap)}."
        )
