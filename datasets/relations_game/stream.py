"""The game as ``tf.data``: an endless set that needs no disk, and sets of arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .generator import block_rng, generate
from .object_sets import object_set as get_object_set
from .tasks import resolve

if TYPE_CHECKING:
    import tensorflow as tf

BLOCK = 2000  # examples made at once


def stream(
    tasks: str | Sequence[str],
    object_set: str,
    *,
    batch_size: int,
    seed: int = 0,
    start: int = 0,
) -> tf.data.Dataset:
    """Batches without end, made in the background while the last ones are learned from.

    The examples and their order depend on ``seed``, ``tasks`` and ``object_set`` only: not on the
    size of the batches, and not on how the program was scheduled.

    Args:
        tasks: one or several names of `TASKS` or `TASK_GROUPS`.
        object_set: ``pentos``, ``hexos`` or ``stripes``.
        batch_size: the paper trains with 10.
        seed: of all examples.
        start: how many examples to leave out. A run that stopped after n batches goes on with
            ``start=n * batch_size`` as if it had not.

    Returns:
        A data set of dicts: ``image`` ``[batch_size, 36, 36, 3]`` uint8, ``task`` and ``label``
        ``[batch_size]`` int64, as of `generate`.

    Raises:
        ValueError: as of `generate`, ``batch_size`` below 1, ``seed`` or ``start`` below 0.

    >>> batches = stream("between", "pentos", batch_size=10, seed=0)
    >>> next(iter(batches))["image"].shape
    TensorShape([10, 36, 36, 3])
    """
    import tensorflow as tf

    get_object_set(object_set)
    resolve(tasks, object_set)
    block_rng(seed, tasks, object_set, 0)
    if batch_size < 1 or start < 0:
        allowed = "batch_size is at least 1 and start at least 0"
        raise ValueError(f"{allowed}, got {batch_size} and {start}")

    first, left_out = divmod(start, BLOCK)

    def block(number):
        rng = block_rng(seed, tasks, object_set, int(number))
        examples = generate(tasks, object_set, BLOCK, rng)
        if number == first:
            examples = {name: array[left_out:] for name, array in examples.items()}
        return examples

    blocks = tf.data.Dataset.counter(start=first).map(lambda number: _call(block, number))
    # A block is made ahead, and not its batches alone: it takes as long as several steps of
    # training, which would wait for it.
    batches = blocks.prefetch(1).rebatch(batch_size, drop_remainder=True).prefetch(2)
    # So that `cardinality` says it too: rebatching makes it unknown.
    return batches.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def from_arrays(
    examples: Mapping[str, np.ndarray], *, batch_size: int, shuffle_seed: int | None = None
) -> tf.data.Dataset:
    """One pass over examples in memory, such as `generate` or `read_npz` give them.

    The arrays are not copied. The last batch may be smaller.

    Args:
        examples: ``image``, ``task`` and ``label``.
        batch_size: how many examples a batch.
        shuffle_seed: draw an order, and with ``.repeat()`` a new one for each pass; by default
            the order of the arrays.

    Returns:
        A data set of the same dicts as `stream`.

    Raises:
        ValueError: ``batch_size`` below 1.

    >>> examples = generate("same", "hexos", 25, 0)
    >>> [len(batch["label"]) for batch in from_arrays(examples, batch_size=10)]
    [10, 10, 5]
    """
    import tensorflow as tf

    if batch_size < 1:
        raise ValueError(f"batch_size is at least 1, got {batch_size}")
    count = len(examples["label"])
    rows = tf.data.Dataset.range(count)
    if shuffle_seed is not None:
        rows = rows.shuffle(count, seed=shuffle_seed, reshuffle_each_iteration=True)

    def take(rows):
        return {name: examples[name][rows] for name in ("image", "task", "label")}

    return rows.batch(batch_size).map(lambda rows: _call(take, rows)).prefetch(2)


def _call(function, argument):
    """Call a NumPy function of the example dicts' arrays from ``tf.data``, and state the shapes."""
    import tensorflow as tf

    def arrays(argument):
        found = function(argument)
        return found["image"], found["task"], found["label"]

    image, task, label = tf.numpy_function(arrays, [argument], (tf.uint8, tf.int64, tf.int64))
    return {
        "image": tf.ensure_shape(image, (None, 36, 36, 3)),
        "task": tf.ensure_shape(task, (None,)),
        "label": tf.ensure_shape(label, (None,)),
    }
