"""2-simplicial attention in blocks of pairs, for more triples than fit in memory."""

from keras import backend, ops

from tf_relational.ops.masking import MASKED
from tf_relational.ops.scalar_product import triple_product


def blocked_simplicial_attention(query, key1, key2, value, kernel, mask=None, block_size=32):
    r"""2-simplicial attention that never holds its N M^2 weights.

        v'_i = sum_jk softmax_jk(<p_i, l1_j, l2_k>) B(u_j (x) u_k)

    with `<a, b, c> = ||(a.b) c - (a.c) b + (b.c) a||`, for each of N queries over all ordered pairs
    (j, k) of M entities, in each head. The pairs come in blocks of `block_size` by `block_size`,
    one after the other in a loop of the backend: each block's exponentials are added to a sum that
    is scaled down whenever a block brings a higher logit, which is the softmax itself and no
    approximation of it. The gradient goes through the blocks once more and makes their weights
    anew; between the two passes only the outputs and each query's highest logit and sum are kept.

    Memory: a few tensors `[B, H, N, b, b]` for blocks of b, and those of the size of the arguments.
    (In a TensorFlow graph that XLA does not compile some ten times as many, as its loops begin up
    to ten blocks at once.) Time: O(N M^2).
    Everything is computed in float32 at least, and given in the dtype of `value`.

    Letters: B batch, N queries, M entities in pairs, H heads, D features of a head.

    Args:
        query: p, `[B, N, H, D]`.
        key1, key2: l1 and l2, `[B, M, H, D]`.
        value: u, `[B, M, H, D]`.
        kernel: the bilinear map B of every head, `[H, D, D, D]`: output, first value, second value.
        mask: booleans `[B, M]`, False for entities that no pair may contain; None for all. A query
            without any pair spreads its attention evenly over all M^2.
        block_size: b, how many first and how many second entities a block has.

    Returns:
        `[B, N, H, D]`. Its gradient is that of the plain formula: 0 through a triple product that
        is 0, never NaN. It is not meant to be differentiated twice.

    Raises:
        ValueError: `block_size` is no positive integer.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Definition 2.5 and Equation 15. The running softmax is that of Milakov and Gimelshein, "Online
    normalizer calculation for softmax", and Rabe and Staats, "Self-attention does not need O(n^2)
    memory", on pairs of keys.

    Example:

    >>> import numpy as np
    >>> entities, kernel = np.ones((1, 7, 2, 3), "float32"), np.ones((2, 3, 3, 3), "float32")
    >>> out = blocked_simplicial_attention(*[entities] * 4, kernel, block_size=4)
    >>> np.asarray(out)[0, 0].tolist()
    [[9.0, 9.0, 9.0], [9.0, 9.0, 9.0]]
    """
    check_block_size(block_size)
    dtype = ops.convert_to_tensor(value).dtype
    wide = backend.result_type(dtype, "float32")
    query, key1, key2, value, kernel = (
        ops.cast(each, wide) for each in (query, key1, key2, value, kernel)
    )
    count = ops.shape(value)[1]
    # Blocks larger than needed would be filled with padding.
    size = block_size if value.shape[1] is None else min(block_size, value.shape[1])
    floor = ops.zeros_like(value[:, :, 0, 0])
    if mask is not None:
        floor = ops.where(ops.cast(mask, "bool"), floor, ops.cast(MASKED, wide))
    outputs = _attend(
        ops.transpose(query, (0, 2, 1, 3)),
        *(_blocks(each, count, size) for each in (key1, key2, value)),
        kernel,
        _blocks(floor[:, :, None, None], count, size, padding=float("-inf")),
    )
    return ops.cast(ops.transpose(outputs, (0, 2, 1, 3)), dtype)


def check_block_size(block_size):
    """The block size, if it is a positive integer."""
    if not isinstance(block_size, int) or block_size < 1:
        raise ValueError(f"block_size is a positive integer; received {block_size!r}.")
    return block_size


def _blocks(entities, count, size, padding=0.0):
    """`[B, M, H, D]` as `[blocks, B, H, size, D]`, the last block filled up with `padding`."""
    shape = ops.shape(entities)
    number = (count + size - 1) // size
    filling = ops.full((shape[0], number * size - count, *shape[2:]), padding, entities.dtype)
    blocks = ops.concatenate([entities, filling], axis=1)
    blocks = ops.reshape(blocks, (shape[0], number, size, *shape[2:]))
    return ops.transpose(blocks, (1, 0, 3, 2, 4))


@ops.custom_gradient
def _attend(query, key1, key2, value, kernel, floor):
    """The attention on queries `[B, H, N, D]` and blocks `[blocks, B, H, b, D]`.

    `floor` `[blocks, B, 1, b, 1]` is 0 for entities that may be attended to. Below 0 it is the
    logit of every pair with that entity in it: `MASKED`, or minus infinity for padding.

    Returns:
        The outputs `[B, H, N, D]`, and the function from their gradient to those of the arguments.
    """
    number = ops.shape(key1)[0]

    def block(index):
        """The keys, the values and the floor of the pairs of one block, and where they stand."""
        j, k = index // number, index % number
        lowest = ops.minimum(floor[j], ops.swapaxes(floor[k], -1, -2))
        return (j, k), (key1[j], key2[k]), (value[j], value[k]), lowest[:, :, None]

    def forward(index, running):
        highest, total, outputs = running
        _, keys, values, lowest = block(index)
        logits = _logits(_dot_products(query, *keys), lowest)
        higher = ops.maximum(highest, ops.max(logits, axis=(-2, -1)))
        shrink = ops.exp(highest - higher)
        powers = ops.exp(logits - higher[..., None, None])
        total = total * shrink + ops.sum(powers, axis=(-2, -1))
        messages = ops.einsum("bhnjk,bhjkq->bhnq", powers, _products(*values, kernel)[1])
        return higher, total, outputs * shrink[..., None] + messages

    zeros = ops.zeros_like(query[..., 0])
    # Only padding lies below MASKED, and no block is padding alone.
    start = zeros + MASKED, zeros, ops.zeros_like(query)
    highest, total, outputs = ops.fori_loop(0, number * number, forward, start)
    outputs = outputs / total[..., None]

    def gradient(*received, upstream=None):
        # The backends do not agree on how they hand it over.
        upstream = received[-1] if upstream is None else upstream
        mean = ops.sum(upstream * outputs, axis=-1)[..., None, None]

        def backward(index, sums):
            (j, k), keys, values, lowest = block(index)
            dots = _dot_products(query, *keys)
            logits = _logits(dots, lowest)
            weights = ops.exp(logits - highest[..., None, None]) / total[..., None, None]
            halves, products = _products(*values, kernel)
            by_products = ops.einsum("bhnjk,bhnq->bhjkq", weights, upstream)
            by_weights = ops.einsum("bhnq,bhjkq->bhnjk", upstream, products)
            by_logits = weights * (by_weights - mean)
            by_query, by_key1, by_key2 = _keys_gradient(by_logits, logits, dots, query, *keys)
            by_first, by_second, by_kernel = _values_gradient(by_products, halves, *values, kernel)
            return (
                sums[0] + by_query,
                _add_block(sums[1], j, by_key1),
                _add_block(sums[2], k, by_key2),
                _add_block(_add_block(sums[3], j, by_first), k, by_second),
                sums[4] + by_kernel,
            )

        start = [ops.zeros_like(each) for each in (query, key1, key2, value, kernel)]
        sums = ops.fori_loop(0, number * number, backward, tuple(start))
        return *sums, ops.zeros_like(floor)

    return outputs, gradient


def _dot_products(query, key1, key2):
    """What `triple_product` takes, in shapes that broadcast to `[B, H, N, b, b]`."""
    query_key1 = ops.einsum("bhnd,bhjd->bhnj", query, key1)
    key1_key2 = ops.einsum("bhjd,bhkd->bhjk", key1, key2)
    query_key2 = ops.einsum("bhnd,bhkd->bhnk", query, key2)
    squares = (ops.sum(ops.square(each), axis=-1) for each in (query, key1, key2))
    query_query, key1_key1, key2_key2 = squares
    return (
        query_key1[..., None],
        key1_key2[:, :, None],
        query_key2[..., None, :],
        query_query[..., None, None],
        key1_key1[:, :, None, :, None],
        key2_key2[:, :, None, None, :],
    )


def _logits(dots, lowest):
    return ops.where(lowest < 0, lowest, triple_product(*dots))


def _keys_gradient(by_logits, logits, dots, query, key1, key2):
    """From the gradient by the logits to that by the three vectors of their triple products.

    `<a, b, c>` squared is a polynomial of the dot products; its slope by `a.b` is
    `2 ((a.b) (c.c) - (a.c) (b.c))`, by `a.a` it is `(b.c)^2`, and so on round.
    """
    ab, bc, ac, aa, bb, cc = dots
    # Logits of 0 have no slope, and masked ones are below.
    positive = logits > 0
    slope = ops.where(positive, by_logits / ops.where(positive, logits, 1.0), 0.0)
    by_ab = ops.sum(slope * (ab * cc - ac * bc), axis=-1)
    by_ac = ops.sum(slope * (ac * bb - ab * bc), axis=-2)
    by_bc = ops.sum(slope * (bc * aa - ab * ac), axis=-3)
    by_aa = ops.sum(slope * ops.square(bc), axis=(-2, -1))
    by_bb = ops.sum(slope * ops.square(ac), axis=(-3, -1))
    by_cc = ops.sum(slope * ops.square(ab), axis=(-3, -2))
    by_query = ops.matmul(by_ab, key1) + ops.matmul(by_ac, key2) + by_aa[..., None] * query
    by_key1 = (
        ops.einsum("bhnj,bhnd->bhjd", by_ab, query)
        + ops.matmul(by_bc, key2)
        + by_bb[..., None] * key1
    )
    by_key2 = (
        ops.einsum("bhnk,bhnd->bhkd", by_ac, query)
        + ops.einsum("bhjk,bhjd->bhkd", by_bc, key1)
        + by_cc[..., None] * key2
    )
    return by_query, by_key1, by_key2


def _products(first, second, kernel):
    """B on the second values alone, `[B, H, D, b, D]`, and on all pairs, `[B, H, b, b, D]`."""
    halves = ops.einsum("bhks,hqrs->bhrkq", second, kernel)
    return halves, ops.einsum("bhjr,bhrkq->bhjkq", first, halves)


def _values_gradient(by_products, halves, first, second, kernel):
    """From the gradient by the products to that by both values and the kernel."""
    by_halves = ops.einsum("bhjkq,bhjr->bhrkq", by_products, first)
    return (
        ops.einsum("bhjkq,bhrkq->bhjr", by_products, halves),
        ops.einsum("bhrkq,hqrs->bhks", by_halves, kernel),
        ops.einsum("bhrkq,bhks->hqrs", by_halves, second),
    )


def _add_block(total, index, block):
    """`total` with `block` added at `index`, without a scatter, which is slow where it compiles."""
    here = ops.cast(ops.equal(ops.arange(ops.shape(total)[0]), index), total.dtype)
    return total + ops.reshape(here, (-1, 1, 1, 1, 1)) * block
