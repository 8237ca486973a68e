"""PrediNet against the paper's Equations 1 to 6, written slowly."""

import functools

import keras
import numpy as np
import pytest

from tests.golden_numbers import run
from tests.layers.cases import CASES
from tf_relational.layers import ConvPrediNet, PrediNet

BY_NAME = {case.name: case for case in CASES}


def drawn(*shape, seed=0, scale=0.5):
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype("float32")


def built(layer, count, features):
    layer.build((None, count, features))
    for seed, variable in enumerate(layer.trainable_variables):
        variable.assign(drawn(*variable.shape, seed=seed, scale=0.3))
    return layer


def softmax(logits):
    powers = np.exp(np.asarray(logits) - np.max(logits))
    return powers / powers.sum()


def slow_predinet(entities, seen, layer):
    """One example, head by head: the entities, and what the queries are linear in."""
    query1, query2, keys, relations = (
        np.asarray(getattr(layer, f"{name}_weights"), "float64")
        for name in ("query1", "query2", "key", "relation")
    )
    size, places = layer.key_size, layer.num_coordinates
    output, told = [], {"attention": [], "objects": [], "differences": []}
    for h in range(layer.num_heads):
        columns = slice(h * size, (h + 1) * size)
        objects, attention = [], []
        for weights in (query1, query2):
            query = seen @ weights[:, columns]
            shares = softmax([query @ (entity @ keys) for entity in entities])
            attention.append(shares)
            objects.append(sum(s * e for s, e in zip(shares, entities, strict=True)))
        differences = [
            objects[0] @ relations[:, r] - objects[1] @ relations[:, r]
            for r in range(layer.num_relations)
        ]
        output += differences
        for each in objects:
            output += list(each[len(each) - places :])
        told["attention"].append(attention)
        told["objects"].append(objects)
        told["differences"].append(differences)
    return np.array(output), {name: np.array(value) for name, value in told.items()}


def assert_is_the_formula(layer, entities, seen):
    call = functools.partial(layer, return_attention=True, return_propositions=True)
    outputs, attention, told = run(call, entities)
    for b in range(len(entities)):
        expected, slow = slow_predinet(entities[b], seen[b], layer)
        np.testing.assert_allclose(np.asarray(outputs)[b], expected, 1e-4, 1e-5)
        for i, name in enumerate(("object1", "object2")):
            np.testing.assert_allclose(
                np.asarray(attention[name])[b], slow["attention"][:, i], 1e-4, 1e-6
            )
            np.testing.assert_allclose(np.asarray(told[name])[b], slow["objects"][:, i], 1e-4, 1e-5)
        np.testing.assert_allclose(
            np.asarray(told["differences"])[b], slow["differences"], 1e-4, 1e-5
        )
    np.testing.assert_allclose(np.asarray(layer(entities)), np.asarray(outputs), 1e-5, 1e-6)


@pytest.mark.parametrize("places", [0, 2])
@pytest.mark.parametrize(("heads", "batch", "count"), [(1, 1, 2), (1, 2, 3), (4, 1, 5), (3, 3, 2)])
def test_predinet_is_the_formula(heads, batch, count, places):
    entities = drawn(batch, count, 6)
    layer = built(PrediNet(heads, 3, key_size=2, num_coordinates=places), count, 6)
    assert_is_the_formula(layer, entities, entities.reshape(batch, -1))


def slow_convolution(grid, layer):
    """A convolution without padding, window by window, and ReLU."""
    kernel, bias = np.asarray(layer.kernel, "float64"), np.asarray(layer.bias)
    side, step = kernel.shape[0], layer.strides[0]
    rows, columns = ((size - side) // step + 1 for size in grid.shape[:2])
    output = np.zeros((rows, columns, len(bias)))
    for r in range(rows):
        for c in range(columns):
            window = grid[r * step : r * step + side, c * step : c * step + side]
            output[r, c] = [np.sum(window * kernel[..., f]) + bias[f] for f in range(len(bias))]
    return np.maximum(output, 0)


@pytest.mark.parametrize(("heads", "batch", "rows"), [(1, 1, 7), (2, 2, 3), (4, 3, 4)])
def test_predinet_with_convolutional_queries_is_the_formula(heads, batch, rows):
    entities = drawn(batch, rows * 5, 6)
    options = {"grid": (rows, 5), "filters": (3, 4), "kernel_size": 2, "strides": 1 + (rows > 4)}
    layer = built(ConvPrediNet(heads, 3, key_size=2, **options), rows * 5, 6)
    seen = []
    for example in entities:
        grid = example.reshape(rows, 5, 6)
        for convolution in layer.convolutions:
            grid = slow_convolution(grid, convolution)
        seen.append(grid.reshape(-1))
    assert_is_the_formula(layer, entities, np.array(seen))


def test_the_atari_layer_has_the_parameters_of_the_paper():
    """Table S3: what is left of 1,590,355 without vision, LSTM and heads."""
    layer = ConvPrediNet()
    layer.build((None, 27 * 20, 34))
    assert layer.count_params() == 1_590_355 - 97_600 - 1_378_304 - 33_025 - 17_618
    assert layer.query_size == 64


@pytest.mark.parametrize("name", ["predinet", "conv_predinet"])
def test_what_is_asked_for_comes_in_order(name):
    case = BY_NAME[name]
    layer, inputs = case.build(), case.inputs()
    outputs = layer(inputs)
    _, attention = layer(inputs, return_attention=True)
    _, told = layer(inputs, return_propositions=True)
    assert tuple(outputs.shape) == (3, 4 * (3 + 4))
    assert {name: tuple(each.shape)[1:] for name, each in attention.items()} == {
        "object1": (4, case.shape[0]),
        "object2": (4, case.shape[0]),
    }
    assert {name: tuple(each.shape)[1:] for name, each in told.items()} == {
        "object1": (4, 6),
        "object2": (4, 6),
        "differences": (4, 3),
    }


def test_masked_entities_get_no_attention_and_the_rest_all():
    case = BY_NAME["predinet"]
    layer, inputs = case.build(), case.inputs()
    mask = np.ones((3, 5), bool)
    mask[:, [0, 3]] = False
    _, attention = layer(inputs, mask=mask, return_attention=True)
    for weights in attention.values():
        assert np.asarray(weights)[..., [0, 3]].max() == 0
        np.testing.assert_allclose(np.asarray(weights).sum(axis=-1), 1, rtol=1e-5)


def test_a_mask_ends_where_entities_do():
    words = keras.Input((5,), dtype="int32")
    embedding = keras.layers.Embedding(9, 6, mask_zero=True)
    layer = PrediNet(2, 3, num_coordinates=0)
    model = keras.Model(words, layer(embedding(words)))
    given = np.array([[1, 2, 0, 0, 0]])
    mask = embedding.compute_mask(given)
    assert layer.compute_mask(None, mask) is None
    expected, attention = layer(embedding(given), mask=mask, return_attention=True)
    assert np.asarray(attention["object1"])[..., 2:].max() == 0
    np.testing.assert_allclose(np.asarray(model(given)), np.asarray(expected), 1e-6, 1e-6)


def test_both_queries_begin_apart():
    layer = PrediNet()
    layer.build((None, 25, 34))
    query1, query2 = np.asarray(layer.query1_weights), np.asarray(layer.query2_weights)
    assert np.abs(query1 - query2).max() > 0.1
    for weights in (query1, query2, layer.key_weights, layer.relation_weights):
        weights = np.asarray(weights)
        # A normal of deviation 0.1 without what is beyond two deviations.
        assert 0.18 < np.abs(weights).max() <= 0.2
        assert abs(weights.std() / 0.088 - 1) < 0.1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PrediNet(0), "num_heads is an integer of at least 1; received 0"),
        (lambda: PrediNet(num_relations=1.5), "num_relations .* received 1.5"),
        (lambda: PrediNet(num_coordinates=-1), "num_coordinates .* received -1"),
        (lambda: built(PrediNet(num_coordinates=3), 4, 2), "num_coordinates=3 .* of 2 features"),
        (lambda: built(PrediNet(), None, 6), r"known N and D; received shape \(None, None, 6\)"),
        (
            lambda: built(PrediNet(), 4, 6)(drawn(1, 5, 6)),
            r"built for 4 entities of 6 features; received shape \(1, 5, 6\)",
        ),
        (lambda: ConvPrediNet(grid=(3, 4, 5)), r"a pair of rows and columns; received \(3, 4, 5\)"),
        (lambda: built(ConvPrediNet(grid=(27, 20)), 25, 34), "has 540 cells; received 25"),
        (lambda: built(ConvPrediNet(grid=(5, 5)), 25, 34), "too small for 3 convolutions"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
