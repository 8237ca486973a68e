"""Box-World: levels, rules, solver, pictures and gymnasium environments."""

from .config import BRIDGE, STANDARD, BoxWorldConfig
from .generator import generate
from .level import Level, Start
from .levels import Levels
from .solver import Solution, solve

__all__ = [
    "BRIDGE",
    "STANDARD",
    "BoxWorldConfig",
    "Level",
    "Levels",
    "Solution",
    "Start",
    "generate",
    "solve",
]
