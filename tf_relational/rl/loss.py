"""The IMPALA loss: policy gradient, value regression and entropy bonus on V-trace targets."""

from keras import ops

from tf_relational.ops.vtrace import vtrace


def impala_loss(
    logits,
    values,
    actions,
    behaviour_log_probs,
    rewards,
    discounts,
    mask=None,
    *,
    value_coefficient=0.5,
    entropy_coefficient=0.005,
    reduction="sum",
    clip_rho=1.0,
    clip_c=1.0,
    clip_pg_rho=1.0,
    lambda_=1.0,
):
    """Compute the actor-critic loss of a batch of time-major unrolls.

    With V-trace targets `v`, advantages `A` (see `tf_relational.ops.vtrace.vtrace`), rows `(t, b)`
    that are transitions (`mask` 1) and `H` the entropy of the policy::

        policy_loss = - sum A log pi(a | x)
        value_loss  = 1/2 sum (v - V(x))^2
        total_loss  = policy_loss + value_coefficient value_loss
                      - entropy_coefficient sum H(pi(. | x))

    With `reduction="mean"` each sum is divided by the number of transitions. The published runs
    sum, with a value coefficient of 0.5 on the *halved* square, which makes the factor on the
    square one quarter.

    Args:
        logits: `[T, B, A]`, unnormalised log-probabilities of the policy being learned.
        values: `[T + 1, B]`, its values; the last row is that of the observation after the unroll.
        actions: `[T, B]` integers, the actions taken.
        behaviour_log_probs: `[T, B]`, log-probability of each action when it was taken.
        rewards: `[T, B]`.
        discounts: `[T, B]`, `gamma`, or 0 where the episode terminated.
        mask: `[T, B]`, 0 on rows in which a vector environment reset, or `None`.
        value_coefficient: weight of `value_loss`.
        entropy_coefficient: weight of the entropy; a number or a scalar tensor.
        reduction: `"sum"` (published) or `"mean"`.
        clip_rho, clip_c, clip_pg_rho, lambda_: see `vtrace`.

    Returns:
        A dict of scalar tensors: `total_loss`, `policy_loss` and `value_loss` as above (so summed
        or averaged), and for the record, over the transitions whatever the reduction, the mean
        `entropy`, `importance_weight_mean`, `importance_weight_max` and `explained_variance` (of
        the targets by the values).

    Raises:
        ValueError: for an unknown `reduction`, or shapes that do not fit (see `vtrace`).

    Source: Espeholt et al. 2018, section 4.2; Clift et al. 2020, Table 1; sum, value coefficient
    and clips as in RLlib at the time of those runs.

    Example:
        >>> import numpy as np
        >>> zeros = np.zeros((5, 2), "float32")
        >>> parts = impala_loss(
        ...     np.zeros((5, 2, 4), "float32"), np.zeros((6, 2), "float32"), zeros.astype(int),
        ...     zeros - np.log(4), zeros + 1, zeros, entropy_coefficient=0.0, reduction="mean")
        >>> round(float(parts["value_loss"]), 4), round(float(parts["policy_loss"]), 4)
        (0.5, 1.3863)
    """
    if reduction not in ("sum", "mean"):
        raise ValueError(
            f'impala_loss: `reduction` must be "sum" or "mean"; received {reduction!r}.'
        )
    logits = ops.cast(logits, "float32")
    values = ops.cast(values, "float32")
    mask = ops.ones(logits.shape[:2], "float32") if mask is None else ops.cast(mask, "float32")

    log_policy = ops.log_softmax(logits, axis=-1)
    chosen = ops.one_hot(actions, logits.shape[-1], dtype="float32")
    log_probs = ops.sum(chosen * log_policy, axis=-1)
    entropies = -ops.sum(ops.exp(log_policy) * log_policy, axis=-1)

    returns = vtrace(
        log_probs,
        behaviour_log_probs,
        rewards,
        discounts,
        values[:-1],
        values[-1],
        mask=mask,
        clip_rho=clip_rho,
        clip_c=clip_c,
        clip_pg_rho=clip_pg_rho,
        lambda_=lambda_,
    )
    errors = mask * (returns.targets - values[:-1])
    transitions = ops.maximum(ops.sum(mask), 1.0)
    scale = 1.0 if reduction == "sum" else 1.0 / transitions
    policy_loss = -scale * ops.sum(mask * returns.advantages * log_probs)
    value_loss = scale * 0.5 * ops.sum(ops.square(errors))
    bonus = scale * ops.sum(mask * entropies)
    total_loss = policy_loss + value_coefficient * value_loss - entropy_coefficient * bonus

    target_mean = ops.sum(mask * returns.targets) / transitions
    target_square = ops.sum(mask * ops.square(returns.targets - target_mean))
    error_mean = ops.sum(errors) / transitions
    error_square = ops.sum(mask * ops.square(errors - error_mean))
    return {
        "total_loss": total_loss,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": ops.sum(mask * entropies) / transitions,
        "importance_weight_mean": ops.sum(returns.importance_weights) / transitions,
        "importance_weight_max": ops.max(returns.importance_weights),
        "explained_variance": 1.0 - error_square / ops.maximum(target_square, 1e-8),
    }
