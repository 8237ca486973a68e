"""DeepMind's own files, from a folder of yours.

A file holds ``images`` ``[n, 36, 36, 3]``, ``labels`` ``[n, 1]`` and ``tasks`` ``[n, 1]``, all of
them int64, so that 250,000 pictures unpack to 7.8 GB. They are read in pieces, and kept as uint8.
"""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path

import numpy as np

from .object_sets import object_set as get_object_set

PIECE = 5000  # pictures read at once: 156 MB as int64

# The names of DeepMind's files, by ours. Those of `row_patterns_3` and `column_patterns_5` are
# formed like the others'; nobody here has seen them.
FILES = {
    "same": ("same", "1task_same"),
    "between": ("1task_between", "between"),
    "occurs": ("occurs", "1task_occurs"),
    "xoccurs": ("xoccurs", "1task_xoccurs"),
    "colour_shape": ("colour_and_or_shape",),
    "match_rows": ("1task_match_patt", "match_patt"),
    "row_patterns_3": ("3task_row_patts",),
    "row_patterns_5": ("5task_row_patts",),
    "column_patterns_3": ("3task_col_patts",),
    "column_patterns_5": ("5task_col_patts",),
}


def read_original(folder: str | os.PathLike, task: str, object_set: str) -> dict[str, np.ndarray]:
    """The file of a task and an object set, by DeepMind's name for it.

    Args:
        folder: where the files lie.
        task: one of `FILES`.
        object_set: ``pentos``, ``hexos`` or ``stripes``.

    Returns:
        What `read_npz` returns.

    Raises:
        ValueError: no such task or set.
        FileNotFoundError: the folder has no such file.

    >>> read_original(".", "same", "hexos")
    Traceback (most recent call last):
    FileNotFoundError: . has none of same_hexos.npz, 1task_same_hexos.npz; .npz files there: none
    """
    get_object_set(object_set)
    if task not in FILES:
        raise ValueError(f"task is one of {', '.join(FILES)}, got {task!r}")
    folder = Path(folder)
    names = [f"{name}_{object_set}.npz" for name in FILES[task]]
    for name in names:
        if (folder / name).is_file():
            return read_npz(folder / name)
    there = ", ".join(sorted(path.name for path in folder.glob("*.npz"))) or "none"
    raise FileNotFoundError(f"{folder} has none of {', '.join(names)}; .npz files there: {there}")


def read_npz(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """A file of DeepMind's.

    Args:
        path: of the file.

    Returns:
        ``image`` ``[n, 36, 36, 3]`` uint8, ``task`` and ``label`` ``[n]`` int64, as of `generate`
        (and for `from_arrays`). The task ids of the pattern tasks are DeepMind's; those of
        ``column_patterns_3`` are known to be the same as here.

    Raises:
        ValueError: the file is none of theirs, or is damaged; the message says what is wrong.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(Path(name).stem for name in archive.namelist())
            if names != ["images", "labels", "tasks"]:
                raise ValueError(f"{path} holds images, labels and tasks, got {names}")
            images = _read(archive, "images", (36, 36, 3), np.uint8)
            labels = _read(archive, "labels", (1,), np.int64)
            tasks = _read(archive, "tasks", (1,), np.int64)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is no whole .npz file: {error}") from error
    if not len(images) == len(labels) == len(tasks):
        counts = f"{len(images)}, {len(labels)} and {len(tasks)}"
        raise ValueError(f"{path} has as many images as labels and tasks, got {counts}")
    return {"image": images, "task": tasks[:, 0], "label": labels[:, 0]}


def _read(archive, name: str, shape: tuple[int, ...], dtype) -> np.ndarray:
    """An array of an archive in another dtype, without ever unpacking the whole of it."""
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read_header = np.lib.format.read_array_header_2_0
        found, fortran, stored = read_header(file)
        if found[1:] != shape or fortran or stored.kind not in "iu":
            wanted = f"[n, {', '.join(map(str, shape))}] integers"
            raise ValueError(f"{name} is {wanted} in C order, got {list(found)} {stored}")
        result = np.empty(found, dtype)
        limits = np.iinfo(dtype)
        size = math.prod(shape)
        for start in range(0, found[0], PIECE):
            count = min(PIECE, found[0] - start)
            data = file.read(count * size * stored.itemsize)
            if len(data) < count * size * stored.itemsize:
                raise ValueError(f"{name} ends after {start} of {found[0]} entries")
            piece = np.frombuffer(data, stored).reshape(count, *shape)
            if piece.min() < limits.min or piece.max() > limits.max:
                allowed = f"{limits.min} to {limits.max}"
                raise ValueError(f"{name} are {allowed}, got {piece.min()} to {piece.max()}")
            result[start : start + count] = piece
    return result
