"""Pictures, task ids and labels, many at once, from a seed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from .object_sets import object_set as get_object_set
from .render import render
from .tasks import Task, resolve

CHUNK = 2000  # pictures drawn at once: few enough that they stay in the cache


def generate(
    tasks: str | Sequence[str],
    object_set: str,
    count: int,
    rng: np.random.Generator | int,
) -> dict[str, np.ndarray]:
    """Draw ``count`` examples, independent of each other.

    The task is uniform over the tasks, and the label uniform over the task's labels.

    Args:
        tasks: one or several names of `TASKS` or `TASK_GROUPS`; several are one multi-task set.
        object_set: ``pentos`` to train on, ``hexos`` and ``stripes`` held out.
        count: how many.
        rng: source of all randomness, or a seed.

    Returns:
        ``image`` ``[count, 36, 36, 3]`` uint8; ``task`` ``[count]`` int64, the place among
        ``resolve(tasks)``; ``label`` ``[count]`` int64, 1 for True and 0 for False, or 0 to 3 in
        the task `colour_shape`.

    Raises:
        ValueError: no such task or set, a task that the set has not, or ``count`` below 1.

    Source: An Explicitly Relational Neural Network Architecture, section 3.

    >>> examples = generate("between", "pentos", 1000, np.random.default_rng(0))
    >>> examples["image"].shape, sorted(set(examples["label"].tolist()))
    ((1000, 36, 36, 3), [0, 1])
    """
    objects = get_object_set(object_set)
    found = resolve(tasks, object_set)
    if count < 1:
        raise ValueError(f"count is at least 1, got {count}")
    rng = np.random.default_rng(rng)
    images = np.empty((count, 36, 36, 3), np.uint8)
    ids, labels = np.empty(count, np.int64), np.empty(count, np.int64)
    for start in range(0, count, CHUNK):
        part = slice(start, min(start + CHUNK, count))
        grids, ids[part], labels[part] = _layouts(found, objects, part.stop - start, rng)
        images[part] = render(grids, object_set)
    return {"image": images, "task": ids, "label": labels}


def block_rng(seed: int, tasks: str | Sequence[str], object_set: str, block: int):
    """The source of randomness of one block of an endless set.

    Blocks, sets and lists of tasks have streams of their own, so that what is trained on and what
    is held out do not show the same layouts under the same seed.

    >>> one, two = (block_rng(0, "same", name, 0) for name in ("pentos", "hexos"))
    >>> bool(one.random() == two.random())
    False
    """
    if seed < 0:
        raise ValueError(f"seed is at least 0, got {seed}")
    names = " ".join([object_set, *(task.name for task in resolve(tasks, object_set))])
    return np.random.default_rng([seed, zlib.crc32(names.encode()), block])


def _layouts(tasks: tuple[Task, ...], objects, count: int, rng: np.random.Generator):
    """``[count, 9]`` grids, ``[count]`` task ids and ``[count]`` labels."""
    ids = rng.integers(len(tasks), size=count)
    grids, labels = np.empty((count, 9), np.int64), np.empty(count, np.int64)
    for number, task in enumerate(tasks):
        rows = np.flatnonzero(ids == number)
        labels[rows] = rng.integers(task.num_labels, size=len(rows))
        grids[rows] = task.sample(objects, labels[rows], rng)
    return grids, ids, labels
