"""Which experiments there are: name, configuration, presets and modes, in one place."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from tf_relational.experiments.errors import UserError, unknown

# Each module registers its experiment under its own name when it is imported, so that
# asking for one experiment does not import the others.
_MODULES = ("bridge_boxworld", "boxworld")

_registered: dict[str, Experiment] = {}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment as the command line sees it.

    Attributes:
        name: what follows `--exp`.
        summary: one line for `--list`.
        config: a frozen dataclass whose defaults are the paper's; a field's docstring says
            what it is and where the paper states it.
        presets: preset name -> the fields that it changes from the defaults.
        default_preset: the preset of a call that names none.
        modes: mode name -> `"module:function"`; imported when the mode is asked for, so that
            help and listings stay quick. The function is called as
            `function(experiment, request)` with a `command_line.Request`.

    Example:
        >>> from tf_relational.experiments import registry
        >>> registry.get("bridge_boxworld").preset("paper").learning_rate
        0.0002
    """

    name: str
    summary: str
    config: type
    presets: Mapping[str, Mapping[str, Any]]
    default_preset: str
    modes: Mapping[str, str]

    def preset(self, name: str) -> Any:
        """Returns the configuration of a preset; `UserError` for an unknown name."""
        if name not in self.presets:
            raise unknown("preset", name, self.presets)
        return self.config(**self.presets[name])

    def mode(self, name: str) -> Callable[..., int]:
        """Imports and returns the function of a mode; `UserError` for an unknown name."""
        if name not in self.modes:
            raise unknown(f"mode of {self.name}", name, self.modes)
        module, _, function = self.modes[name].partition(":")
        return getattr(importlib.import_module(module), function)


def register(experiment: Experiment) -> Experiment:
    """Adds an experiment under its name and returns it.

    Raises:
        UserError: another experiment has that name.
    """
    known = _registered.setdefault(experiment.name, experiment)
    if known.config is not experiment.config:
        raise UserError(f"an experiment named {experiment.name!r} is already registered")
    return experiment


def names() -> tuple[str, ...]:
    """Returns the names of all experiments, the library's own first."""
    return _MODULES + tuple(name for name in _registered if name not in _MODULES)


def get(name: str) -> Experiment:
    """Returns the experiment of that name; `UserError` when there is none."""
    if name not in _registered:
        if name not in _MODULES:
            raise unknown("experiment", name, names())
        importlib.import_module(f"tf_relational.experiments.{name}")
    return _registered[name]
