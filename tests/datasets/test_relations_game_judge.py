"""The judge on pictures painted here by hand, on DeepMind's own, and on the generator's."""

import numpy as np
import pytest

from tests.datasets import relations_game_pixels as pixels
from tf_relational.datasets.relations_game import OBJECT_SETS, TASKS, generate, judge, resolve

RED, BLUE = (255, 0, 0), (0, 0, 255)
OBJECTS = {
    "a": (".#. ### .#.", RED),
    "b": (".#. ### .#.", BLUE),
    "c": ("##. .#. .##", RED),
    "d": ("##. .#. .##", BLUE),
    "e": ("### .#. .#.", BLUE),
    "f": ("### .#. .#.", RED),
}
# Grid, task, label.
PAINTED = [
    ("a.. ..a ...", "same", 1),
    ("a.. ..b ...", "same", 0),
    ("a.. ..c ...", "same", 0),
    ("... d.. ..d", "colour_shape", 0),
    ("... d.. ..c", "colour_shape", 1),
    ("... d.. ..b", "colour_shape", 2),
    ("... d.. ..a", "colour_shape", 3),
    ("aba ... ...", "between", 1),
    ("... ccc ...", "between", 1),
    ("a.. .b. ..a", "between", 1),
    ("..a .b. a..", "between", 1),
    ("b.. c.. b..", "between", 1),
    ("aab ... ...", "between", 0),
    ("a.. .b. .a.", "between", 0),
    (".a. b.a ...", "between", 0),
    (".a. ... bca", "occurs", 1),
    (".a. ... aab", "occurs", 1),
    (".a. ... bcd", "occurs", 0),
    (".a. ... bca", "xoccurs", 1),
    (".a. ... bba", "xoccurs", 0),
    (".a. ... aab", "xoccurs", 0),
    (".a. ... bcd", "xoccurs", 0),
    (".a. ... bbd", "xoccurs", 0),
    ("aba ... cdc", "match_rows", 1),
    ("abc ... def", "match_rows", 1),
    ("aab ... cdc", "match_rows", 0),
    ("abb ... aab", "match_rows", 0),
    ("... aba ...", "row_aba", 1),
    ("... aba ...", "row_aab", 0),
    ("aaa ... ...", "row_aba", 0),
    ("... ... bba", "row_aab", 1),
    ("... ... baa", "row_abb", 1),
    ("... ... dab", "row_abc", 1),
    ("a.. a.. a..", "column_aaa", 1),
    ("a.. a.. a..", "column_abc", 0),
    ("..f ..a ..f", "column_aba", 1),
]
REFUSED = [
    ("a.. .aa ...", "same", "same has 2 objects, got 3"),
    ("a.. ... ..a", "between", "between has 3 objects, got 2"),
    ("a.. ... bcd", "occurs", "occurs has objects in cells 1, 6, 7, 8, got"),
    ("aba ... ...", "match_rows", "match_rows fills two rows, got"),
    ("a.. b.. a..", "row_aba", "row_aba fills one row, got"),
    ("aba ... ...", "column_aba", "column_aba fills one column, got"),
    ("aba ... ...", "row_abd", "task is the name of one task, got 'row_abd'"),
    ("aba ... ...", "row_patterns_5", "task is the name of one task, got 'row_patterns_5'"),
]


def paint(grid):
    image = np.zeros((36, 36, 3), np.uint8)
    for cell, letter in enumerate(grid.replace(" ", "")):
        if letter == ".":
            continue
        units, colour = OBJECTS[letter]
        for unit, mark in enumerate(units.replace(" ", "")):
            y = 12 * (cell // 3) + 1 + 3 * (unit // 3)
            x = 12 * (cell % 3) + 1 + 3 * (unit % 3)
            image[y : y + 3, x : x + 3] = colour if mark == "#" else 0
    return image


@pytest.mark.parametrize("grid,task,label", PAINTED)
def test_painted_pictures(grid, task, label):
    assert judge(paint(grid), task) == label


@pytest.mark.parametrize("grid,task,message", REFUSED)
def test_refuses_pictures_of_another_task(grid, task, message):
    with pytest.raises(ValueError, match=message):
        judge(paint(grid), task)


def test_refuses_what_is_no_picture_of_the_game():
    image = paint("a.. ..a ...")
    with pytest.raises(ValueError, match=r"\[36, 36, 3\] uint8, got \(36, 36, 3\) float64"):
        judge(image / 256, "same")
    with pytest.raises(ValueError, match="cell 0 has pixels on its margin"):
        judge(np.roll(image, 1, axis=0) | np.roll(image, -1, axis=0), "same")
    stripes = generate("same", "stripes", 20, 0)["image"][0]
    with pytest.raises(ValueError, match="objects of one colour"):
        judge(stripes, "colour_shape")


@pytest.mark.parametrize("object_set", OBJECT_SETS)
@pytest.mark.parametrize("task", TASKS)
def test_generated_pictures(task, object_set):
    if object_set not in TASKS[task].object_sets:
        pytest.skip("colour_shape is not played with stripes")
    examples = generate(task, object_set, 1000, 11)
    judged = [judge(image, task) for image in examples["image"]]
    assert judged == examples["label"].tolist()


def test_generated_pictures_of_several_tasks():
    tasks = ["between", "row_patterns_5", "colour_shape", "match_rows"]
    examples = generate(tasks, "hexos", 2000, 12)
    names = [task.name for task in resolve(tasks)]
    assert len(names) == 8 and set(examples["task"].tolist()) == set(range(8))
    for image, task, label in zip(*(examples[k] for k in ("image", "task", "label")), strict=True):
        assert judge(image, names[task]) == label


no_sample = pytest.mark.skipif(
    not pixels.SAMPLE.is_file(),
    reason="no ../shared/data/relations_game_sample.npz beside this repository",
)
sources = pytest.mark.parametrize(
    "path,count",
    [
        pytest.param(pixels.GOLDEN, 64, id="64 pictures in tests/golden"),
        pytest.param(pixels.SAMPLE, 400, id="400 pictures", marks=no_sample),
    ],
)


@sources
def test_deepminds_pictures(path, count):
    judged = []
    with np.load(path) as arrays:
        for file, names in pixels.ORIGINALS.items():
            for object_set in ("hexos", "stripes"):
                images, labels, tasks = (
                    arrays[f"{file}_{object_set}_{part}"] for part in ("images", "labels", "tasks")
                )
                for image, label, task in zip(images, labels, tasks, strict=True):
                    judged.append(judge(image, names[task]) == label)
    assert len(judged) == count and all(judged)


@sources
@pytest.mark.parametrize("object_set", ["hexos", "stripes"])
def test_deepminds_objects_are_ours(object_set, path, count):
    """Every object of DeepMind's pictures is one of the set, to the pixel."""
    ours = {units.tobytes() for units in OBJECT_SETS[object_set].units}
    with np.load(path) as arrays:
        images = [arrays[f"{file}_{object_set}_images"] for file in pixels.ORIGINALS]
    objects = pixels.present(pixels.units(np.concatenate(images)), 3).reshape(-1, 3, 3, 3)
    assert {each.tobytes() for each in objects} <= ours
    if count == 400 and object_set == "hexos":
        assert len(np.unique(pixels.shape(objects))) == 48
