"""The papers' whole networks, composed of `tf_relational.layers`.

Importing this package imports Keras and registers every model, so that `keras.models.load_model`
reads a saved one in a process that has imported nothing else.
"""

from tf_relational.models.agent import Agent
from tf_relational.models.registry import AGENTS, build_agent
from tf_relational.models.relational_agent import RelationalAgent
from tf_relational.models.relations_game import RelationsGameModel
from tf_relational.models.simplicial_agent import SimplicialAgent

__all__ = [
    "AGENTS",
    "Agent",
    "RelationalAgent",
    "RelationsGameModel",
    "SimplicialAgent",
    "build_agent",
]
