"""First weights of an agent's view: the authors', or kernels that answer to contrast alone."""

import keras
from keras import ops

INITIALIZATIONS = ("published", "contrast")


@keras.saving.register_keras_serializable(package="tf_relational")
class ContrastKernel(keras.initializers.Initializer):
    """Glorot uniform times `gain`, each kernel then shifted to sum to zero over its window.

    With w `[rows, columns, channels_in, channels_out]` drawn from Keras's `glorot_uniform`::

        kernel = gain (w - mean of w over rows and columns)

    A convolution with such a kernel and no bias gives 0 wherever the picture is of one colour.
    Box-World's board is mostly floor: with the authors' first weights all of it adds to what the
    agent sees, with these the tiles and the edges alone do.

    Args:
        gain: factor, above 0.
        seed: as of every Keras initialiser.

    Example:

    >>> kernel = ContrastKernel(4.0, seed=0)((2, 2, 3, 12))
    >>> float(abs(keras.ops.sum(kernel, axis=(0, 1))).numpy().max()) < 1e-5
    True
    """

    def __init__(self, gain=1.0, seed=None):
        if gain <= 0:
            raise ValueError(f"gain has to be above 0; received {gain!r}.")
        self.gain = gain
        self.seed = seed

    def __call__(self, shape, dtype=None):
        kernel = scaled_glorot_uniform(self.gain, self.seed)(shape, dtype)
        return kernel - ops.mean(kernel, axis=(0, 1), keepdims=True)

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed}


def scaled_glorot_uniform(gain, seed=None):
    """Keras's default initialiser, its values multiplied by `gain`."""
    return keras.initializers.VarianceScaling(
        gain**2, mode="fan_avg", distribution="uniform", seed=seed
    )


def view_initializers(initialization):
    """Initialisers of the two convolutions and of the entity projection.

    Args:
        initialization: "published", the authors' (Glorot uniform throughout); or "contrast",
            first convolution `ContrastKernel(4)`, second Glorot uniform times 2, projection Glorot
            uniform times 3; `docs/results.md` has runs that begin so.

    Raises:
        ValueError: another name.
    """
    if initialization == "published":
        return (scaled_glorot_uniform(1.0), scaled_glorot_uniform(1.0)), scaled_glorot_uniform(1.0)
    if initialization == "contrast":
        return (ContrastKernel(4.0), scaled_glorot_uniform(2.0)), scaled_glorot_uniform(3.0)
    raise ValueError(
        f"initialization is one of {list(INITIALIZATIONS)}; received {initialization!r}."
    )
