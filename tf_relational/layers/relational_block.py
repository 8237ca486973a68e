"""The relational agent's Transformer block."""

import keras

from tf_relational.layers.entity_layer import EntityLayer
from tf_relational.layers.relational_attention import RelationalAttention

EPSILON = 1e-5


@keras.saving.register_keras_serializable(package="tf_relational")
class RelationalBlock(EntityLayer):
    """A Transformer block, applied `iterations` times with one set of weights.

    One iteration maps entities e to e', where `attention1`, `dense1` (ReLU) and `dense2` (linear)
    are the same in every iteration and the layer normalisations are each iteration's own:

        a = attention1(norm_in(e))
        e' = norm_out(e + dense2(relu(dense1(a))))

    Letters: B batch, N entities, H heads, D features.

    Args:
        num_heads: H of the 1-simplicial attention, which must divide D.
        iterations: how often the block is applied.
        variant: of the attention, "published" or "paper" (see `RelationalAttention`).

    Inputs: entities `[B, N, D]`; `mask`, booleans `[B, N]`, False for entities that no other may
    attend to.

    Outputs: `[B, N, D]`; with `return_attention=True` a pair of it and the dict
    `block_<iteration>/standard` `[B, H, N, N]`.

    Raises:
        ValueError: H does not divide D, or an unknown variant.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Equation 7, Section 4.2, Remark 4.2; `docs/fidelity.md`, row L2.

    Example:

    >>> import numpy as np
    >>> block = RelationalBlock(num_heads=2, iterations=2)
    >>> out, attention = block(np.ones((1, 5, 8), "float32"), return_attention=True)
    >>> out.shape, sorted(attention)
    (TensorShape([1, 5, 8]), ['block_0/standard', 'block_1/standard'])
    """

    def __init__(self, num_heads=2, iterations=2, variant="published", **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.iterations = iterations
        self.variant = variant
        self.attention1 = RelationalAttention(
            num_heads, variant=variant, dtype=self.dtype_policy, name="attention1"
        )
        self.norms_in = self.make_norms("norm_in")
        self.norms_out = self.make_norms("norm_out")

    def make_norms(self, name):
        """One layer normalisation for each iteration."""
        return [
            keras.layers.LayerNormalization(
                epsilon=EPSILON, dtype=self.dtype_policy, name=f"{name}_{iteration}"
            )
            for iteration in range(self.iterations)
        ]

    def build(self, input_shape):
        input_shape = tuple(input_shape)
        features = input_shape[-1]
        self.attention1.build(input_shape)
        self.dense1 = keras.layers.Dense(
            features, activation="relu", dtype=self.dtype_policy, name="dense1"
        )
        self.dense2 = keras.layers.Dense(features, dtype=self.dtype_policy, name="dense2")
        for layer in (self.dense1, self.dense2, *self.norms_in, *self.norms_out):
            layer.build(input_shape)

    def call(self, entities, mask=None, return_attention=False):
        attention = {}
        for iteration in range(self.iterations):
            attended, _, seen = self.attention1.attend(
                self.norms_in[iteration](entities), mask=mask
            )
            attention[f"block_{iteration}/standard"] = seen["standard"]
            update = self.dense2(self.dense1(attended))
            entities = self.norms_out[iteration](entities + update)
        return (entities, attention) if return_attention else entities

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        config = super().get_config()
        config.update(num_heads=self.num_heads, iterations=self.iterations, variant=self.variant)
        return config
