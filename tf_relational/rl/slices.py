"""How a batch is cut so that its activations stay in a processor's cache."""

FRAMES_IN_CACHE = 64
"""Frames whose activations fit the second-level cache of a processor's core: there the agents learn
fastest when a batch goes through in slices of about that many."""


def slice_width(length, width):
    """How many of `width` environments, unrolled for `length` steps, make a slice on a CPU.

    Returns:
        The largest divisor of `width` with at most `FRAMES_IN_CACHE` frames, and at least 1.

    Example:
        >>> slice_width(length=20, width=8), slice_width(length=40, width=32)
        (2, 1)
    """
    most = max(1, FRAMES_IN_CACHE // (length + 1))
    return max(size for size in range(1, min(most, width) + 1) if width % size == 0)
