"""MLP2: two dense layers on all entities at once."""

import keras

from tf_relational.layers.entity_layer import check_positive, fixed_entities
from tf_relational.layers.mlp1 import MLP1


@keras.saving.register_keras_serializable(package="tf_relational")
class MLP2(MLP1):
    """The deeper baseline without relations: `relu(relu(flatten(L) V + a) W + b)`.

    Letters: B batch, N entities, D features, F hidden units, U units.

    Args:
        hidden_units: F.
        units: U.
        kernel_initializer: None for the published truncated normal of deviation 0.1.
        bias_initializer: None for the published 0.1.

    Weights: those of `hidden`, V `[N D, F]` and a `[F]`, and of `dense`, W `[F, U]` and b `[U]`.

    Inputs, outputs and errors: as `MLP1`.

    Source: Shanahan, Nikiforou, Creswell, Kaplanis, Barrett and Garnelo, "An Explicitly Relational
    Neural Network Architecture", Section 4, Table S2; `docs/fidelity.md`, row P6.

    Example:

    >>> import numpy as np
    >>> MLP2(hidden_units=6, units=4)(np.ones((2, 5, 8), "float32")).shape
    TensorShape([2, 4])
    """

    def __init__(
        self,
        hidden_units=1024,
        units=640,
        kernel_initializer=None,
        bias_initializer=None,
        **kwargs,
    ):
        super().__init__(units, kernel_initializer, bias_initializer, **kwargs)
        check_positive(hidden_units=hidden_units)
        self.hidden_units = hidden_units
        self.hidden = self.make_dense(hidden_units, "hidden")

    def build(self, input_shape):
        count, features = self.entities_shape = fixed_entities(input_shape)
        self.hidden.build((input_shape[0], count * features))
        self.dense.build((input_shape[0], self.hidden_units))

    def call(self, entities, mask=None, return_attention=False):
        outputs = self.dense(self.hidden(self.flatten(entities, mask)))
        return (outputs, {}) if return_attention else outputs

    def get_config(self):
        config = super().get_config()
        config.update(hidden_units=self.hidden_units)
        return config
