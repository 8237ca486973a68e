"""Every layer and model once: what the promises that hold for all of them are tested on."""

from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np

from tf_relational import layers, models


@dataclass(frozen=True)
class LayerCase:
    """One layer, small.

    Attributes:
        name: the test's name.
        make: function from keyword arguments that every layer takes (`dtype`) to a new layer.
        shape: of one example.
        dtype: of the input; `uint8` ones are pictures.
        parameters: how many the built layer has.
        entities: how many of the input's rows are entities that may change places, 0 for none.
        masked: whether the layer honours a mask over entities.
        attention: the names of what it attends to.
    """

    name: str
    make: Callable
    shape: tuple
    parameters: int
    dtype: str = "float32"
    entities: int = 0
    masked: bool = False
    attention: tuple = ()

    def __str__(self):
        return self.name

    def build(self, seed=0, **options):
        """A new layer that has been built, with weights that depend on the seed alone."""
        layer = self.make(**options)
        layer.build((None, *self.shape))
        draw = np.random.default_rng(seed)
        for variable in layer.trainable_variables:
            # Also what begins at 0 or 1 is moved, so that a lost bias or gain shows.
            noise = draw.normal(scale=0.3, size=variable.shape)
            variable.assign(noise + (variable.path.split("/")[-1] == "gamma"))
        return layer

    def inputs(self, batch=3, seed=1):
        draw = np.random.default_rng(seed)
        if self.dtype == "uint8":
            return draw.integers(0, 256, size=(batch, *self.shape), dtype="uint8")
        return draw.normal(size=(batch, *self.shape)).astype(self.dtype)

    def model(self, layer):
        """The layer as a model that can be saved and exported."""
        if isinstance(layer, keras.Model):
            return layer
        inputs = keras.Input(self.shape, dtype=self.dtype, name="entities")
        return keras.Model(inputs, layer(inputs))


SMALL_AGENT = {
    "model_dim": 10,
    "iterations": 1,
    "conv_filters": (3, 4),
    "hidden_units": (6, 5),
}


CASES = [
    LayerCase("coordinates", layers.Coordinates, (3, 4, 2), 0),
    LayerCase(
        "relational_attention",
        lambda **options: layers.RelationalAttention(num_heads=2, **options),
        (5, 8),
        8 * 24,
        entities=5,
        masked=True,
        attention=("standard",),
    ),
    LayerCase(
        "relational_attention_virtual_paper",
        lambda **options: layers.RelationalAttention(
            num_heads=4, num_virtual=2, variant="paper", **options
        ),
        (7, 8),
        8 * 24,
        entities=5,
        masked=True,
        attention=("standard", "virtual"),
    ),
    LayerCase(
        "simplicial_attention",
        lambda **options: layers.SimplicialAttention(6, num_heads=2, num_virtual=3, **options),
        (8, 8),
        8 * 24 + 6 * 3 * 3,
        entities=5,
        masked=True,
        attention=("simplicial",),
    ),
    LayerCase(
        "simplicial_attention_paper",
        lambda **options: layers.SimplicialAttention(6, num_virtual=2, variant="paper", **options),
        (7, 8),
        8 * 24 + 6**3,
        entities=5,
        masked=True,
        attention=("simplicial",),
    ),
    LayerCase(
        "simplicial_attention_without_virtual",
        lambda **options: layers.SimplicialAttention(4, **options),
        (5, 8),
        8 * 16 + 4**3,
        entities=5,
        masked=True,
        attention=("simplicial",),
    ),
    LayerCase(
        "simplicial_attention_in_blocks",
        lambda **options: layers.SimplicialAttention(4, num_heads=2, block_size=2, **options),
        (5, 8),
        8 * 16 + 4 * 2 * 2,
        entities=5,
        masked=True,
    ),
    LayerCase(
        "relational_block",
        lambda **options: layers.RelationalBlock(num_heads=2, iterations=2, **options),
        (5, 8),
        8 * 24 + 2 * (8 * 8 + 8) + 2 * 2 * 16,
        entities=5,
        masked=True,
        attention=("block_0/standard", "block_1/standard"),
    ),
    LayerCase(
        "simplicial_block",
        lambda **options: layers.SimplicialBlock(
            num_heads=2, simplicial_dim=6, num_simplicial_heads=2, num_virtual=3, **options
        ),
        (5, 8),
        3 * 8 + 8 * 24 + (8 * 24 + 6 * 3 * 3) + (14 * 8 + 8) + (8 * 8 + 8) + 2 * (2 * 16 + 12),
        entities=5,
        masked=True,
        attention=tuple(
            f"block_{i}/{name}" for i in range(2) for name in ("simplicial", "standard", "virtual")
        ),
    ),
    LayerCase(
        "relational_agent",
        lambda **options: models.RelationalAgent(**SMALL_AGENT, **options),
        (5, 6, 3),
        # convolutions, projection, block, hidden layers, heads
        (39 + 52) + 4 * 8 + (10 * 30 + 2 * 110 + 40) + (66 + 35) + (24 + 6),
        dtype="uint8",
        attention=("block_0/standard",),
    ),
    LayerCase(
        "simplicial_agent",
        lambda **options: models.SimplicialAgent(simplicial_dim=4, **SMALL_AGENT, **options),
        (5, 6, 3),
        (39 + 52) + 4 * 8 + (20 + 10 * 30 + 10 * 16 + 64 + 150 + 110 + 48) + (66 + 35) + (24 + 6),
        dtype="uint8",
        attention=("block_0/simplicial", "block_0/standard", "block_0/virtual"),
    ),
]
