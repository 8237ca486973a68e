"""The multi-head attention baseline of the PrediNet paper."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import VectorLayer, check_positive, fixed_entities
from tf_relational.layers.predinet_initializers import kernel_initializer as kernel_or_published
from tf_relational.ops.masking import mask_logits, zero_masked


@keras.saving.register_keras_serializable(package="tf_relational")
class MHA(VectorLayer):
    """Dot-product attention between entities, summed over them with learned weights.

    In head h every entity gives a query, a key and a value, and

        output_h = sum_n w_hn sum_m softmax_m(q_n . k_m) v_m

    where the weights `w_hn` are learned for each place n and do not depend on the input. The heads
    stand side by side in the output. The softmax has no scale; there is no bias.

    Letters: B batch, N entities, D features, H heads, K key size, V value size.

    Args:
        num_heads: H.
        key_size: K.
        value_size: V.
        kernel_initializer: of all weights; None for the published truncated normal of deviation
            0.1.

    Weights:
        query_weights, key_weights: `[D, H K]`, head after head.
        value_weights: `[D, H V]`, head after head.
        position_weights: `[H, 1, N]` (w).

    Inputs: entities `[B, N, D]`, N fixed by the weights; `mask`, booleans `[B, N]`, False for
    entities that nobody may attend to and whose own sums are left out.

    Outputs: `[B, H V]`; with `return_attention=True` a pair of it and the dict `standard`
    `[B, H, N, N]` (query, key).

    Raises:
        ValueError: a size that is not positive, N or D that is not known or not the one the layer
            was built for.

    Source: Shanahan, Nikiforou, Creswell, Kaplanis, Barrett and Garnelo, "An Explicitly Relational
    Neural Network Architecture", Section 4, Table S2; `docs/fidelity.md`, rows P4, P6, P9.

    Example:

    >>> import numpy as np
    >>> layer = MHA(num_heads=4, value_size=7)
    >>> out, attention = layer(np.ones((2, 25, 8), "float32"), return_attention=True)
    >>> out.shape, attention["standard"].shape
    (TensorShape([2, 28]), TensorShape([2, 4, 25, 25]))
    """

    def __init__(self, num_heads=32, key_size=16, value_size=20, kernel_initializer=None, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads, key_size=key_size, value_size=value_size)
        self.num_heads = num_heads
        self.key_size = key_size
        self.value_size = value_size
        self.kernel_initializer = kernel_or_published(kernel_initializer)

    def build(self, input_shape):
        count, features = self.entities_shape = fixed_entities(input_shape)
        shapes = {
            "query_weights": (features, self.num_heads * self.key_size),
            "key_weights": (features, self.num_heads * self.key_size),
            "value_weights": (features, self.num_heads * self.value_size),
            "position_weights": (self.num_heads, 1, count),
        }
        for name, shape in shapes.items():
            initializer = self.kernel_initializer.clone()
            setattr(self, name, self.add_weight(name=name, shape=shape, initializer=initializer))

    def call(self, entities, mask=None, return_attention=False):
        count, _ = fixed_entities(entities.shape, self.entities_shape)
        queries, keys, values = (
            ops.reshape(ops.matmul(entities, weights), (-1, count, self.num_heads, size))
            for weights, size in (
                (self.query_weights, self.key_size),
                (self.key_weights, self.key_size),
                (self.value_weights, self.value_size),
            )
        )
        logits = ops.einsum("bnhk,bmhk->bhnm", queries, keys)
        logits = ops.cast(logits, keras.backend.result_type(logits.dtype, "float32"))
        attention = ops.softmax(mask_logits(logits, mask), axis=-1)
        # The weights of the places go to the attention before the values, which spares a tensor of
        # every entity's own sum.
        seen = ops.cast(attention, self.compute_dtype)
        if mask is not None:
            seen = ops.transpose(zero_masked(ops.transpose(seen, (0, 2, 1, 3)), mask), (0, 2, 1, 3))
        shares = ops.einsum("hon,bhnm->bhm", ops.convert_to_tensor(self.position_weights), seen)
        outputs = ops.einsum("bhm,bmhv->bhv", shares, values)
        outputs = ops.reshape(outputs, (-1, self.num_heads * self.value_size))
        return (outputs, {"standard": attention}) if return_attention else outputs

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.num_heads * self.value_size)

    def get_config(self):
        config = super().get_config()
        config.update(
            num_heads=self.num_heads,
            key_size=self.key_size,
            value_size=self.value_size,
            kernel_initializer=keras.initializers.serialize(self.kernel_initializer),
        )
        return config
