"""1-simplicial attention: the Transformer's, with virtual entities."""

import functools

import keras
from keras import ops

from tf_relational.layers.entity_layer import (
    EntityLayer,
    check_heads,
    check_variant,
    split_virtual,
)
from tf_relational.ops.masking import mask_logits


@keras.saving.register_keras_serializable(package="tf_relational")
class RelationalAttention(EntityLayer):
    r"""Multi-head dot-product attention between entities, and from virtual entities to all.

    Every entity `e_i` gives a query, a key and a value `(q_i, k_i, v_i) = e_i W`, and becomes

        v'_i = sum_j softmax_j(q_i . k_j / sqrt(D / H)) v_j

    in each head; heads stand side by side in the output. There is no bias and no projection after.
    The last `num_virtual` entities of the input are *virtual*: standard entities attend to standard
    entities only, virtual entities to all, themselves included. So the virtual ones read from the
    board and nothing reads from them here.

    Letters: B batch, N standard entities, M virtual entities, H heads, D features.

    Args:
        num_heads: H, which must divide D.
        num_virtual: M; 0 is the relational agent's plain attention.
        variant: "published" divides the logits by `sqrt(D / H)` as the authors' code does;
            "paper" does not, as Equation 4 has it.
        kernel_initializer: of `qkv_weights`.

    Weights:
        qkv_weights: `[D, 3 D]`, the columns of queries, keys and values (`W^Q`, `W^K`, `W^V`), each
            head after head.

    Inputs: entities `[B, N + M, D]`; `mask`, booleans `[B, N + M]`, False for entities that nobody
    may attend to (their own outputs are computed all the same; an entity left with nothing to
    attend to spreads its attention evenly).

    Outputs: `[B, N + M, D]`; with `return_attention=True` a pair of it and the dict `standard`
    `[B, H, N, N]` (query, key) and, if M > 0, `virtual` `[B, H, M, N + M]`.

    Raises:
        ValueError: H does not divide D, fewer than M + 1 entities, an unknown variant.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Equations 4, 7, 18, 19; where code and text differ, `docs/fidelity.md`, row L1.

    Example:

    >>> import numpy as np
    >>> layer = RelationalAttention(num_heads=2)
    >>> out, attention = layer(np.ones((1, 5, 8), "float32"), return_attention=True)
    >>> out.shape, attention["standard"].shape
    (TensorShape([1, 5, 8]), TensorShape([1, 2, 5, 5]))
    """

    def __init__(
        self,
        num_heads=2,
        num_virtual=0,
        variant="published",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_virtual = num_virtual
        self.variant = check_variant(variant)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, input_shape):
        features = input_shape[-1]
        check_heads(self.num_heads, features, "the input's features")
        self.qkv_weights = self.add_weight(
            name="qkv_weights",
            shape=(features, 3 * features),
            initializer=self.kernel_initializer,
        )

    def call(self, entities, mask=None, return_attention=False):
        if not self.num_virtual:
            outputs, _, attention = self.attend(entities, mask=mask)
        else:
            standard, virtual = split_virtual(entities, self.num_virtual)
            masks = (None, None)
            if mask is not None:
                masks = (mask[:, : -self.num_virtual], mask[:, -self.num_virtual :])
            *outputs, attention = self.attend(standard, virtual, *masks)
            outputs = ops.concatenate(outputs, axis=1)
        return (outputs, attention) if return_attention else outputs

    def attend(self, standard, virtual=None, mask=None, virtual_mask=None):
        """The same on standard and virtual entities that come as two tensors.

        Blocks use it so that nothing is split and joined between iterations.

        Args:
            standard: `[B, N, D]`.
            virtual: `[B or 1, M, D]` or None; a batch of 1 holds for every example.
            mask: booleans `[B, N]` or None.
            virtual_mask: booleans `[B, M]` or None.

        Returns:
            Outputs of the standard entities `[B, N, D]`, of the virtual ones `[B, M, D]` (None
            without them) and the attention dict.
        """
        query, key, value = self._project(standard)
        logits = mask_logits(self._logits(query, key), mask)
        outputs, weights = self._attend([logits], [value])
        attention = {"standard": weights}
        if virtual is None:
            return outputs, None, attention
        virtual_query, virtual_key, virtual_value = (
            ops.broadcast_to(part, (ops.shape(standard)[0], *ops.shape(part)[1:]))
            for part in self._project(virtual)
        )
        logits = [
            mask_logits(self._logits(virtual_query, key), mask),
            mask_logits(self._logits(virtual_query, virtual_key), virtual_mask),
        ]
        virtual_outputs, attention["virtual"] = self._attend(logits, [value, virtual_value])
        return outputs, virtual_outputs, attention

    def _project(self, entities):
        """Queries (scaled), keys and values `[B, entities, H, D / H]` each."""
        shape = ops.shape(entities)
        head = shape[2] // self.num_heads
        # Split, not sliced: its gradient is one concatenation, not a sum of padded tensors.
        query, key, value = (
            ops.reshape(part, (shape[0], shape[1], self.num_heads, head))
            for part in ops.split(ops.matmul(entities, self.qkv_weights), 3, axis=-1)
        )
        if self.variant == "published":
            query = query * head**-0.5
        return query, key, value

    def _logits(self, query, key):
        logits = ops.einsum("bnhd,bmhd->bhnm", query, key)
        return ops.cast(logits, keras.backend.result_type(logits.dtype, "float32"))

    def _attend(self, logits, values):
        """Softmax over keys that come in parts, and the weighted sums of their values.

        The division by the softmax's denominator is left to the end: it is then of the outputs,
        which are smaller than the weights, and so are the reductions of its gradient.

        Args:
            logits: list of `[B, H, queries, keys]`.
            values: list of `[B, keys, H, D / H]`, for the same keys.

        Returns:
            Outputs `[B, queries, D]` and weights `[B, H, queries, all keys]`.
        """
        highest = [ops.max(part, axis=-1, keepdims=True) for part in logits]
        highest = ops.stop_gradient(functools.reduce(ops.maximum, highest))
        powers = [ops.exp(part - highest) for part in logits]
        total = sum(ops.sum(part, axis=-1, keepdims=True) for part in powers)
        sums = sum(
            ops.einsum("bhnm,bmhd->bnhd", ops.cast(part, self.compute_dtype), value)
            for part, value in zip(powers, values, strict=True)
        )
        outputs = sums / ops.cast(ops.transpose(total, (0, 2, 1, 3)), self.compute_dtype)
        shape = ops.shape(outputs)
        outputs = ops.reshape(outputs, (shape[0], shape[1], shape[2] * shape[3]))
        joined = powers[0] if len(powers) == 1 else ops.concatenate(powers, axis=-1)
        return outputs, ops.cast(joined / total, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            num_heads=self.num_heads,
            num_virtual=self.num_virtual,
            variant=self.variant,
            kernel_initializer=keras.initializers.serialize(self.kernel_initializer),
        )
        return config
