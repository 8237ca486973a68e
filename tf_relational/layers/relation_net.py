"""The relation net: a small network on every pair of entities, and the mean of what it says."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import VectorLayer, check_positive, check_variant
from tf_relational.layers.predinet_initializers import kernel_initializer as kernel_or_published


@keras.saving.register_keras_serializable(package="tf_relational")
class RelationNet(VectorLayer):
    """The mean over ordered pairs of entities of a two-layer network of the pair.

        output = mean over (i, j) of relu(relu([e_i, e_j] W) V)

    without bias. The first layer is linear in sender and receiver apart, `[e_i, e_j] W = e_i W_a +
    e_j W_b`, and is computed so: N + N products and N^2 sums, and no tensor holds the pairs' 2 D
    features.

    Letters: B batch, N entities, D features, F hidden units, U units.

    Args:
        hidden_units: F.
        units: U, the size of the output.
        variant: "published" takes all N^2 ordered pairs, an entity with itself among them, as the
            authors' code does; "paper" takes the N (N - 1) pairs of two entities, the narrower
            reading of "the set of all possible pairs".
        kernel_initializer: of both weights; None for the published truncated normal of deviation
            0.1.

    Weights:
        hidden_weights: `[2 D, F]` (W), the rows of the sender before those of the receiver.
        output_weights: `[F, U]` (V).

    Inputs: entities `[B, N, D]`, any N; `mask`, booleans `[B, N]`, False for entities whose pairs
    do not count (where nothing is left the output is 0).

    Outputs: `[B, U]`; with `return_attention=True` a pair of it and an empty dict.

    Raises:
        ValueError: a size that is not positive, an unknown variant, fewer than two entities for
            "paper".

    Source: Santoro et al. 2017, as the baseline of Shanahan, Nikiforou, Creswell, Kaplanis, Barrett
    and Garnelo, "An Explicitly Relational Neural Network Architecture", Section 4, Table S2;
    `docs/fidelity.md`, rows P5, P6.

    Example:

    >>> import numpy as np
    >>> RelationNet(hidden_units=6, units=4)(np.ones((2, 5, 8), "float32")).shape
    TensorShape([2, 4])
    """

    def __init__(
        self, hidden_units=256, units=640, variant="published", kernel_initializer=None, **kwargs
    ):
        super().__init__(**kwargs)
        check_positive(hidden_units=hidden_units, units=units)
        self.hidden_units = hidden_units
        self.units = units
        self.variant = check_variant(variant)
        self.kernel_initializer = kernel_or_published(kernel_initializer)

    def build(self, input_shape):
        self.hidden_weights = self.add_weight(
            name="hidden_weights",
            shape=(2 * input_shape[-1], self.hidden_units),
            initializer=self.kernel_initializer.clone(),
        )
        self.output_weights = self.add_weight(
            name="output_weights",
            shape=(self.hidden_units, self.units),
            initializer=self.kernel_initializer.clone(),
        )

    def call(self, entities, mask=None, return_attention=False):
        if self.variant == "paper" and entities.shape[1] is not None and entities.shape[1] < 2:
            raise ValueError(
                "Pairs of two entities need two of them; received shape "
                f"{tuple(entities.shape)} with variant='paper'."
            )
        sender, receiver = ops.split(ops.convert_to_tensor(self.hidden_weights), 2, axis=0)
        sent = ops.expand_dims(ops.matmul(entities, sender), 2)
        received = ops.expand_dims(ops.matmul(entities, receiver), 1)
        pairs = ops.relu(sent + received)
        # As one matrix: the gradient by V is then one product, not one for every row of pairs.
        shape = ops.shape(pairs)
        pairs = ops.matmul(ops.reshape(pairs, (-1, self.hidden_units)), self.output_weights)
        pairs = ops.reshape(ops.relu(pairs), (*shape[:3], self.units))
        outputs = self._mean(pairs, self._counted(shape[1], mask))
        return (outputs, {}) if return_attention else outputs

    def _counted(self, count, mask):
        """Which pairs count, booleans `[B or 1, N, N]`, or None for all."""
        counted = None
        if self.variant == "paper":
            place = ops.arange(count)
            counted = ops.expand_dims(ops.not_equal(place[:, None], place[None, :]), 0)
        if mask is not None:
            mask = ops.cast(mask, "bool")
            both = ops.logical_and(mask[:, :, None], mask[:, None, :])
            counted = both if counted is None else ops.logical_and(counted, both)
        return counted

    def _mean(self, pairs, counted):
        if counted is None:
            return ops.mean(pairs, axis=(1, 2))
        total = ops.sum(ops.where(counted[..., None], pairs, ops.zeros_like(pairs)), axis=(1, 2))
        # Counted in float32: half precision does not tell 2,049 pairs from 2,048.
        number = ops.sum(ops.cast(counted, "float32"), axis=(1, 2))
        return total / ops.cast(ops.maximum(number, 1), total.dtype)[:, None]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.units)

    def get_config(self):
        config = super().get_config()
        config.update(
            hidden_units=self.hidden_units,
            units=self.units,
            variant=self.variant,
            kernel_initializer=keras.initializers.serialize(self.kernel_initializer),
        )
        return config
