"""The k-fold unsigned scalar product of Clifford algebra."""

from keras import ops


def safe_sqrt(x):
    """Square root that is 0, with gradient 0, wherever its argument is not positive.

    The square root's slope is infinite at 0, and rounding can push a radicand that is 0 on paper
    below it, where the root is NaN. Both places give 0 here; every positive argument keeps its
    exact root and slope. The argument is replaced *inside* the root as well, because a gradient
    that is selected away after an infinite slope is still `0 * inf = NaN`.

    Args:
        x: float tensor of any shape.

    Returns:
        A tensor of the same shape and dtype.
    """
    positive = x > 0
    return ops.where(positive, ops.sqrt(ops.where(positive, x, 1.0)), 0.0)


def unsigned_scalar_product(*vectors):
    r"""`<v_1, ..., v_k>`, how far k vectors are from being pairwise orthogonal.

    In the Clifford algebra of the space the vectors live in, it is the magnitude of their product
    `v_1 v_2 ... v_k` without its part of top degree, which is the wedge product:

        <v_1, ..., v_k>^2 = |v_1|^2 ... |v_k|^2 - det G,    G_ij = v_i . v_j

    It is 0 for pairwise orthogonal vectors and largest, the product of the norms, exactly for
    linearly dependent ones. For two vectors it is `|a . b|`. For three it is the scalar triple
    product of the 2-simplicial attention,

        <a, b, c> = || (a.b) c - (a.c) b + (b.c) a ||

    For every k the difference above is expanded before it is computed: the product of the norms
    is one term of the determinant and cancels by hand, not by subtraction of two large numbers.

    Args:
        vectors: k >= 2 tensors `[..., D]` of the same D; leading dimensions broadcast.

    Returns:
        The products `[...]`, non-negative. Where a product is 0 its gradient is 0, never NaN.

    Raises:
        ValueError: fewer than two vectors, or last dimensions that differ.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Definitions 2.5 and A.8, Equations 10, 11, 31 and 32.

    Example:

    >>> import numpy as np
    >>> a, b, c = np.eye(3, dtype="float32")
    >>> float(unsigned_scalar_product(a, b, c)), float(unsigned_scalar_product(a, b, 2 * b))
    (0.0, 2.0)
    """
    if len(vectors) < 2:
        raise ValueError(
            f"unsigned_scalar_product takes two or more vectors; received {len(vectors)}."
        )
    vectors = [ops.convert_to_tensor(vector) for vector in vectors]
    sizes = [vector.shape[-1] if vector.ndim else None for vector in vectors]
    if len(set(sizes)) > 1 or None in sizes:
        raise ValueError(
            "unsigned_scalar_product takes tensors [..., D] of the same D; received shapes "
            f"{[tuple(vector.shape) for vector in vectors]}."
        )
    if len(vectors) == 2:
        product = _dot(*vectors)
        # The backends' own abs do not agree on a slope at 0.
        return product * ops.stop_gradient(ops.sign(product))
    if len(vectors) == 3:
        a, b, c = vectors
        return triple_product(
            _dot(a, b), _dot(b, c), _dot(a, c), _dot(a, a), _dot(b, b), _dot(c, c)
        )
    gram = {}
    for i, first in enumerate(vectors):
        for j, second in enumerate(vectors[i:], start=i):
            gram[i, j] = gram[j, i] = _dot(first, second)
    return safe_sqrt(-_determinant_without_diagonal(gram, len(vectors)))


def triple_product(ab, bc, ac, aa, bb, cc):
    """`<a, b, c>` from the pairwise dot products of three vectors (Equation 11).

    For callers that have the dot products as matrices: attention over M pairs of keys needs the
    `[N, M]` and `[M, M]` ones only, never the vectors of all `N M M` triples side by side.

    Args:
        ab, bc, ac, aa, bb, cc: dot products, tensors whose shapes broadcast.

    Returns:
        The triple products in the broadcast shape, with gradient 0 where they are 0.
    """
    squared = ops.square(ab) * cc + ops.square(bc) * aa + ops.square(ac) * bb - 2 * ab * ac * bc
    return safe_sqrt(squared)


def _dot(a, b):
    return ops.sum(a * b, axis=-1)


def _determinant_without_diagonal(gram, size):
    """The determinant of a matrix of tensors less the product of its diagonal.

    Laplace expansion along the first row. Elimination would be cheaper for large matrices, but
    the gradient it leads to does not exist for the singular ones of linearly dependent vectors.

    Args:
        gram: dict from (row, column) to a tensor.
        size: number of rows.
    """
    minors = {}

    def minor(columns):
        """The determinant of the last `len(columns)` rows in these columns."""
        row = size - len(columns)
        if len(columns) == 1:
            return gram[row, columns[0]]
        if columns not in minors:
            minors[columns] = sum(signed_terms(row, columns))
        return minors[columns]

    def signed_terms(row, columns):
        for place, column in enumerate(columns):
            rest = columns[:place] + columns[place + 1 :]
            yield (-1) ** place * gram[row, column] * minor(rest)

    def without_diagonal(first):
        """The same for the rows and columns from `first` on."""
        columns = tuple(range(first, size))
        if len(columns) == 1:
            return 0.0
        _, *others = signed_terms(first, columns)
        return gram[first, first] * without_diagonal(first + 1) + sum(others)

    return without_diagonal(0)
