"""Masks over entities, in attention logits and in the entities themselves."""

from keras import ops

# Finite, so that a row without any allowed entity has a softmax, and within float16.
MASKED = -6e4


def mask_logits(logits, mask, axes=(-1,)):
    """Logits with those of masked entities so low that a softmax gives them nothing.

    Args:
        logits: float tensor `[B, H, queries, ...]`, for example `[B, H, N, N]`.
        mask: booleans `[B, entities]`, True where an entity may be attended to; None for all.
        axes: the axes of `logits` that run over the masked entities.

    Returns:
        A tensor like `logits`. Where every entity is masked all logits are equal, so that the
        softmax is even and not NaN.
    """
    if mask is None:
        return logits
    rank = len(logits.shape)
    allowed = None
    for axis in axes:
        shape = [1] * rank
        shape[0], shape[axis] = -1, ops.shape(mask)[1]
        along = ops.reshape(ops.cast(mask, "bool"), shape)
        allowed = along if allowed is None else ops.logical_and(allowed, along)
    return ops.where(allowed, logits, ops.cast(MASKED, logits.dtype))


def zero_masked(entities, mask):
    """Entities with 0 in place of all features of masked ones.

    Args:
        entities: tensor `[B, N, ...]`.
        mask: booleans `[B, N]`, False where an entity is masked; None for no mask.

    Returns:
        A tensor like `entities`.
    """
    if mask is None:
        return entities
    for _ in entities.shape[2:]:
        mask = ops.expand_dims(mask, -1)
    return ops.where(ops.cast(mask, "bool"), entities, ops.zeros_like(entities))
