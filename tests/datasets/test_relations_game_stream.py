"""The game as ``tf.data``: what comes, in which order, and how a run goes on."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tf_relational.datasets.relations_game import block_rng, from_arrays, generate, judge, stream


def batches(dataset, count):
    return list(itertools.islice(dataset.as_numpy_iterator(), count))


def joined(found):
    return {name: np.concatenate([batch[name] for batch in found]) for name in found[0]}


def assert_equal(one, two):
    assert one.keys() == two.keys() == {"image", "task", "label"}
    for name in one:
        assert np.array_equal(one[name], two[name]), name


def test_what_comes():
    dataset = stream(["same", "xoccurs"], "pentos", batch_size=7)
    assert dataset.element_spec == {
        "image": tf.TensorSpec((7, 36, 36, 3), tf.uint8),
        "task": tf.TensorSpec((7,), tf.int64),
        "label": tf.TensorSpec((7,), tf.int64),
    }
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    for batch in batches(dataset, 20):
        for image, task, label in zip(batch["image"], batch["task"], batch["label"], strict=True):
            assert judge(image, ["same", "xoccurs"][task]) == label


def test_a_seed_determines_the_order_whatever_the_batches():
    # 4,500 examples are three blocks: the seams between blocks are part of it.
    one = joined(batches(stream("between", "hexos", batch_size=10, seed=3), 450))
    two = joined(batches(stream("between", "hexos", batch_size=900, seed=3), 5))
    assert_equal(one, two)
    other = joined(batches(stream("between", "hexos", batch_size=900, seed=4), 1))
    assert not np.array_equal(one["image"][:900], other["image"])
    first = generate("between", "hexos", 2000, block_rng(3, "between", "hexos", 0))
    assert_equal(first, {name: array[:2000] for name, array in one.items()})


@pytest.mark.parametrize("done", [3, 200, 333])
def test_a_run_goes_on_where_it_stopped(done):
    whole = batches(stream("occurs", "stripes", batch_size=10, seed=1), done + 20)
    rest = stream("occurs", "stripes", batch_size=10, seed=1, start=10 * done)
    assert rest.cardinality() == tf.data.INFINITE_CARDINALITY
    for one, two in zip(whole[done:], batches(rest, 20), strict=True):
        assert_equal(one, two)


def test_two_passes_are_alike():
    dataset = stream("same", "pentos", batch_size=50)
    assert_equal(joined(batches(dataset, 3)), joined(batches(dataset, 3)))


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({"tasks": "beside"}, "tasks are one or more"),
        ({"tasks": "colour_shape", "object_set": "stripes"}, "pentos and hexos, got 'stripes'"),
        ({"object_set": "septos"}, "object_set is one of"),
        ({"batch_size": 0}, "batch_size is at least 1 and start at least 0, got 0 and 0"),
        ({"start": -1}, "start at least 0, got 10 and -1"),
        ({"seed": -1}, "seed is at least 0, got -1"),
    ],
)
def test_refuses_at_once(arguments, message):
    defaults = {"tasks": "same", "object_set": "hexos", "batch_size": 10}
    with pytest.raises(ValueError, match=message):
        stream(**{**defaults, **arguments})


def test_arrays_in_their_order():
    examples = generate(["same", "between"], "hexos", 25, 0)
    found = batches(from_arrays(examples, batch_size=10), 4)
    assert [len(batch["label"]) for batch in found] == [10, 10, 5]
    assert_equal(joined(found), examples)


def test_arrays_shuffled_anew_in_each_pass():
    examples = generate("same", "hexos", 60, 0)
    examples["label"] = np.arange(60)  # names the example
    passes = [
        [joined(batches(from_arrays(examples, batch_size=60, shuffle_seed=s).repeat(), 3))]
        for s in (1, 1, 2)
    ]
    (one,), (two,), (other,) = passes
    assert_equal(one, two)
    assert not np.array_equal(one["label"], other["label"])
    orders = one["label"].reshape(3, 60)
    assert (np.sort(orders) == np.arange(60)).all()
    assert len({tuple(order) for order in orders.tolist()}) == 3
    assert np.array_equal(one["image"], examples["image"][one["label"]])


def test_arrays_refuse_empty_batches():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        from_arrays(generate("same", "hexos", 5, 0), batch_size=0)
