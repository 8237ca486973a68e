"""Coordinates as features."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="tf_relational")
class Coordinates(keras.layers.Layer):
    """Joins to every cell of a grid of features where it stands: row first, then column.

    Rows and columns are evenly spaced from -1 (top, left) to 1 (bottom, right); a single row or
    column stands at -1.

    Inputs: `[B, rows, columns, D]`.

    Outputs: `[B, rows, columns, D + 2]`, the coordinates last.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Section 4.1; order and range are the authors' code's (`docs/fidelity.md`, row L4).

    Example:

    >>> import numpy as np
    >>> Coordinates()(np.zeros((1, 2, 3, 4), "float32"))[0, 1, :, -2:].numpy()
    array([[ 1., -1.],
           [ 1.,  0.],
           [ 1.,  1.]], dtype=float32)
    """

    def call(self, grid):
        batch, rows, columns, _ = ops.shape(grid)
        row = ops.broadcast_to(
            ops.reshape(self._line(rows), (1, rows, 1, 1)), (batch, rows, columns, 1)
        )
        column = ops.broadcast_to(
            ops.reshape(self._line(columns), (1, 1, columns, 1)), (batch, rows, columns, 1)
        )
        return ops.concatenate([grid, row, column], axis=-1)

    def _line(self, size):
        if isinstance(size, int):
            return ops.convert_to_tensor(np.linspace(-1, 1, size), dtype=self.compute_dtype)
        steps = ops.cast(ops.arange(size), "float32")
        return ops.cast(
            steps * 2 / ops.cast(ops.maximum(size - 1, 1), "float32") - 1, self.compute_dtype
        )

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] + 2)
