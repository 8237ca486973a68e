"""What every layer on entities has in common."""

import keras
import numpy as np

VARIANTS = ("published", "paper")


class EntityLayer(keras.layers.Layer):
    """A layer `(batch, entities, features)` in, entities out, that can tell its attention.

    A layer of this kind is called as `layer(entities)` and gives its outputs, or as
    `layer(entities, return_attention=True)` and gives `(outputs, attention)`, where `attention` is
    a dict from names to tensors. It takes a Keras mask `[batch, entities]` and hands it on.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_spec(self, *args, **kwargs):
        # With attention the outputs have another structure than compute_output_shape tells, so
        # symbolic calls trace the layer.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)


class VectorLayer(EntityLayer):
    """A layer `(batch, entities, features)` in, one vector `(batch, features)` out.

    Called as every `EntityLayer` is. It takes a Keras mask `[batch, entities]` and hands none on,
    as its output has no entities.
    """

    def compute_mask(self, inputs, previous_mask):
        return None


def check_positive(**sizes):
    """Refuse sizes of a layer that are no integers of at least 1."""
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} is an integer of at least 1; received {size!r}.")


def fixed_entities(input_shape, built_for=None):
    """N and D of entities whose number a layer's weights fix.

    Args:
        input_shape: `[B, N, D]`.
        built_for: the N and D that the layer was built for, once it is.

    Raises:
        ValueError: N or D is not known, or another than the layer was built for.
    """
    shape = tuple(input_shape)
    if len(shape) != 3 or None in shape[1:]:
        raise ValueError(
            "This layer has weights for every entity, so that entities [batch, N, D] need a known "
            f"N and D; received shape {shape}."
        )
    if built_for is not None and shape[1:] != built_for:
        raise ValueError(
            f"This layer was built for {built_for[0]} entities of {built_for[1]} features; "
            f"received shape {shape}."
        )
    return shape[1:]


def check_variant(variant):
    """The variant, if it is one: "published" (the authors' code) or "paper" (their text)."""
    if variant not in VARIANTS:
        raise ValueError(f"variant is one of {VARIANTS}; received {variant!r}.")
    return variant


def check_heads(num_heads, features, what):
    """The features of one head, if `num_heads` heads part them evenly."""
    if num_heads < 1 or features is None or features % num_heads:
        raise ValueError(
            f"num_heads has to divide {what}; received num_heads={num_heads} and {what}={features}."
        )
    return features // num_heads


def split_virtual(entities, num_virtual):
    """Standard entities `[B, N, D]` and the `num_virtual` last ones `[B, M, D]`."""
    size = entities.shape[1]
    if size is not None and size <= num_virtual:
        raise ValueError(
            f"With num_virtual={num_virtual} the input needs at least {num_virtual + 1} entities, "
            f"the last {num_virtual} of them virtual; received shape {tuple(entities.shape)}."
        )
    return entities[:, :-num_virtual], entities[:, -num_virtual:]
