"""Relational cores by name: what a model puts between its entities and its head."""

import keras

from tf_relational.layers.conv_predinet import ConvPrediNet
from tf_relational.layers.mha import MHA
from tf_relational.layers.mlp1 import MLP1
from tf_relational.layers.mlp2 import MLP2
from tf_relational.layers.predinet import PrediNet
from tf_relational.layers.relation_net import RelationNet
from tf_relational.layers.relational_block import RelationalBlock
from tf_relational.layers.simplicial_block import SimplicialBlock

# Every core takes entities [B, N, D] and gives entities [B, N, D'] or one vector [B, D'].
CORES = {
    "mha": MHA,
    "mlp1": MLP1,
    "mlp2": MLP2,
    "predinet": PrediNet,
    "predinet_conv": ConvPrediNet,
    "relation_net": RelationNet,
    "relational": RelationalBlock,
    "simplicial": SimplicialBlock,
}


def build_core(core, **options):
    """A relational core from its name, or the layer itself.

    Args:
        core: a name in `CORES`, a Keras layer, or a serialised one.
        options: the constructor's arguments, for a name.

    Returns:
        A Keras layer from entities `[B, N, D]` to entities `[B, N, D']` or a vector `[B, D']`.

    Raises:
        ValueError: an unknown name, or options for a layer that is already made.

    Example:

    >>> build_core("relational", num_heads=4).num_heads
    4
    """
    if isinstance(core, str):
        if core not in CORES:
            raise ValueError(f"core is one of {sorted(CORES)} or a layer; received {core!r}.")
        return CORES[core](**options)
    if options:
        raise ValueError(f"A core that is already a layer takes no options; received {options}.")
    if isinstance(core, dict):
        return keras.saving.deserialize_keras_object(core)
    return core
