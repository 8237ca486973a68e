"""The authors' recorded numbers, and gradients to compare with theirs, on any Keras backend."""

from pathlib import Path

import keras
import numpy as np

FOLDER = Path(__file__).parent / "golden"


def read(name, case=None):
    """The arrays of `tests/golden/<name>.npz`, or those of one case without its prefix."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        if case is None:
            return dict(arrays)
        prefix = f"{case}/"
        return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}


def run(function, *arrays):
    """Call a function of tensors; JAX compiles it whole, which is quicker than step by step."""
    if keras.backend.backend() == "jax":
        import jax

        function = jax.jit(function)
    return function(*arrays)


def function_gradients(function, *arrays):
    """The gradients of a scalar function of tensors by each of its arguments, as arrays."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tensors = [tf.constant(array) for array in arrays]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        gradients = [tf.convert_to_tensor(each) for each in tape.gradient(value, tensors)]
    else:
        import jax
        import jax.numpy as jnp

        every = tuple(range(len(arrays)))
        gradients = jax.jit(jax.grad(function, argnums=every))(
            *[jnp.asarray(array) for array in arrays]
        )
    return [np.asarray(each) for each in gradients]


def layer_gradients(loss, layer, inputs):
    """The gradients of a scalar by a layer's weights and inputs.

    Args:
        loss: function of `(call, inputs)`, where `call(...)` calls the layer.
        layer: a built Keras layer or model.
        inputs: one array, or a dict of arrays; integers and dicts have no gradient.

    Returns:
        Dict from the variables' paths to arrays, and the array of the inputs or None.
    """
    variables = layer.trainable_variables
    floats = not isinstance(inputs, dict) and np.issubdtype(np.asarray(inputs).dtype, np.floating)

    def of_arrays(*arrays):
        values, given = arrays[: len(variables)], arrays[-1] if floats else inputs

        def call(*args, **kwargs):
            fixed = [variable.value for variable in layer.non_trainable_variables]
            return layer.stateless_call(list(values), fixed, *args, **kwargs)[0]

        return loss(call, given)

    arrays = [np.asarray(variable.value) for variable in variables]
    arrays += [np.asarray(inputs)] * floats
    gradients = function_gradients(of_arrays, *arrays)
    by_path = {variable.path: each for variable, each in zip(variables, gradients, strict=False)}
    return by_path, gradients[-1] if floats else None
