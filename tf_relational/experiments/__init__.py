"""One file an experiment: its configuration, its presets and its protocol."""

from tf_relational.experiments.errors import UserError
from tf_relational.experiments.registry import Experiment, get, names, register

__all__ = ["Experiment", "UserError", "get", "names", "register"]
