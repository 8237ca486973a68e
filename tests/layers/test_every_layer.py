"""What every layer and model promises, over one list of cases."""

import functools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops, tree

from tests.golden_numbers import layer_gradients, run
from tests.layers.cases import CASES

on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow exports"
)
every_case = pytest.mark.parametrize("case", CASES, ids=str)
# What takes long and does not hang on a layer's arguments is tested on one case of each class.
# A layer that works in blocks is another program, a loop with a gradient of its own.
ONE_A_CLASS = list(
    {
        (type(layer), getattr(layer, "block_size", None)): case
        for case, layer in ((case, case.make()) for case in reversed(CASES))
    }.values()
)
one_case_of_each_class = pytest.mark.parametrize("case", ONE_A_CLASS, ids=str)
ENTITY_CASES = [case for case in CASES if case.entities]


def arrays(outputs):
    return tree.map_structure(np.asarray, outputs)


def assert_close(left, right, rtol=1e-5, atol=1e-5):
    assert tree.is_nested(left) == tree.is_nested(right)
    pairs = zip(tree.flatten(left), tree.flatten(right), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(
            np.asarray(one, "float32"), np.asarray(other, "float32"), rtol=rtol, atol=atol
        )


@every_case
def test_parameters_are_as_many_as_counted_by_hand(case):
    assert case.build().count_params() == case.parameters


@every_case
def test_every_argument_survives_the_config(case):
    layer = case.build()
    config = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == layer.get_config()
    if not again.built:
        again.build(case.batch_shape)
    again.set_weights(layer.get_weights())
    assert_close(again(case.inputs()), layer(case.inputs()))


@every_case
def test_attention_comes_with_the_same_outputs(case):
    if not case.attention:
        pytest.skip("has no attention")
    layer, inputs = case.build(), case.inputs()
    outputs = run(layer, inputs)
    attending = functools.partial(layer, return_attention=True)
    if isinstance(outputs, dict):
        with_attention = run(attending, inputs)
        attention = with_attention.pop("attention")
    else:
        with_attention, attention = run(attending, inputs)
    assert_close(with_attention, outputs)
    assert tuple(sorted(attention)) == case.attention
    for name, weights in arrays(attention).items():
        keys = (-2, -1) if "simplicial" in name else -1
        total = weights.sum(axis=keys)
        if getattr(layer, "variant", None) == "paper" and "simplicial" in name:
            assert (total < 1).all() and (total > 0).all()
        else:
            np.testing.assert_allclose(total, 1, rtol=1e-5)


@every_case
def test_output_shapes_are_told_without_computing(case):
    layer, inputs = case.build(), case.inputs()
    outputs = layer(inputs)
    spec = layer(case.each_input(lambda shape, dtype: keras.KerasTensor((None, *shape), dtype)))
    for told, computed in zip(tree.flatten(spec), tree.flatten(outputs), strict=True):
        assert told.shape == (None, *computed.shape[1:])
        assert told.dtype == keras.backend.standardize_dtype(computed.dtype)
    if not isinstance(layer, keras.Model):
        assert layer.compute_output_shape(inputs.shape) == tuple(outputs.shape)


@one_case_of_each_class
def test_a_saved_model_loads_in_safe_mode_and_agrees(case, tmp_path):
    model = case.model(case.build())
    expected = model(case.inputs())
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    assert_close(again(case.inputs()), expected, rtol=1e-6, atol=1e-6)


@on_tensorflow
@one_case_of_each_class
def test_an_export_takes_any_batch_and_agrees(case, tmp_path):
    import tensorflow as tf

    model = case.model(case.build())
    model.export(tmp_path / "export", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "export"))
    for batch in (1, 4):
        inputs = case.inputs(batch)
        assert_close(loaded.serve(inputs), model(inputs))


@on_tensorflow
@one_case_of_each_class
def test_new_batch_sizes_do_not_retrace(case):
    import tensorflow as tf

    layer = case.build()
    spec = case.each_input(lambda shape, dtype: tf.TensorSpec((None, *shape), dtype))
    function = tf.function(lambda inputs: layer(inputs), input_signature=[spec])
    for batch in (1, 2, 5):
        inputs = case.inputs(batch)
        assert_close(function(tree.map_structure(tf.constant, inputs)), layer(inputs))
    assert function.experimental_get_tracing_count() == 1


@one_case_of_each_class
def test_compiled_for_the_accelerator_it_agrees(case):
    layer, inputs = case.build(), case.inputs()
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tensors = tree.map_structure(tf.constant, inputs)
        compiled = tf.function(lambda x: layer(x), jit_compile=True)(tensors)
    else:
        import jax

        compiled = jax.jit(lambda x: layer(x))(inputs)
    assert_close(compiled, layer(inputs))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@every_case
def test_mixed_precision_stays_close(case, policy):
    layer = case.build()
    mixed = case.make(dtype=policy)
    mixed.build(case.batch_shape)
    # Small weights: the comparison is of rounding, not of how a saturated softmax amplifies it.
    small = [0.5 * weight for weight in layer.get_weights()]
    layer.set_weights(small)
    mixed.set_weights(small)
    outputs = mixed(case.inputs())
    half = policy.removeprefix("mixed_")
    for output in tree.flatten(outputs):
        wanted = "float32" if isinstance(layer, keras.Model) else half
        assert keras.backend.standardize_dtype(output.dtype) == wanted
    for variable in mixed.variables:
        assert variable.dtype == "float32"
    tolerance = 0.02 if half == "float16" else 0.12
    assert_close(outputs, layer(case.inputs()), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("what", ["random", "zero", "one_repeated"])
@every_case
def test_gradients_are_finite(case, what):
    inputs = case.inputs()
    if what == "zero":
        inputs = tree.map_structure(np.zeros_like, inputs)
    elif what == "one_repeated":
        inputs = tree.map_structure(
            lambda each: np.broadcast_to(each[:1, :1], each.shape).copy(), inputs
        )

    def loss(call, given):
        return sum(ops.sum(ops.sin(output)) for output in tree.flatten(call(given)))

    by_weight, by_input = layer_gradients(loss, case.build(), inputs)
    for name, gradient in by_weight.items():
        assert np.isfinite(gradient).all(), name
    assert by_input is None or np.isfinite(by_input).all()


@pytest.mark.parametrize("case", ENTITY_CASES, ids=str)
def test_entities_that_change_places_take_their_outputs_along(case):
    layer, inputs = case.build(), case.inputs()
    plain = np.asarray(layer(inputs))

    def placed(order):
        return plain if case.vector else plain[:, order]

    @settings(max_examples=6, deadline=None)
    @given(st.permutations(range(case.entities)))
    def check(order):
        order = [*order, *range(case.entities, inputs.shape[1])]
        np.testing.assert_allclose(
            np.asarray(layer(inputs[:, order])), placed(order), rtol=1e-4, atol=1e-4
        )

    check()


@pytest.mark.parametrize("case", [case for case in CASES if case.masked], ids=str)
def test_what_stands_in_masked_entities_does_not_matter(case):
    layer, inputs = case.build(), case.inputs()
    hidden = np.array([1, 3])
    mask = np.ones(inputs.shape[:2], bool)
    mask[:, hidden] = False
    # Which outputs count: those of the entities seen, or all of a vector.
    seen, kept = mask[0], slice(None) if case.vector else mask[0]
    outputs = np.asarray(layer(inputs, mask=mask))
    other = inputs.copy()
    other[:, hidden] = 7.0
    np.testing.assert_allclose(
        np.asarray(layer(other, mask=mask))[:, kept], outputs[:, kept], rtol=1e-5, atol=1e-5
    )
    if case.vector:
        assert np.abs(np.asarray(layer(inputs)) - outputs).max() > 1e-3
    if not case.fixed:
        # The same as if they were not there at all.
        np.testing.assert_allclose(
            np.asarray(layer(inputs[:, seen])), outputs[:, kept], rtol=1e-4, atol=1e-4
        )
    nobody = np.asarray(layer(inputs, mask=np.zeros_like(mask)))
    assert np.isfinite(nobody).all()
