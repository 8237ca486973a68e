"""The 2-simplicial attention layer in blocks of pairs against itself without."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from tests.golden_numbers import layer_gradients, run
from tf_relational.layers import SimplicialAttention


@pytest.mark.parametrize(
    "options",
    [
        {"num_heads": 3},
        {"num_heads": 2, "num_virtual": 3},
        {"num_virtual": 2, "variant": "paper"},
    ],
    ids=["all_pairs", "virtual", "virtual_paper"],
)
def test_outputs_and_gradients_are_those_without_blocks(options):
    draw = np.random.default_rng(0)
    entities = draw.normal(size=(2, 8, 5)).astype("float32")
    mask = np.ones((2, 8), bool)
    mask[0, [1, 6]] = False
    plain = SimplicialAttention(6, **options)
    blocked = SimplicialAttention(6, block_size=2, **options)
    for layer in (plain, blocked):
        layer.build((None, None, 5))
    blocked.set_weights(plain.get_weights())

    def loss(call, given):
        return ops.sum(ops.sin(call(given, mask=mask)))

    def everything(layer):
        by_weight, by_input = layer_gradients(loss, layer, entities)
        outputs = run(functools.partial(layer, mask=mask), entities)
        return [np.asarray(outputs), by_input, *by_weight.values()]

    for one, expected in zip(everything(blocked), everything(plain), strict=True):
        np.testing.assert_allclose(one, expected, 1e-5, 1e-5)


def test_virtual_entities_that_all_examples_share_are_shared_in_blocks_too():
    draw = np.random.default_rng(0)
    standard = draw.normal(size=(3, 4, 5)).astype("float32")
    virtual = draw.normal(size=(1, 3, 5)).astype("float32")
    for variant in ("published", "paper"):
        layer = SimplicialAttention(6, num_virtual=3, variant=variant, block_size=2)
        layer.build((None, None, 5))
        outputs, own, attention = layer.attend(standard, virtual)
        repeated = layer(np.concatenate([standard, np.repeat(virtual, 3, axis=0)], axis=1))
        np.testing.assert_allclose(np.asarray(outputs), np.asarray(repeated)[:, :4], 1e-5, 1e-6)
        assert own.shape[0] == 1 and not attention


def test_blocks_tell_no_attention():
    layer = SimplicialAttention(4, block_size=2)
    with pytest.raises(ValueError, match="block_size=None; received block_size=2"):
        layer(np.ones((1, 5, 4), "float32"), return_attention=True)


def test_a_block_size_that_is_none_is_an_error():
    with pytest.raises(ValueError, match="positive integer; received 0"):
        SimplicialAttention(4, block_size=0)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a graph of TensorFlow")
def test_any_number_of_entities_goes_through_one_graph():
    import tensorflow as tf

    layer = SimplicialAttention(4, block_size=3)
    layer.build((None, None, 5))
    plain = SimplicialAttention(4)
    plain.build((None, None, 5))
    plain.set_weights(layer.get_weights())

    @tf.function(input_signature=[tf.TensorSpec((None, None, 5))])
    def graph(entities):
        with tf.GradientTape() as tape:
            tape.watch(entities)
            outputs = layer(entities)
        return outputs, tape.gradient(outputs, entities)

    for batch, count in ((1, 2), (2, 7)):
        entities = np.random.default_rng(1).normal(size=(batch, count, 5)).astype("float32")
        outputs, gradient = graph(tf.constant(entities))
        np.testing.assert_allclose(outputs, plain(entities), 1e-5, 1e-5)
        assert gradient.shape == entities.shape
