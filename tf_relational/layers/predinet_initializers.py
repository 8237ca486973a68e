"""First weights of the PrediNet paper's layers, as in the authors' code."""

import keras


def kernel_initializer(identifier=None):
    """An initialiser of weights; for None a truncated normal of deviation 0.1 around 0."""
    if identifier is None:
        return keras.initializers.TruncatedNormal(stddev=0.1)
    return keras.initializers.get(identifier)


def bias_initializer(identifier=None):
    """An initialiser of biases; for None the constant 0.1."""
    if identifier is None:
        return keras.initializers.Constant(0.1)
    return keras.initializers.get(identifier)


def dense(units, kernel, bias, **options):
    """A dense layer whose first weights are drawn apart from those of others alike."""
    return keras.layers.Dense(
        units, kernel_initializer=kernel.clone(), bias_initializer=bias.clone(), **options
    )
