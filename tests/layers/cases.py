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
        shape: of one example; a dict of several named inputs' shapes.
        dtype: of the input; `uint8` ones are pictures. A dict for a dict of inputs.
        parameters: how many the built layer has.
        entities: how many of the input's rows are entities that may change places, 0 for none.
        masked: whether the layer honours a mask over entities.
        vector: whether one vector comes out, in which entities have no places.
        fixed: whether the weights fix the number of entities.
        attention: the names of what it attends to.
    """

    name: str
    make: Callable
    shape: tuple | dict
    parameters: int
    dtype: str | dict = "float32"
    entities: int = 0
    masked: bool = False
    vector: bool = False
    fixed: bool = False
    attention: tuple = ()

    def __str__(self):
        return self.name

    def build(self, seed=0, **options):
        """A new layer that has been built, with weights that depend on the seed alone."""
        layer = self.make(**options)
        layer.build(self.batch_shape)
        draw = np.random.default_rng(seed)
        for variable in layer.trainable_variables:
            # Also what begins at 0 or 1 is moved, so that a lost bias or gain shows.
            noise = draw.normal(scale=0.3, size=variable.shape)
            variable.assign(noise + (variable.path.split("/")[-1] == "gamma"))
        return layer

    @property
    def batch_shape(self):
        return self.each_input(lambda shape, dtype: (None, *shape))

    def each_input(self, function):
        """`function(shape, dtype)` of the input, or a dict of it for each of several."""
        if isinstance(self.shape, dict):
            return {name: function(self.shape[name], self.dtype[name]) for name in self.shape}
        return function(self.shape, self.dtype)

    def inputs(self, batch=3, seed=1):
        draw = np.random.default_rng(seed)

        def drawn(shape, dtype):
            if dtype == "uint8":
                return draw.integers(0, 256, size=(batch, *shape), dtype="uint8")
            return draw.normal(size=(batch, *shape)).astype(dtype)

        return self.each_input(drawn)

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
SMALL_RELATIONS_GAME = {
    "num_classes": 3,
    "num_tasks": 2,
    "filters": 5,
    "kernel_size": 4,
    "strides": 2,
    "hidden_units": 6,
}


CASES = [
    LayerCase("coordinates", layers.Coordinates, (3, 4, 2), 0),
    LayerCase(
        "coordinates_columns_first",
        lambda **options: layers.Coordinates("columns_first", (0, 1), False, **options),
        (3, 4, 2),
        0,
    ),
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
    LayerCase(
        "predinet",
        lambda **options: layers.PrediNet(4, 3, key_size=2, **options),
        (5, 6),
        2 * 30 * 8 + 6 * 2 + 6 * 3,
        masked=True,
        vector=True,
        fixed=True,
        attention=("object1", "object2"),
    ),
    LayerCase(
        "predinet_one_head_without_coordinates",
        lambda **options: layers.PrediNet(1, 3, key_size=2, num_coordinates=0, **options),
        (5, 6),
        2 * 30 * 2 + 6 * 2 + 6 * 3,
        masked=True,
        vector=True,
        fixed=True,
        attention=("object1", "object2"),
    ),
    LayerCase(
        "conv_predinet",
        lambda **options: layers.ConvPrediNet(
            4, 3, key_size=2, grid=(7, 5), filters=(3, 4), kernel_size=2, **options
        ),
        (35, 6),
        # The grid becomes 3 x 2 and then 1 x 1.
        (4 * 6 * 3 + 3) + (4 * 3 * 4 + 4) + 2 * 4 * 8 + 6 * 2 + 6 * 3,
        masked=True,
        vector=True,
        fixed=True,
        attention=("object1", "object2"),
    ),
    LayerCase(
        "relation_net",
        lambda **options: layers.RelationNet(4, 3, **options),
        (5, 6),
        12 * 4 + 4 * 3,
        entities=5,
        masked=True,
        vector=True,
    ),
    LayerCase(
        "relation_net_paper",
        lambda **options: layers.RelationNet(4, 3, variant="paper", **options),
        (5, 6),
        12 * 4 + 4 * 3,
        entities=5,
        masked=True,
        vector=True,
    ),
    LayerCase(
        "mha",
        lambda **options: layers.MHA(4, key_size=2, value_size=3, **options),
        (5, 6),
        2 * 6 * 8 + 6 * 12 + 4 * 5,
        masked=True,
        vector=True,
        fixed=True,
        attention=("standard",),
    ),
    LayerCase(
        "mlp1",
        lambda **options: layers.MLP1(4, **options),
        (5, 6),
        30 * 4 + 4,
        masked=True,
        vector=True,
        fixed=True,
    ),
    LayerCase(
        "mlp2",
        lambda **options: layers.MLP2(3, 4, **options),
        (5, 6),
        (30 * 3 + 3) + (3 * 4 + 4),
        masked=True,
        vector=True,
        fixed=True,
    ),
    LayerCase(
        "relations_game",
        lambda **options: models.RelationsGameModel(
            layers.PrediNet(4, 3, key_size=2, **options), **SMALL_RELATIONS_GAME, **options
        ),
        {"image": (8, 10, 3), "task": (2,)},
        (4 * 4 * 3 * 5 + 5) + (2 * 84 * 8 + 7 * 2 + 7 * 3) + (30 * 6 + 6) + (6 * 3 + 3),
        dtype={"image": "uint8", "task": "float32"},
        attention=("object1", "object2"),
    ),
    LayerCase(
        "relations_game_paper_on_entities",
        lambda **options: models.RelationsGameModel(
            layers.RelationalBlock(1, 1, **options),
            variant="paper",
            **{**SMALL_RELATIONS_GAME, "num_tasks": 1},
            **options,
        ),
        {"image": (8, 10, 3)},
        (4 * 4 * 3 * 5 + 5) + (7 * 21 + 2 * 56 + 28) + (7 * 6 + 6) + (6 * 3 + 3),
        dtype={"image": "uint8"},
        attention=("block_0/standard",),
    ),
]
