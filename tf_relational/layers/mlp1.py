"""MLP1: one dense layer on all entities at once."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import VectorLayer, check_positive, fixed_entities
from tf_relational.layers.predinet_initializers import bias_initializer as bias_or_published
from tf_relational.layers.predinet_initializers import dense
from tf_relational.layers.predinet_initializers import kernel_initializer as kernel_or_published
from tf_relational.ops.masking import zero_masked


@keras.saving.register_keras_serializable(package="tf_relational")
class MLP1(VectorLayer):
    """The baseline without relations: `relu(flatten(L) W + b)`.

    Letters: B batch, N entities, D features, U units.

    Args:
        units: U.
        kernel_initializer: None for the published truncated normal of deviation 0.1.
        bias_initializer: None for the published 0.1.

    Weights: those of `dense`, W `[N D, U]` and b `[U]`.

    Inputs: entities `[B, N, D]`, N fixed by the weights; `mask`, booleans `[B, N]`, False for
    entities that count as 0.

    Outputs: `[B, U]`; with `return_attention=True` a pair of it and an empty dict.

    Raises:
        ValueError: a size that is not positive, N or D that is not known or not the one the layer
            was built for.

    Source: Shanahan, Nikiforou, Creswell, Kaplanis, Barrett and Garnelo, "An Explicitly Relational
    Neural Network Architecture", Section 4, Table S2; `docs/fidelity.md`, row P6.

    Example:

    >>> import numpy as np
    >>> MLP1(units=4)(np.ones((2, 5, 8), "float32")).shape
    TensorShape([2, 4])
    """

    def __init__(self, units=640, kernel_initializer=None, bias_initializer=None, **kwargs):
        super().__init__(**kwargs)
        check_positive(units=units)
        self.units = units
        self.kernel_initializer = kernel_or_published(kernel_initializer)
        self.bias_initializer = bias_or_published(bias_initializer)
        self.dense = self.make_dense(units, "dense")

    def make_dense(self, units, name):
        """A dense ReLU layer that begins as this layer's arguments say."""
        return dense(
            units,
            self.kernel_initializer,
            self.bias_initializer,
            activation="relu",
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, input_shape):
        count, features = self.entities_shape = fixed_entities(input_shape)
        self.dense.build((input_shape[0], count * features))

    def call(self, entities, mask=None, return_attention=False):
        outputs = self.dense(self.flatten(entities, mask))
        return (outputs, {}) if return_attention else outputs

    def flatten(self, entities, mask):
        """All entities as one vector `[B, N D]`, masked ones 0."""
        count, features = fixed_entities(entities.shape, self.entities_shape)
        return ops.reshape(zero_masked(entities, mask), (-1, count * features))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.units)

    def get_config(self):
        config = super().get_config()
        config.update(
            units=self.units,
            kernel_initializer=keras.initializers.serialize(self.kernel_initializer),
            bias_initializer=keras.initializers.serialize(self.bias_initializer),
        )
        return config
