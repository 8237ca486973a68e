"""Limit TensorFlow's threads in this process."""

import warnings

import tensorflow as tf


def set_threads(threads):
    """Let TensorFlow use `threads` threads within and between operations of this process.

    Warns when TensorFlow is already running with another number, which it cannot change.

    Args:
        threads: a positive integer, or None to leave TensorFlow's choice.
    """
    if threads is None:
        return
    threading = tf.config.threading
    have = (
        threading.get_intra_op_parallelism_threads(),
        threading.get_inter_op_parallelism_threads(),
    )
    if have == (threads, threads):
        return
    try:
        threading.set_intra_op_parallelism_threads(threads)
        threading.set_inter_op_parallelism_threads(threads)
    except RuntimeError:
        warnings.warn(
            f"TensorFlow runs already, with {have} threads (0 is its own choice), so threads="
            f"{threads} has no effect in this process; build the algorithm before others compute.",
            stacklevel=2,
        )
