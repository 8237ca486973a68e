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


def value_and_gradients(loss, layer, inputs):
    """The loss, its gradients by variable path, and its gradient by the inputs.

    Args:
        loss: function of `(call, inputs)`, where `call(*args, **kwargs)` calls the layer.
        layer: a built Keras layer or model.
        inputs: one float or integer array; integers have no gradient.

    Returns:
        The loss as a float, dict from variable path to array, array or None.
    """
    variables = layer.trainable_variables
    floats = np.issubdtype(np.asarray(inputs).dtype, np.floating)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        inputs = tf.constant(inputs)
        with tf.GradientTape() as tape:
            if floats:
                tape.watch(inputs)
            value = loss(layer, inputs)
        sources = [variable.value for variable in variables] + [inputs] * floats
        gradients = [tf.convert_to_tensor(each) for each in tape.gradient(value, sources)]
    elif keras.backend.backend() == "jax":
        import jax
        import jax.numpy as jnp

        fixed = [variable.value for variable in layer.non_trainable_variables]

        def of_arrays(values, given):
            def call(*args, **kwargs):
                return layer.stateless_call(values, fixed, *args, **kwargs)[0]

            return loss(call, given)

        inputs = jnp.asarray(inputs)
        values = [variable.value for variable in variables]
        value, parts = jax.value_and_grad(of_arrays, argnums=(0, 1) if floats else (0,))(
            values, inputs
        )
        gradients = [*parts[0], *parts[1:]]
    else:
        raise NotImplementedError(f"no gradients here on {keras.backend.backend()}")
    gradients = [np.asarray(each) for each in gradients]
    by_path = {
        variable.path: gradient for variable, gradient in zip(variables, gradients, strict=False)
    }
    return float(value), by_path, gradients[-1] if floats else None
