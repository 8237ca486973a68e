"""Relational layers for Keras: entities `(batch, entities, features)` in, entities or a vector out.

Importing this package imports Keras and registers every layer, so that a saved model that has some
of them loads in a process that has imported nothing else.
"""

from tf_relational.layers.conv_predinet import ConvPrediNet
from tf_relational.layers.coordinates import Coordinates
from tf_relational.layers.mha import MHA
from tf_relational.layers.mlp1 import MLP1
from tf_relational.layers.mlp2 import MLP2
from tf_relational.layers.predinet import PrediNet
from tf_relational.layers.registry import CORES, build_core
from tf_relational.layers.relation_net import RelationNet
from tf_relational.layers.relational_attention import RelationalAttention
from tf_relational.layers.relational_block import RelationalBlock
from tf_relational.layers.simplicial_attention import SimplicialAttention
from tf_relational.layers.simplicial_block import SimplicialBlock

__all__ = [
    "CORES",
    "MHA",
    "MLP1",
    "MLP2",
    "ConvPrediNet",
    "Coordinates",
    "PrediNet",
    "RelationNet",
    "RelationalAttention",
    "RelationalBlock",
    "SimplicialAttention",
    "SimplicialBlock",
    "build_core",
]
