"""2-simplicial attention in blocks against its formula on all triples at once, and its memory.

Tests with "equal" or "no_tensor" in their names run on JAX too, by
`tests/layers/test_second_backend.py`.
"""

import functools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from tests.golden_numbers import function_gradients, run
from tf_relational.ops import blocked_simplicial_attention, unsigned_scalar_product

ROOT = Path(__file__).resolve().parents[2]


def on_all_triples(query, key1, key2, value, kernel, mask=None):
    """Equation 15 with all N M^2 triples of vectors, weights and messages side by side."""
    triples = query[:, :, None, None], key1[:, None, :, None], key2[:, None, None, :]
    logits = unsigned_scalar_product(*triples)
    if mask is not None:
        pairs = mask[:, None, :, None] & mask[:, None, None, :]
        logits = ops.where(pairs[..., None], logits, -1e30)
    batch, queries, count, _, heads = logits.shape
    weights = ops.softmax(ops.reshape(logits, (batch, queries, count**2, heads)), axis=2)
    weights = ops.reshape(weights, logits.shape)
    messages = ops.einsum("bjhr,bkhs,hqrs->bjkhq", value, value, kernel)
    return ops.einsum("bnjkh,bjkhq->bnhq", weights, messages)


def arguments(batch, queries, count, heads, features, scale=0.8):
    draw = np.random.default_rng(0)
    shapes = [(batch, queries, heads, features)] + 3 * [(batch, count, heads, features)]
    shapes.append((heads, features, features, features))
    return [draw.normal(scale=scale, size=shape).astype("float32") for shape in shapes]


def outputs_and_gradients(form, arrays):
    slopes = np.random.default_rng(9).normal(size=arrays[0].shape).astype("float32")
    gradients = function_gradients(lambda *given: ops.sum(form(*given) * slopes), *arrays)
    return [np.asarray(run(form, *arrays)), *gradients]


def assert_equal_on_blocks(arrays, block_size, mask=None):
    in_blocks = functools.partial(blocked_simplicial_attention, mask=mask, block_size=block_size)
    at_once = functools.partial(on_all_triples, mask=mask)
    blocked = outputs_and_gradients(in_blocks, arrays)
    for one, expected in zip(blocked, outputs_and_gradients(at_once, arrays), strict=True):
        scale = max(1, np.abs(expected).max())
        np.testing.assert_allclose(one / scale, expected / scale, rtol=1e-5, atol=1e-5)
    return blocked


def test_outputs_and_all_gradients_equal_the_formula():
    # Two heads, three blocks of which one is half full, masked entities, an example without any
    # pair, and logits of up to 60, so that the running maximum rises on the way.
    arrays = arguments(3, 5, 10, 2, 3, scale=1.2)
    mask = np.ones((3, 10), bool)
    mask[0, [0, 1, 2, 3, 6]] = False
    mask[1] = False
    assert_equal_on_blocks(arrays, 4, mask)


@pytest.mark.parametrize("block_size", [1, 4, 100])
def test_any_block_gives_the_same(block_size):
    assert_equal_on_blocks(arguments(2, 3, 4, 1, 4), block_size)


def test_vectors_of_zero_have_the_formula_s_gradients():
    arrays = arguments(5, 3, 4, 1, 3)
    for example, vectors in enumerate(arrays[:4]):
        vectors[example] = 0
    # A query and two keys that are orthogonal to each other: a product of 0 without a zero vector.
    arrays[0][4, 0, 0], arrays[1][4, 1, 0], arrays[2][4, 2, 0] = np.eye(3)
    for each in assert_equal_on_blocks(arrays, 2):
        assert np.isfinite(each).all()
    in_blocks = functools.partial(blocked_simplicial_attention, block_size=2)
    for each in outputs_and_gradients(in_blocks, [np.zeros_like(each) for each in arrays]):
        assert (each == 0).all()


def test_half_precision_comes_out_as_it_goes_in_and_does_not_overflow():
    arrays = arguments(1, 4, 5, 1, 3, scale=30)
    expected = np.asarray(on_all_triples(*arrays[:3], arrays[3] / 30, arrays[4] / 30))
    # Logits of some 30^3, and their squares, are outside of float16.
    halves = [each.astype("float16") for each in (*arrays[:3], arrays[3] / 30, arrays[4] / 30)]
    outputs = blocked_simplicial_attention(*halves, block_size=2)
    assert keras.backend.standardize_dtype(outputs.dtype) == "float16"
    np.testing.assert_allclose(np.asarray(outputs, "float32"), expected, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("block_size", [0, -1, 2.0, None])
def test_a_block_size_that_is_none_is_an_error(block_size):
    with pytest.raises(ValueError, match="positive integer"):
        blocked_simplicial_attention(*arguments(1, 2, 2, 1, 2), block_size=block_size)


def compiled_program(form, arrays):
    """The text of what XLA runs for the outputs and the gradients, for arrays of these shapes."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        def update(*tensors):
            with tf.GradientTape() as tape:
                tape.watch(tensors)
                loss = tf.reduce_sum(tf.square(form(*tensors)))
            return loss, tape.gradient(loss, tensors)

        specs = [tf.TensorSpec(each.shape) for each in arrays]
        compiled = tf.function(update, jit_compile=True)
        return compiled.experimental_get_compiler_ir(*specs)(stage="optimized_hlo")
    import jax

    every = tuple(range(len(arrays)))
    update = jax.value_and_grad(lambda *given: ops.sum(ops.square(form(*given))), argnums=every)
    return jax.jit(update).lower(*arrays).compile().as_text()


def largest_tensor(program):
    shapes = re.findall(r"\b[a-z]+[0-9]+\[([0-9,]+)\]", program)
    assert shapes
    return max(math.prod(map(int, shape.split(","))) for shape in shapes)


def test_no_tensor_of_the_compiled_program_grows_with_the_cube_of_n():
    count, block = 512, 16
    arrays = arguments(1, count, count, 1, 4)
    in_blocks = functools.partial(blocked_simplicial_attention, block_size=block)
    largest = largest_tensor(compiled_program(in_blocks, arrays))
    assert largest <= count * block**2
    assert largest * 1000 < count**3
    at_once = compiled_program(on_all_triples, arguments(1, 32, 32, 1, 4))
    assert largest_tensor(at_once) >= 32**3


STEP_BY_STEP = """
import resource
import tensorflow as tf
from tf_relational.layers import SimplicialAttention

@tf.function(input_signature=[tf.TensorSpec((None, None, 4))])
def update(entities):
    with tf.GradientTape() as tape:
        tape.watch(entities)
        loss = tf.reduce_sum(layer(entities) ** 2)
    return tape.gradient(loss, entities)

layer = SimplicialAttention(4, block_size=16)
update(tf.ones((1, 33, 4)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gradient = update(tf.random.normal((1, {count}, 4)))
assert tf.reduce_all(tf.math.is_finite(gradient))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_without_a_compiler_a_process_does_not_rise_by_one_tensor_of_all_triples():
    count = 320
    done = subprocess.run(
        [sys.executable, "-c", STEP_BY_STEP.format(count=count)],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # In KiB; the plain form holds several such tensors.
    one_tensor = 4 * count**3 / 1024
    assert int(done.stdout.split()[-1]) < one_tensor / 2
