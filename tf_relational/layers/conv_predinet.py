"""PrediNet for large feature maps: its queries come from a convolutional net."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import check_positive
from tf_relational.layers.predinet import PrediNet
from tf_relational.layers.predinet_initializers import bias_initializer as bias_or_published


@keras.saving.register_keras_serializable(package="tf_relational")
class ConvPrediNet(PrediNet):
    """PrediNet whose queries are linear in a small convolutional net's view of the entities.

    Flattening a large feature map makes the query weights of `PrediNet` most of a network. Here

        Q1_h = flatten(conv(L)) W_Q1_h        Q2_h = flatten(conv(L)) W_Q2_h

    where L is laid out as a grid again and `conv` is a chain of convolutions with bias and ReLU,
    without padding. Keys, objects and relations are those of `PrediNet`. With the defaults, which
    are the paper's for Atari, a 27 x 20 map becomes 13 x 9, 6 x 4 and 2 x 1, and entities of 34
    features make 63,808 parameters.

    Letters: B batch, N entities, D features, H heads, R relations, K key size, C coordinates.

    Args:
        num_heads, num_relations, key_size, num_coordinates: as in `PrediNet`.
        grid: rows and columns of the feature map, whose product is N.
        filters: filters of each convolution.
        kernel_size: side of the convolutions' windows.
        strides: of every convolution.
        kernel_initializer: of all weights, the convolutions' among them; None for the published
            truncated normal of deviation 0.1.
        bias_initializer: of the convolutions; None for 0.1, as the other biases of the paper.

    Weights: as in `PrediNet`, with as many rows of `query1_weights` and `query2_weights` as `conv`
    gives features; and those of `convolutions`.

    Inputs: entities `[B, N, D]`, row of the grid after row; `mask`, booleans `[B, N]`, False for
    entities that no head may attend to and that count as 0 in the queries.

    Outputs: as `PrediNet`.

    Raises:
        ValueError: as `PrediNet`; a grid that has not N cells, or is too small for the
            convolutions.

    Source: Shanahan, Nikiforou, Creswell, Kaplanis, Barrett and Garnelo, "An Explicitly Relational
    Neural Network Architecture", Section S11, Table S3. That the coordinates go into the
    convolutions, and that no weight there but theirs has a bias, follows from the table's 1,590,355
    parameters.

    Example:

    >>> import numpy as np
    >>> layer = ConvPrediNet()
    >>> layer(np.zeros((2, 27 * 20, 34), "float32")).shape, layer.count_params()
    (TensorShape([2, 1088]), 63808)
    """

    def __init__(
        self,
        num_heads=16,
        num_relations=64,
        key_size=16,
        num_coordinates=2,
        grid=(27, 20),
        filters=(32, 32, 32),
        kernel_size=3,
        strides=2,
        kernel_initializer=None,
        bias_initializer=None,
        **kwargs,
    ):
        super().__init__(
            num_heads, num_relations, key_size, num_coordinates, kernel_initializer, **kwargs
        )
        self.grid = tuple(grid)
        self.filters = tuple(filters)
        self.kernel_size = kernel_size
        self.strides = strides
        self.bias_initializer = bias_or_published(bias_initializer)
        check_positive(kernel_size=kernel_size, strides=strides)
        if len(self.grid) != 2:
            raise ValueError(f"grid is a pair of rows and columns; received {grid!r}.")
        self.convolutions = [
            keras.layers.Conv2D(
                size,
                kernel_size,
                strides,
                activation="relu",
                kernel_initializer=self.kernel_initializer.clone(),
                bias_initializer=self.bias_initializer.clone(),
                dtype=self.dtype_policy,
                name=f"query_conv{number}",
            )
            for number, size in enumerate(self.filters, start=1)
        ]

    def build_query_net(self, count, features):
        rows, columns = self.grid
        if rows * columns != count:
            raise ValueError(f"A grid {self.grid} has {rows * columns} cells; received {count}.")
        shape = (None, rows, columns, features)
        for layer in self.convolutions:
            if min(shape[1:3]) < self.kernel_size:
                raise ValueError(
                    f"A grid {self.grid} is too small for {len(self.filters)} convolutions of "
                    f"window {self.kernel_size} and stride {self.strides}."
                )
            layer.build(shape)
            shape = layer.compute_output_shape(shape)
        self.query_size = shape[1] * shape[2] * shape[3]
        return self.query_size

    def query_features(self, entities):
        """What the queries are linear in: `flatten(conv(L))`."""
        cells = ops.reshape(entities, (-1, *self.grid, self.entities_shape[1]))
        for layer in self.convolutions:
            cells = layer(cells)
        return ops.reshape(cells, (-1, self.query_size))

    def get_config(self):
        config = super().get_config()
        config.update(
            grid=self.grid,
            filters=self.filters,
            kernel_size=self.kernel_size,
            strides=self.strides,
            bias_initializer=keras.initializers.serialize(self.bias_initializer),
        )
        return config
