"""Box-World: levels, rules, solver, pictures and gymnasium environments.

Importing this package registers ``tf_relational/BoxWorld-v0`` and
``tf_relational/BridgeBoxWorld-v0`` with gymnasium, and with the old ``gym`` where it is installed.
"""

from .config import BRIDGE, STANDARD, BoxWorldConfig
from .env import BoxWorldEnv
from .game import Game
from .generator import generate
from .level import Level, Start
from .levels import Levels
from .registration import register
from .solver import Solution, solve
from .start_states import curriculum_levels
from .vector_env import BoxWorldVectorEnv

__all__ = [
    "BRIDGE",
    "STANDARD",
    "BoxWorldConfig",
    "BoxWorldEnv",
    "BoxWorldVectorEnv",
    "Game",
    "Level",
    "Levels",
    "Solution",
    "Start",
    "curriculum_levels",
    "generate",
    "solve",
]

register()
