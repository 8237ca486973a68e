"""Tensor contractions that know which operands are the same for every example."""

from keras import ops


def shared_einsum(equation, *operands):
    """`einsum` in which an operand whose batch is 1 holds for every example.

    Such an operand is never repeated over the batch: its batch axis is dropped, and what would be
    a small matrix product for every example is one large one.

    Args:
        equation: as for `einsum`, explicit, every term beginning with the batch's letter `b`.
        operands: tensors, the batch of each B or 1.

    Returns:
        The contraction; its batch is 1 if that of all operands is.
    """
    shared = [operand.shape[0] == 1 for operand in operands]
    if all(shared) or not any(shared):
        return ops.einsum(equation, *operands)
    terms, result = equation.split("->")
    terms = [
        term[1:] if drop else term for term, drop in zip(terms.split(","), shared, strict=True)
    ]
    operands = [
        ops.squeeze(operand, axis=0) if drop else operand
        for operand, drop in zip(operands, shared, strict=True)
    ]
    return ops.einsum(f"{','.join(terms)}->{result}", *operands)
