"""The Transformer blocks against their pseudocode (Section 4.2), written in NumPy."""

import keras
import numpy as np
import pytest

from tests.layers.cases import CASES
from tf_relational import layers

BY_NAME = {case.name: case for case in CASES}


def norm(x, layer):
    gain, bias = np.asarray(layer.gamma), np.asarray(layer.beta)
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + 1e-5) + bias


def dense(x, layer):
    return x @ np.asarray(layer.kernel) + np.asarray(layer.bias)


def test_relational_block_is_its_pseudocode():
    case = BY_NAME["relational_block"]
    block, e = case.build(), case.inputs()
    expected = e
    for iteration in range(2):
        a = np.asarray(block.attention1(norm(expected, block.norms_in[iteration])))
        b = np.maximum(dense(a, block.dense1), 0)
        c = dense(b, block.dense2)
        expected = norm(expected + c, block.norms_out[iteration])
    np.testing.assert_allclose(np.asarray(block(e)), expected, 1e-4, 1e-4)


def test_simplicial_block_is_its_pseudocode():
    case = BY_NAME["simplicial_block"]
    block, e = case.build(), case.inputs()
    virtual = np.asarray(block.virtual_entities)
    expected = np.concatenate([e, np.broadcast_to(virtual, (len(e), *virtual.shape))], axis=1)
    for iteration in range(2):
        x = norm(expected, block.norms_in[iteration])
        a1, a2 = np.asarray(block.attention1(x)), np.asarray(block.attention2(x))
        # On all rows, the virtual entities' own values among them.
        a2n = norm(a2, block.norms_simplicial[iteration])
        b = np.maximum(dense(np.concatenate([a1, a2n], axis=-1), block.dense1), 0)
        expected = norm(expected + dense(b, block.dense2), block.norms_out[iteration])
    np.testing.assert_allclose(np.asarray(block(e)), expected[:, : e.shape[1]], 1e-4, 1e-4)


@pytest.mark.parametrize(("name", "norms"), [("relational", 2 * 16), ("simplicial", 2 * 16 + 12)])
def test_iterations_share_all_weights_but_the_norms(name, norms):
    options = {"simplicial_dim": 6} if name == "simplicial" else {}
    counts = []
    for iterations in (1, 2, 3):
        block = layers.build_core(name, iterations=iterations, **options)
        block.build((None, 5, 8))
        counts.append(block.count_params())
    assert np.diff(counts).tolist() == [norms, norms]


def test_weights_begin_as_published():
    block = layers.SimplicialBlock()
    block.build((None, 40, 64))
    limits = {
        "qkv_weights": np.sqrt(6 / (64 + 192)),
        "qkkv_weights": np.sqrt(6 / (64 + 192)),
        "B_weight": np.sqrt(6 / (48 * 48 + 48 * 48)),
        "virtual_entities": 0.05,
        "dense1/kernel": np.sqrt(6 / (112 + 64)),
        "dense2/kernel": np.sqrt(6 / (64 + 64)),
    }
    for variable in block.trainable_variables:
        values = np.asarray(variable)
        for name, limit in limits.items():
            if variable.path.endswith(name):
                limits[name] = None
                assert 0.9 * limit < np.abs(values).max() <= limit, name
                assert np.abs(values.std() - limit / np.sqrt(3)) < 0.1 * limit
        if variable.path.endswith(("bias", "beta")):
            assert not values.any()
        if variable.path.endswith("gamma"):
            assert (values == 1).all()
    assert not any(limits.values())


def test_a_core_has_a_name():
    assert isinstance(layers.build_core("relational"), layers.RelationalBlock)
    core = layers.SimplicialBlock(num_virtual=5)
    assert layers.build_core(core) is core
    with pytest.raises(ValueError, match="'relational', 'simplicial'.* received 'mine'"):
        layers.build_core("mine")
    with pytest.raises(ValueError, match="takes no options"):
        layers.build_core(core, num_virtual=2)
    with pytest.raises(ValueError, match="num_virtual is at least 1; received 0"):
        layers.build_core("simplicial", num_virtual=0)


def test_coordinates_are_row_then_column():
    grid = np.zeros((1, 3, 5, 2), "float32")
    outputs = np.asarray(layers.Coordinates()(grid))
    assert outputs[0, 0, 0].tolist() == [0, 0, -1, -1]
    assert outputs[0, 0, 4].tolist() == [0, 0, -1, 1]
    assert outputs[0, 2, 1].tolist() == [0, 0, 1, -0.5]
    assert np.asarray(layers.Coordinates()(grid[:, :1, :1]))[0, 0, 0, 2:].tolist() == [-1, -1]


def test_coordinates_may_be_column_then_row_in_fractions():
    layer = layers.Coordinates("columns_first", (0, 1), endpoint=False)
    outputs = np.asarray(layer(np.zeros((1, 4, 5, 2), "float32")))
    np.testing.assert_allclose(outputs[0, 3, 1], [0, 0, 1 / 5, 3 / 4])
    assert outputs[0, 0, 0].tolist() == [0] * 4
    with pytest.raises(ValueError, match="order is one of .* received order='xy'"):
        layers.Coordinates("xy")


@pytest.mark.parametrize("endpoint", [True, False])
def test_coordinates_of_a_grid_of_any_size_are_the_same(endpoint):
    layer = layers.Coordinates(limits=(0, 3), endpoint=endpoint)
    grid = np.zeros((1, 4, 5, 2), "float32")
    if keras.backend.backend() != "tensorflow":
        pytest.skip("only TensorFlow has sizes that are not known in time")
    import tensorflow as tf

    unknown = tf.TensorSpec((None, None, None, 2))
    function = tf.function(lambda x: layer(x), input_signature=[unknown])
    np.testing.assert_allclose(np.asarray(function(grid)), np.asarray(layer(grid)), 1e-6)
