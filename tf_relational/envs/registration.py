"""The gymnasium ids of Box-World."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import warnings

import gymnasium

from .config import BRIDGE, STANDARD

IDS = {"tf_relational/BoxWorld-v0": STANDARD, "tf_relational/BridgeBoxWorld-v0": BRIDGE}
"""Each id and the settings it stands for."""


def register() -> None:
    """Make the ids known to gymnasium, and to ``gym`` where it is installed.

    A second call changes nothing.
    """
    for name, config in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="tf_relational.envs.env:BoxWorldEnv",
                vector_entry_point="tf_relational.envs.vector_env:BoxWorldVectorEnv",
                kwargs=dataclasses.asdict(config),
            )
    if importlib.util.find_spec("gym") is None:
        return
    try:
        # gym prints at its import that it is no longer maintained; who imports it knows.
        with contextlib.redirect_stderr(io.StringIO()):
            from . import gym_adapter

        gym_adapter.register()
    except Exception as error:
        # An old gym that this NumPy breaks is no reason to lose gymnasium.
        warnings.warn(f"gym is installed but the ids were not registered: {error}", stacklevel=2)
