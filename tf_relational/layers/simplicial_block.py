"""The simplicial agent's Transformer block."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import EntityLayer
from tf_relational.layers.relational_attention import RelationalAttention
from tf_relational.layers.relational_block import EPSILON
from tf_relational.layers.simplicial_attention import SimplicialAttention


@keras.saving.register_keras_serializable(package="tf_relational")
class SimplicialBlock(EntityLayer):
    """A 2-simplicial Transformer block, applied `iterations` times with one set of weights.

    The block adds M learned virtual entities to the N it is given, maps all e to e' `iterations`
    times and drops the virtual ones again. `attention1` (1-simplicial), `attention2`
    (2-simplicial), `dense1` (ReLU) and `dense2` (linear) are the same in every iteration; the layer
    normalisations are each iteration's own:

        x = norm_in(e)
        a = [attention1(x), norm_simplicial(attention2(x))]
        e' = norm_out(e + dense2(relu(dense1(a))))

    `norm_simplicial` acts on all rows, the virtual entities' own values among them.

    Letters: B batch, N entities, M virtual entities, H heads, D features.

    Args:
        num_heads: H of the 1-simplicial attention, which must divide D.
        simplicial_dim: size of the 2-simplicial queries, keys and values, all heads together.
        num_simplicial_heads: heads of the 2-simplicial attention, which must divide
            `simplicial_dim`.
        num_virtual: M, at least 1.
        iterations: how often the block is applied.
        variant: of both attentions, "published" or "paper" (see there).

    Weights: those of its layers, and `virtual_entities` `[M, D]`, uniform within 0.05 of 0 at the
    start.

    Inputs: entities `[B, N, D]`; `mask`, booleans `[B, N]`, False for entities that no other may
    attend to.

    Outputs: `[B, N, D]`; with `return_attention=True` a pair of it and the dict, for every
    iteration i, `block_i/standard` `[B, H, N, N]`, `block_i/virtual` `[B, H, M, N + M]` and
    `block_i/simplicial` `[B, simplicial heads, N, M, M]`.

    Raises:
        ValueError: heads that do not divide their features, no virtual entity, unknown variant.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Equations 17 to 19, Section 4.2, Remarks 4.1 and 4.2; `docs/fidelity.md`, row L2.

    Example:

    >>> import numpy as np
    >>> block = SimplicialBlock(num_heads=2, simplicial_dim=6, num_virtual=3, iterations=1)
    >>> out, attention = block(np.ones((1, 5, 8), "float32"), return_attention=True)
    >>> out.shape, sorted(attention)
    (TensorShape([1, 5, 8]), ['block_0/simplicial', 'block_0/standard', 'block_0/virtual'])
    """

    def __init__(
        self,
        num_heads=2,
        simplicial_dim=48,
        num_simplicial_heads=1,
        num_virtual=2,
        iterations=2,
        variant="published",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if num_virtual < 1:
            raise ValueError(f"num_virtual is at least 1; received {num_virtual}.")
        self.num_heads = num_heads
        self.simplicial_dim = simplicial_dim
        self.num_simplicial_heads = num_simplicial_heads
        self.num_virtual = num_virtual
        self.iterations = iterations
        self.variant = variant
        self.attention1 = RelationalAttention(
            num_heads, num_virtual, variant, dtype=self.dtype_policy, name="attention1"
        )
        self.attention2 = SimplicialAttention(
            simplicial_dim,
            num_simplicial_heads,
            num_virtual,
            variant,
            dtype=self.dtype_policy,
            name="attention2",
        )
        self.norms_in = self.make_norms("norm_in")
        self.norms_simplicial = self.make_norms("norm_simplicial")
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
        self.virtual_entities = self.add_weight(
            name="virtual_entities",
            shape=(self.num_virtual, features),
            initializer=keras.initializers.RandomUniform(-0.05, 0.05),
        )
        self.dense1 = keras.layers.Dense(
            features, activation="relu", dtype=self.dtype_policy, name="dense1"
        )
        self.dense2 = keras.layers.Dense(features, dtype=self.dtype_policy, name="dense2")
        self.dense1.build((*input_shape[:-1], features + self.simplicial_dim))
        for layer in (self.attention1, self.attention2, self.dense2):
            layer.build(input_shape)
        for layer in (*self.norms_in, *self.norms_out):
            layer.build(input_shape)
        for layer in self.norms_simplicial:
            layer.build((*input_shape[:-1], self.simplicial_dim))

    def call(self, entities, mask=None, return_attention=False):
        # A batch of 1: until they have read from the board they are the same in every example.
        virtual = ops.convert_to_tensor(self.virtual_entities)[None]
        attention = {}
        for iteration in range(self.iterations):
            normed = self.norms_in[iteration](entities), self.norms_in[iteration](virtual)
            *first, seen1 = self.attention1.attend(*normed, mask)
            *second, seen2 = self.attention2.attend(*normed, mask)
            for name, weights in {**seen1, **seen2}.items():
                attention[f"block_{iteration}/{name}"] = weights
            entities, virtual = (
                self._update(iteration, *parts)
                for parts in zip((entities, virtual), first, second, strict=True)
            )
        return (entities, attention) if return_attention else entities

    def _update(self, iteration, entities, attended, simplicial):
        normed = self.norms_simplicial[iteration](simplicial)
        normed = ops.broadcast_to(normed, (*ops.shape(attended)[:2], self.simplicial_dim))
        joined = ops.concatenate([attended, normed], axis=-1)
        update = self.dense2(self.dense1(joined))
        return self.norms_out[iteration](entities + update)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            num_heads=self.num_heads,
            simplicial_dim=self.simplicial_dim,
            num_simplicial_heads=self.num_simplicial_heads,
            num_virtual=self.num_virtual,
            iterations=self.iterations,
            variant=self.variant,
        )
        return config
