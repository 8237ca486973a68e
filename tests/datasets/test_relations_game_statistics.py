"""How often what is in a picture, by chi-square, from the pixels.

The probabilities are those that were measured on 20,000 of DeepMind's pictures; where the counts of
that measurement are known, they are compared with what is generated.
"""

import functools
import itertools

import numpy as np
import pytest
from scipy import stats

from tests.datasets import relations_game_pixels as pixels
from tf_relational.datasets.relations_game import TASKS, generate

LEAST = 1e-4
COUNT = 10_000
SHAPES, EVERY = ["pentos", "hexos"], ["pentos", "hexos", "stripes"]
CODES = {"aba": (0, 1, 0), "aab": (0, 0, 1), "abb": (0, 1, 1), "aaa": (0, 0, 0), "abc": (0, 1, 2)}


@functools.cache
def drawn(task, object_set):
    """Units, task ids and labels."""
    examples = generate(task, object_set, COUNT, 3)
    return pixels.units(examples["image"]), examples["task"], examples["label"]


def split(task, object_set):
    """The units of the pictures of which the answer is True, and of the others."""
    units, _, labels = drawn(task, object_set)
    return units[labels == 1], units[labels == 0]


def letters(three):
    """``[batch, 3]``: each object named by the order of first appearance."""
    a, b, c = np.moveaxis(three.reshape(len(three), 3, -1), 1, 0)
    second = (b != a).any(axis=1).astype(int)
    third = np.where((c == a).all(1), 0, np.where((c == b).all(1), second, second + 1))
    return np.stack([np.zeros(len(three), int), second, third], axis=1)


def line_numbers(*lines):
    return [sum(1 << cell for cell in line) for line in lines]


ROWS = line_numbers((0, 1, 2), (3, 4, 5), (6, 7, 8))
COLUMNS = line_numbers((0, 3, 6), (1, 4, 7), (2, 5, 8))
DIAGONALS = line_numbers((0, 4, 8), (2, 4, 6))


def expected_masks(object_set):
    """Probability of each mask: 8 bases alike, and the orientations of a base alike."""
    size = 5 if object_set == "pentos" else 6
    possible = {pixels.mask_number(mask): mask for mask in pixels.connected_masks(size)}
    seen = pixels.shape(pixels.present(drawn("same", object_set)[0], 2))
    orbits = {pixels.orbit(possible[number]) for number in np.unique(seen).tolist()}
    assert len(orbits) == 8
    return {pixels.mask_number(mask): 1 / (8 * len(each)) for each in orbits for mask in each}


@pytest.mark.parametrize("object_set", SHAPES)
def test_shapes_orientations_and_colours(object_set):
    expected = expected_masks(object_set)
    assert len(expected) == {"pentos": 37, "hexos": 48}[object_set]
    true, _ = split("same", object_set)
    objects = pixels.present(true, 2)[:, 0]
    assert pixels.p_value(pixels.shape(objects), expected) > LEAST
    levels = {"pentos": (0, 128, 255), "hexos": (64, 144, 192)}[object_set]
    triples = [(r, g, b) for r in levels for g in levels for b in levels][1:-1]
    codes = pixels.uniform(r * 65536 + g * 256 + b for r, g, b in triples)
    assert pixels.p_value(pixels.colour(objects), codes) > LEAST


def test_the_pentominoes_are_those_that_were_seen_where_they_were_seen():
    seen = [".## ##. .#.", "##. ##. .#.", "... ### ##.", ".## ### ...", "### .#. .#."]
    seen += ["##. #.. ##.", "#.. #.. ###", "#.. ##. .##", ".#. ### .#.", "##. .#. .##"]
    numbers = {
        sum(1 << i for i, unit in enumerate(text.replace(" ", "")) if unit == "#") for text in seen
    }
    assert numbers <= set(expected_masks("pentos"))


def test_stripes_are_uniform_pairs_of_colours():
    true, _ = split("same", "stripes")
    outer, middle, last = np.moveaxis(pixels.present(true, 2)[:, 0, 0], 1, 0)
    assert (outer == last).all()
    levels = (64, 144, 192)
    triples = [(r, g, b) for r in levels for g in levels for b in levels][1:-1]
    pairs = np.concatenate([outer, middle], axis=1)
    assert pixels.p_value(pairs, pixels.uniform(a + b for a in triples for b in triples)) > LEAST


@pytest.mark.parametrize("object_set", SHAPES)
def test_different_objects(object_set):
    _, false = split("same", object_set)
    one, two = np.moveaxis(pixels.present(false, 2), 1, 0)
    kind = pixels.relation(one, two)
    assert pixels.p_value(kind, pixels.uniform([1, 2, 3])) > LEAST
    # Drawing a shape until it differs: the probabilities of all the others, given the first.
    masks = expected_masks(object_set)
    other = kind >= 2
    pairs = np.stack([pixels.shape(one[other]), pixels.shape(two[other])], axis=1)
    expected = {
        (a, b): masks[a] * masks[b] / (1 - masks[a]) for a in masks for b in masks if a != b
    }
    same_base = {pair for pair in expected if len(set(map(_orbit, pair))) == 1}
    share = sum(expected[pair] for pair in same_base)
    count = sum(pair in same_base for pair in map(tuple, pairs.tolist()))
    assert stats.binomtest(count, len(pairs), share).pvalue > LEAST
    if object_set == "hexos":
        assert round(share, 3) == 0.104


def _orbit(number):
    return pixels.orbit(_mask(number))


def _mask(number):
    return frozenset(divmod(bit, 3) for bit in range(9) if number >> bit & 1)


@pytest.mark.parametrize("object_set", SHAPES)
def test_the_third_object_resembles_either_of_the_others(object_set):
    true, _ = split("column_abc", object_set)
    a, b, c = np.moveaxis(pixels.present(true, 3), 1, 0)
    to_a, to_b = pixels.relation(a, c) < 3, pixels.relation(b, c) < 3
    # Neither is preferred, and by chance alone hardly one in ten would resemble one of them.
    only_a, only_b = (to_a & ~to_b).sum(), (to_b & ~to_a).sum()
    assert stats.binomtest(only_a, only_a + only_b).pvalue > LEAST
    assert (to_a | to_b).mean() > 2 / 3


@pytest.mark.parametrize("task", TASKS)
def test_labels_are_uniform(task):
    labels = generate(task, "hexos", 4000, 5)["label"]
    assert pixels.p_value(labels, pixels.uniform(range(TASKS[task].num_labels))) > LEAST


def test_tasks_are_uniform():
    pairs = np.stack(drawn("row_patterns_5", "hexos")[1:], axis=1)
    assert pixels.p_value(pairs, pixels.uniform((t, y) for t in range(5) for y in (0, 1))) > LEAST


@pytest.mark.parametrize("task", ["same", "colour_shape"])
def test_two_objects_stand_anywhere(task):
    pairs = pixels.uniform((1 << a) + (1 << b) for a in range(9) for b in range(a))
    units, _, labels = drawn(task, "hexos")
    for label in np.unique(labels):
        assert pixels.p_value(pixels.cells(units[labels == label]), pairs) > LEAST


@pytest.mark.parametrize("object_set", EVERY)
def test_between_lines(object_set):
    expected = {line: 1 for line in ROWS + COLUMNS + DIAGONALS} | {ROWS[1]: 2}
    true, _ = split("between", object_set)
    assert pixels.p_value(pixels.cells(true), expected) > LEAST
    # The middle object is free: it may be any, the outer ones too.
    _, middle, outer = np.moveaxis(pixels.present(true, 3), 1, 0)
    if object_set != "stripes":
        share = (pixels.colour(middle) == pixels.colour(outer)).sum()
        assert stats.binomtest(share, len(true), 1 / 25).pvalue > LEAST
        masks = expected_masks(object_set)
        share = (pixels.shape(middle) == pixels.shape(outer)).sum()
        assert stats.binomtest(share, len(true), sum(p * p for p in masks.values())).pvalue > LEAST


# Of DeepMind's 5,000 pictures: those in the middle row of all positives; negatives in a line with
# the outer two of other colour, of other shape, of both, and negatives not in a line.
BETWEEN = {"hexos": (546, 2525, [662, 625, 646, 542]), "stripes": (558, 2488, [1342, 1170])}


@pytest.mark.parametrize("object_set", BETWEEN)
def test_between_as_often_as_deepmind_has_it(object_set):
    middle, positives, negatives = BETWEEN[object_set]
    true, false = split("between", object_set)
    ours = (pixels.cells(true) == ROWS[1]).sum()
    table = [[middle, positives - middle], [ours, len(true) - ours]]
    assert stats.chi2_contingency(table).pvalue > LEAST

    in_line = np.isin(pixels.cells(false), ROWS + COLUMNS + DIAGONALS)
    three = pixels.present(false, 3)
    if object_set == "stripes":
        kind = ~in_line
    else:
        kind = np.where(in_line, pixels.relation(three[:, 0], three[:, 2]) - 1, 3)
    counts = np.bincount(kind.astype(int), minlength=len(negatives))
    assert stats.chi2_contingency([negatives, counts]).pvalue > LEAST


@pytest.mark.parametrize("object_set", BETWEEN)
def test_between_scattered_objects_stand_anywhere(object_set):
    _, false = split("between", object_set)
    found = pixels.cells(false)
    lines = ROWS + COLUMNS + DIAGONALS
    every = line_numbers(*itertools.combinations(range(9), 3))
    expected = pixels.uniform(set(every) - set(lines))
    assert pixels.p_value(found[~np.isin(found, lines)], expected) > LEAST


@pytest.mark.parametrize("object_set", EVERY)
@pytest.mark.parametrize("direction,lines", [("row", ROWS), ("column", COLUMNS)])
def test_patterns(direction, lines, object_set):
    units, tasks, labels = drawn(f"{direction}_patterns_5", object_set)
    assert pixels.p_value(pixels.cells(units), pixels.uniform(lines)) > LEAST
    shown = letters(pixels.present(units, 3))
    for task, pattern in enumerate(CODES.values()):
        assert (shown[(tasks == task) & (labels == 1)] == pattern).all()
        others = pixels.uniform(set(CODES.values()) - {pattern})
        assert pixels.p_value(shown[(tasks == task) & (labels == 0)], others) > LEAST


def test_pattern_objects_differ_as_deepminds_do():
    # Positives of DeepMind's 3task_col_patts_hexos: same colour, same shape, neither.
    true, _ = split("column_patterns_3", "hexos")
    three = pixels.present(true, 3)
    shown = letters(three)
    two = np.where((shown[:, 1] == 1)[:, None, None, None], three[:, 1], three[:, 2])
    kind = np.bincount(pixels.relation(three[:, 0], two), minlength=4)
    assert kind[0] == 0
    assert stats.chi2_contingency([[842, 804, 828], kind[[2, 1, 3]]]).pvalue > LEAST


@pytest.mark.parametrize("task", ["occurs", "xoccurs"])
@pytest.mark.parametrize("object_set", EVERY)
def test_top_and_bottom(task, object_set):
    true, false = split(task, object_set)
    for images in (true, false):
        assert (pixels.cells(images) == 0b111000010).all()
        four = pixels.present(images, 4).reshape(len(images), 4, -1)
        equal = (four[:, 1:] == four[:, :1]).all(axis=-1)
        twins = sum((four[:, i] == four[:, j]).all(axis=-1) for i, j in ((1, 2), (1, 3), (2, 3)))
        if images is true:
            assert (equal.sum(axis=1) == 1).all() and (twins == 0).all()
            assert pixels.p_value(equal.argmax(axis=1), pixels.uniform(range(3))) > LEAST
        elif task == "occurs":
            assert not equal.any() and (twins == 0).all()
        else:
            # Half: none occurs and all differ. Half: one does, and the other two are the same.
            pairs = np.stack([equal.sum(axis=1), twins], axis=1)
            assert pixels.p_value(pairs, pixels.uniform([(0, 0), (1, 1)])) > LEAST


@pytest.mark.parametrize("object_set", EVERY)
def test_match_rows(object_set):
    names = list(CODES.values())
    for images, expected in zip(
        split("match_rows", object_set),
        [[(a, a) for a in range(5)], [(a, b) for a in range(5) for b in range(5) if a != b]],
        strict=True,
    ):
        six = pixels.present(images, 6)
        shown = [
            [names.index(tuple(each)) for each in letters(row).tolist()]
            for row in (six[:, :3], six[:, 3:])
        ]
        assert pixels.p_value(np.array(shown).T, pixels.uniform(expected)) > LEAST
        flat = six.reshape(len(images), 6, -1)
        assert not (flat[:, :3, None] == flat[:, None, 3:]).all(axis=-1).any()
