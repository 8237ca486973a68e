"""Box-World: levels, rules, solver, pictures and gymnasium environments."""

from .config import BRIDGE, STANDARD, BoxWorldConfig
from .generator import generate
from .level import Level, Start
from .levels import Levels
from .solver import Solution, solve
from .start_states import curriculum_levels
from .vector_env import BoxWorldVectorEnv

__all__ = [
    "BRIDGE",
    "STANDARD",
    "BoxWorldConfig",
    "BoxWorldVectorEnv",
    "Level",
    "Levels",
    "Solution",
    "Start",
    "curriculum_levels",
    "generate",
    "solve",
]
