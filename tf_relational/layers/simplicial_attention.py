"""2-simplicial attention: from every entity to pairs of virtual entities."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import (
    EntityLayer,
    check_heads,
    check_variant,
    split_virtual,
)
from tf_relational.ops.blocked_attention import (
    blocked_simplicial_attention,
    check_block_size,
)
from tf_relational.ops.contraction import shared_einsum
from tf_relational.ops.masking import mask_logits
from tf_relational.ops.scalar_product import triple_product


@keras.saving.register_keras_serializable(package="tf_relational")
class SimplicialAttention(EntityLayer):
    r"""Attention whose logits are triple products and whose messages are products of two values.

    Every entity gives a query, two keys and a value `(p_i, l1_i, l2_i, u_i) = e_i W`. Standard
    entity i attends to the ordered pairs (j, k) of virtual entities, j = k included:

        v'_i = sum_jk softmax_jk(<p_i, l1_j, l2_k>) B(u_j (x) u_k)

    with `<a, b, c> = ||(a.b) c - (a.c) b + (b.c) a||` and a learned bilinear map B, in each head;
    heads stand side by side. There is no scale. The outputs of virtual entities are their own
    values `u_i`. With `num_virtual=0` there are none, and j and k run over all entities.

    The logits come from the pairwise dot products, and B is applied to the M^2 pairs of values
    once, not once for every query: the cost is O(N M^2) and no tensor grows faster
    than the logits `[B, H, N, M, M]`. With `block_size=b` those are never held either: the pairs
    come in blocks of b by b (`ops.blocked_simplicial_attention`), in the forward and again in the
    backward pass, and memory grows with N b^2. The numbers are the same but for rounding.

    Letters: B batch, N standard entities, M virtual entities, H heads, D features, S
    `simplicial_dim`.

    Args:
        simplicial_dim: S, the size of queries, keys and values of all heads together.
        num_heads: H, which must divide S. (The authors' code has one head; several are the
            paper's direct sum over heads.)
        num_virtual: M, how many of the last entities of the input are virtual; 0 for the attention
            over all pairs of entities (Equation 15), which costs O(N^3).
        variant: "published" divides by the sum over pairs of virtual entities, as the authors' code
            does. "paper" takes the denominator of Equation 18 at its word, over all pairs of all
            N + M entities, so that the weights of a query sum to less than one. That costs
            O(N (N + M)^2), against the paper's own O(N M^2); and where a layer normalisation
            follows, as in `SimplicialBlock`, a factor common to a query's weights changes nothing
            but the part that the normalisation's epsilon plays.
        kernel_initializer: of both weights.
        block_size: b, how many first and how many second entities a block of pairs has; None for
            all pairs at once.

    Weights:
        qkkv_weights: `[D, 4 S]`, the columns of queries, first keys, second keys and values
            (`W^P`, `W^L1`, `W^L2`, `W^U`), each head after head.
        B_weight: `[S, S / H, S / H]`, the map B of every head: output (head after head), first
            value, second value.

    Inputs: entities `[B, N + M, D]`; `mask`, booleans `[B, N + M]`, False for entities that nobody
    may attend to (a query left with nothing to attend to spreads its attention evenly).

    Outputs: `[B, N + M, S]`; with `return_attention=True` a pair of it and the dict `simplicial`
    `[B, H, N, M, M]` (query i, first j, second k). In blocks there is no such tensor, so that
    `return_attention=True` is an error there; a layer without `block_size` and with the same
    weights tells it.

    Raises:
        ValueError: H does not divide S, fewer than M + 1 entities, an unknown variant, a
            `block_size` that is no positive integer, the attention of a layer with `block_size`.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Definition 2.5, Equations 9, 11, 15, 18, 19; `docs/fidelity.md`, rows L1, L3, L10.

    Example:

    >>> import numpy as np
    >>> layer = SimplicialAttention(simplicial_dim=6, num_virtual=2)
    >>> out, attention = layer(np.ones((1, 7, 8), "float32"), return_attention=True)
    >>> out.shape, attention["simplicial"].shape
    (TensorShape([1, 7, 6]), TensorShape([1, 1, 5, 2, 2]))
    >>> SimplicialAttention(simplicial_dim=6, block_size=4)(np.ones((1, 9, 8), "float32")).shape
    TensorShape([1, 9, 6])
    """

    def __init__(
        self,
        simplicial_dim=48,
        num_heads=1,
        num_virtual=0,
        variant="published",
        kernel_initializer="glorot_uniform",
        block_size=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.simplicial_dim = simplicial_dim
        self.num_heads = num_heads
        self.num_virtual = num_virtual
        self.variant = check_variant(variant)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.block_size = block_size if block_size is None else check_block_size(block_size)
        self.head_dim = check_heads(num_heads, simplicial_dim, "simplicial_dim")

    def build(self, input_shape):
        size, head = self.simplicial_dim, self.head_dim
        self.qkkv_weights = self.add_weight(
            name="qkkv_weights",
            shape=(input_shape[-1], 4 * size),
            initializer=self.kernel_initializer,
        )
        self.B_weight = self.add_weight(
            name="B_weight",
            shape=(size, head, head),
            initializer=self.kernel_initializer.clone(),
        )

    def call(self, entities, mask=None, return_attention=False):
        if return_attention and self.block_size is not None:
            raise ValueError(
                "The attention is never held as a whole in blocks: return_attention=True takes a "
                f"layer with block_size=None; received block_size={self.block_size}."
            )
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
            Outputs of the standard entities `[B, N, S]`, of the virtual ones `[B or 1, M, S]` (None
            without them) and the attention dict, which is empty with `block_size`.
        """
        size = self.simplicial_dim
        paired, pair_mask = (standard, mask) if virtual is None else (virtual, virtual_mask)
        query = self._heads(ops.matmul(standard, self.qkkv_weights[:, :size]))
        key1, key2, value = self._keys_and_values(paired)
        virtual_outputs = None if virtual is None else self._side_by_side(value)
        if self.block_size is not None:
            if self.variant == "paper" and virtual is not None:
                paired, pair_mask = self._join(standard, virtual, mask, virtual_mask)
                key1, key2, _ = self._keys_and_values(paired)
                # Pairs with a standard entity count, and say nothing: B is 0 where a value is.
                nothing = ops.zeros_like(query[: ops.shape(value)[0]])
                value = ops.concatenate([nothing, value], axis=1)
            outputs = self._in_blocks(query, key1, key2, value, pair_mask)
            return self._side_by_side(outputs), virtual_outputs, {}
        logits = mask_logits(self._logits(query, key1, key2), pair_mask, axes=(-2, -1))
        every_logit = logits
        if self.variant == "paper" and virtual is not None:
            every_logit = self._logits_of_all(query, standard, virtual, mask, virtual_mask)
        weights = self._softmax(logits, every_logit)
        outputs = self._side_by_side(
            shared_einsum("bhnjk,bjkhq->bnhq", weights, self._products(value))
        )
        return outputs, virtual_outputs, {"simplicial": weights}

    def _keys_and_values(self, entities):
        projected = ops.matmul(entities, self.qkkv_weights[:, self.simplicial_dim :])
        # Split, not sliced: see RelationalAttention.
        return [self._heads(part) for part in ops.split(projected, 3, axis=-1)]

    def _heads(self, projected):
        """`[B, entities, S]` as `[B, entities, H, S / H]`."""
        shape = ops.shape(projected)
        return ops.reshape(projected, (shape[0], shape[1], self.num_heads, self.head_dim))

    def _side_by_side(self, heads):
        """`[B, entities, H, S / H]` as `[B, entities, S]`."""
        shape = ops.shape(heads)
        return ops.reshape(heads, (shape[0], shape[1], self.simplicial_dim))

    def _logits(self, query, key1, key2):
        """The triple products `[B, H, N, M, M]`."""
        # Products of three vectors and their squares leave the range of half precision.
        wide = keras.backend.result_type(query.dtype, "float32")
        query, key1, key2 = (ops.cast(part, wide) for part in (query, key1, key2))
        query_key1 = shared_einsum("bnhd,bjhd->bhnj", query, key1)[..., :, None]
        query_key2 = shared_einsum("bnhd,bkhd->bhnk", query, key2)[..., None, :]
        key1_key2 = ops.einsum("bjhd,bkhd->bhjk", key1, key2)[:, :, None]
        query_query, key1_key1, key2_key2 = (
            ops.transpose(ops.sum(ops.square(part), axis=-1), (0, 2, 1))
            for part in (query, key1, key2)
        )
        return triple_product(
            query_key1,
            key1_key2,
            query_key2,
            query_query[..., None, None],
            key1_key1[:, :, None, :, None],
            key2_key2[:, :, None, None, :],
        )

    def _logits_of_all(self, query, standard, virtual, mask, virtual_mask):
        """The triple products with all entities' keys, `[B, H, N, N + M, N + M]`."""
        entities, mask = self._join(standard, virtual, mask, virtual_mask)
        key1, key2, _ = self._keys_and_values(entities)
        return mask_logits(self._logits(query, key1, key2), mask, axes=(-2, -1))

    def _join(self, standard, virtual, mask, virtual_mask):
        """All entities `[B, N + M, D]` and their mask, None if no entity is masked."""
        batch, count = ops.shape(standard)[0], ops.shape(virtual)[1]
        virtual = ops.broadcast_to(virtual, (batch, count, ops.shape(virtual)[2]))
        if mask is not None or virtual_mask is not None:
            if mask is None:
                mask = ops.ones((batch, ops.shape(standard)[1]), "bool")
            if virtual_mask is None:
                virtual_mask = ops.ones((batch, count), "bool")
            mask = ops.concatenate([mask, virtual_mask], axis=1)
        return ops.concatenate([standard, virtual], axis=1), mask

    def _softmax(self, logits, every_logit):
        """Exponentials of `logits` over the sum of those of `every_logit`, by query."""
        highest = ops.stop_gradient(ops.max(every_logit, axis=(-2, -1), keepdims=True))
        total = ops.sum(ops.exp(every_logit - highest), axis=(-2, -1), keepdims=True)
        return ops.cast(ops.exp(logits - highest) / total, self.compute_dtype)

    def _in_blocks(self, query, key1, key2, value, mask):
        """The outputs `[B, N, H, S / H]`, block after block of pairs."""
        batch = ops.shape(query)[0]
        keys_and_value = (
            ops.broadcast_to(each, (batch, *ops.shape(each)[1:])) for each in (key1, key2, value)
        )
        return blocked_simplicial_attention(
            query, *keys_and_value, self._kernel(), mask, self.block_size
        )

    def _products(self, value):
        """`B(u_j (x) u_k)` for all pairs: `[B, M, M, H, S / H]`."""
        # One value at a time: O(M S^3) with one head, where all pairs at once would be O(M^2 S^3).
        halves = ops.einsum("bkhs,hqrs->bkhrq", value, self._kernel())
        return ops.einsum("bjhr,bkhrq->bjkhq", value, halves)

    def _kernel(self):
        return ops.reshape(self.B_weight, (self.num_heads, *[self.head_dim] * 3))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.simplicial_dim)

    def get_config(self):
        config = super().get_config()
        config.update(
            simplicial_dim=self.simplicial_dim,
            num_heads=self.num_heads,
            num_virtual=self.num_virtual,
            variant=self.variant,
            kernel_initializer=keras.initializers.serialize(self.kernel_initializer),
            block_size=self.block_size,
        )
        return config
