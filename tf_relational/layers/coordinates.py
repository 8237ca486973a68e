"""Coordinates as features."""

import keras
import numpy as np
from keras import ops

ORDERS = ("rows_first", "columns_first")


@keras.saving.register_keras_serializable(package="tf_relational")
class Coordinates(keras.layers.Layer):
    """Joins to every cell of a grid of features where it stands.

    Rows and columns are evenly spaced from the first limit (top, left) to the second (bottom,
    right); a single row or column stands at the first. The defaults are the simplicial agent's;
    `Coordinates("columns_first", (0, 1), endpoint=False)` are the PrediNet's, which puts column
    c of C at c / C and row r of R at r / R.

    Args:
        order: "rows_first" or "columns_first", which of the two coordinates comes first.
        limits: where the first and the last row and column stand.
        endpoint: False to stop one step short of the second limit.

    Inputs: `[B, rows, columns, D]`.

    Outputs: `[B, rows, columns, D + 2]`, the coordinates last.

    Raises:
        ValueError: an unknown order, limits that are no pair.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Section 4.1, and Shanahan et al., "An Explicitly Relational Neural Network Architecture",
    Section 2; order and range are the authors' code's (`docs/fidelity.md`, rows L4 and P1).

    Example:

    >>> import numpy as np
    >>> Coordinates()(np.zeros((1, 2, 3, 4), "float32"))[0, 1, :, -2:].numpy()
    array([[ 1., -1.],
           [ 1.,  0.],
           [ 1.,  1.]], dtype=float32)
    """

    def __init__(self, order="rows_first", limits=(-1, 1), endpoint=True, **kwargs):
        super().__init__(**kwargs)
        if order not in ORDERS or len(limits) != 2:
            raise ValueError(
                f"order is one of {ORDERS} and limits a pair; received order={order!r}, "
                f"limits={limits!r}."
            )
        self.order = order
        self.limits = tuple(limits)
        self.endpoint = endpoint

    def call(self, grid):
        batch, rows, columns, _ = ops.shape(grid)
        row = ops.broadcast_to(
            ops.reshape(self._line(rows), (1, rows, 1, 1)), (batch, rows, columns, 1)
        )
        column = ops.broadcast_to(
            ops.reshape(self._line(columns), (1, 1, columns, 1)), (batch, rows, columns, 1)
        )
        both = [row, column] if self.order == "rows_first" else [column, row]
        return ops.concatenate([grid, *both], axis=-1)

    def _line(self, size):
        first, last = self.limits
        if isinstance(size, int):
            line = np.linspace(first, last, size, endpoint=self.endpoint)
            return ops.convert_to_tensor(line, dtype=self.compute_dtype)
        steps = ops.cast(ops.arange(size), "float32")
        whole = ops.cast(ops.maximum(size - 1, 1) if self.endpoint else size, "float32")
        return ops.cast(first + steps * (last - first) / whole, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] + 2)

    def get_config(self):
        config = super().get_config()
        config.update(order=self.order, limits=self.limits, endpoint=self.endpoint)
        return config
