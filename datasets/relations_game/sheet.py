"""A picture of the game: every task, set and label.

``python -m tf_relational.datasets.relations_game.sheet relations_game.png``
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .generator import block_rng, generate
from .object_sets import OBJECT_SETS
from .tasks import TASKS, resolve

if TYPE_CHECKING:
    from PIL.Image import Image

GAP, LEFT, TOP = 4, 100, 24


def sheet(
    tasks: Sequence[str] = tuple(TASKS), *, per_set: int = 4, scale: int = 2, seed: int = 0
) -> Image:
    """One line a task, one column a set; the labels go round, and stand at the left.

    Args:
        tasks: names of the tasks to show.
        per_set: pictures of each task and set.
        scale: pixels on paper for one of a picture.
        seed: of the pictures.

    >>> sheet(["same"], per_set=2).size
    (593, 105)
    """
    from PIL import Image, ImageDraw

    found = resolve(tasks)
    side = 36 * scale + GAP
    width = per_set * side + 3 * GAP
    size = LEFT + len(OBJECT_SETS) * width + 1, TOP + len(found) * (side + GAP) + 1
    paper = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(paper)
    for column, name in enumerate(OBJECT_SETS):
        pen.text((LEFT + column * width, 6), name, fill="black")
    for line, task in enumerate(found):
        y = TOP + line * (side + GAP)
        labels = np.arange(per_set) % task.num_labels
        if task.num_labels == 2:
            labels = 1 - labels
        pen.text((4, y + 8), task.name, fill="black")
        pen.text((4, y + 24), " ".join(map(str, labels)), fill="grey")
        for column, name in enumerate(OBJECT_SETS):
            if name not in task.object_sets:
                continue
            rng = block_rng(seed, task.name, name, 0)
            examples = generate(task.name, name, 100 * per_set, rng)
            for place, label in enumerate(labels):
                which = np.flatnonzero(examples["label"] == label)[place]
                picture = Image.fromarray(examples["image"][which])
                picture = picture.resize((36 * scale,) * 2, Image.Resampling.NEAREST)
                paper.paste(picture, (LEFT + column * width + place * side, y))
    return paper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=os.path.abspath, help="file to write, such as game.png")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sheet(arguments.tasks, seed=arguments.seed).save(arguments.path, optimize=True)


if __name__ == "__main__":
    main()
