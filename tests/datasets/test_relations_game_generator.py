"""What is generated, its errors, and that nothing of the held-out sets is in the training set."""

import subprocess
import sys

import numpy as np
import pytest

from tests.datasets import relations_game_pixels as pixels
from tf_relational.datasets.relations_game import (
    OBJECT_SETS,
    TASK_GROUPS,
    TASKS,
    block_rng,
    generate,
    resolve,
)
from tf_relational.datasets.relations_game.render import render
from tf_relational.datasets.relations_game.sheet import sheet


def test_what_is_returned():
    examples = generate("occurs", "pentos", 5000, np.random.default_rng(0))
    assert {name: (array.shape, array.dtype.name) for name, array in examples.items()} == {
        "image": ((5000, 36, 36, 3), "uint8"),
        "task": ((5000,), "int64"),
        "label": ((5000,), "int64"),
    }
    assert (examples["task"] == 0).all()
    assert np.isin(examples["image"], [0, 128, 255]).all()


@pytest.mark.parametrize("object_set", OBJECT_SETS)
@pytest.mark.parametrize("tasks", ["between", ["same", "row_patterns_3", "match_rows"]], ids=str)
def test_a_seed_determines_everything(tasks, object_set):
    # More than is drawn at once, so that the seam between two draws is part of it.
    one = generate(tasks, object_set, 2100, np.random.default_rng(4))
    two = generate(tasks, object_set, 2100, 4)
    other = generate(tasks, object_set, 2100, 5)
    for name, array in one.items():
        assert np.array_equal(array, two[name])
    assert not np.array_equal(one["image"], other["image"])
    assert len({image.tobytes() for image in one["image"]}) > 2000


def test_the_generator_goes_on():
    rng = np.random.default_rng(0)
    one, two = generate("same", "hexos", 10, rng), generate("same", "hexos", 10, rng)
    assert not np.array_equal(one["image"], two["image"])


def test_blocks_sets_and_tasks_have_random_numbers_of_their_own():
    given = [(0, "same", "hexos", 0), (1, "same", "hexos", 0), (0, "same", "hexos", 1)]
    given += [(0, "occurs", "hexos", 0), (0, ["same", "occurs"], "hexos", 0)]
    given += [(0, "same", "stripes", 0)]
    assert len({block_rng(*each).random() for each in given}) == len(given)
    assert block_rng(0, "same", "hexos", 0).random() == block_rng(0, ["same"], "hexos", 0).random()


def test_no_shape_and_no_colour_is_in_two_sets():
    shapes, colours = {}, {}
    for name, objects in OBJECT_SETS.items():
        shapes[name] = set(pixels.shape(objects.units).tolist())
        units = objects.units.reshape(-1, 3)
        colours[name] = set(map(tuple, units[units.any(axis=1)].tolist()))
        assert len(colours[name]) == 25
    assert {name: len(found) for name, found in shapes.items()} == {
        "pentos": 37,
        "hexos": 48,
        "stripes": 1,
    }
    assert not shapes["pentos"] & (shapes["hexos"] | shapes["stripes"])
    assert not colours["pentos"] & (colours["hexos"] | colours["stripes"])
    # Nor is a training shape a held-out one moved within its cell.
    sizes = {name: {bin(shape).count("1") for shape in found} for name, found in shapes.items()}
    assert sizes == {"pentos": {5}, "hexos": {6}, "stripes": {9}}


@pytest.mark.parametrize("object_set", OBJECT_SETS)
def test_generated_pictures_show_no_other_colours(object_set):
    image = generate("match_rows", object_set, 2000, 0)["image"]
    shown = set(np.unique(image.reshape(-1, 3) @ np.array([65536, 256, 1])).tolist())
    units = OBJECT_SETS[object_set].units.reshape(-1, 3) @ np.array([65536, 256, 1])
    assert shown == set(units.tolist()) | {0}


def test_all_objects_of_a_set_are_different():
    for name, size in (("pentos", 37 * 25), ("hexos", 48 * 25), ("stripes", 625)):
        units = OBJECT_SETS[name].units
        assert len(np.unique(units.reshape(len(units), -1), axis=0)) == len(units) == size


@pytest.mark.parametrize("object_set", OBJECT_SETS)
def test_pictures_are_units_enlarged_and_moved_by_a_pixel(object_set):
    units = OBJECT_SETS[object_set].units
    grids = np.random.default_rng(0).integers(-1, len(units), size=(50, 9))
    for grid, image in zip(grids, render(grids, object_set), strict=True):
        expected = np.zeros((36, 36, 3), np.uint8)
        for cell, which in enumerate(grid):
            if which >= 0:
                y, x = 12 * (cell // 3) + 1, 12 * (cell % 3) + 1
                block = np.ones((3, 3, 1), np.uint8)
                expected[y : y + 9, x : x + 9] = np.kron(units[which], block)
        assert np.array_equal(image, expected)


def test_names():
    assert list(TASKS)[:6] == [
        "same",
        "between",
        "occurs",
        "xoccurs",
        "colour_shape",
        "match_rows",
    ]
    assert TASK_GROUPS["column_patterns_3"] == ("column_aba", "column_aab", "column_abb")
    assert [task.name for task in resolve("row_patterns_5")] == [
        "row_aba",
        "row_aab",
        "row_abb",
        "row_aaa",
        "row_abc",
    ]


@pytest.mark.parametrize(
    "tasks,object_set,count,message",
    [
        ("beside", "hexos", 1, "tasks are one or more of same, between, .*; got 'beside'"),
        ([], "hexos", 1, r"one or more different names, got \[\]"),
        (["same", "same"], "hexos", 1, "different names, got .'same', 'same'"),
        (["row_aba", "row_patterns_3"], "hexos", 1, "different names"),
        ("same", "septos", 1, "object_set is one of pentos, hexos, stripes, got 'septos'"),
        ("colour_shape", "stripes", 1, "played with pentos and hexos, got 'stripes'"),
        ("same", "hexos", 0, "count is at least 1, got 0"),
    ],
)
def test_refuses(tasks, object_set, count, message):
    with pytest.raises(ValueError, match=message):
        generate(tasks, object_set, count, 0)


def test_the_generator_needs_neither_tensorflow_nor_pillow():
    code = (
        "import sys; from tf_relational.datasets.relations_game import generate;"
        "generate('same', 'hexos', 5, 0); print(*{n.split('.')[0] for n in sys.modules})"
    )
    root = pixels.ROOT
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not set(done.stdout.split()) & {"tensorflow", "tensorflow_datasets", "keras", "PIL"}


def test_sheet():
    paper = np.asarray(sheet(["same", "colour_shape"], per_set=4))
    assert paper.shape[2] == 3 and (paper == 0).any() and (paper == 255).any()
