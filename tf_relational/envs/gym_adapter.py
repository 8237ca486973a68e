"""The same ids for the old ``gym`` (0.26), where that is installed."""

from __future__ import annotations

import dataclasses
from typing import Any

import gym

from .env import BoxWorldEnv
from .registration import IDS


class GymBoxWorldEnv(gym.Env):
    """:class:`~tf_relational.envs.env.BoxWorldEnv` as an environment of ``gym``.

    Args:
        **settings: as there.
    """

    metadata = BoxWorldEnv.metadata

    def __init__(self, **settings: Any):
        self._env = BoxWorldEnv(**settings)
        space = self._env.observation_space
        self.observation_space = gym.spaces.Box(0, 255, space.shape, space.dtype.type)
        self.action_space = gym.spaces.Discrete(4)
        self.render_mode = self._env.render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        return self._env.reset(seed=seed, options=options)

    def step(self, action: int):
        return self._env.step(action)

    def render(self):
        return self._env.render()


def register() -> None:
    """Make the ids known to ``gym``; a second call changes nothing.

    Its checker of environments is left out: it needs a NumPy before 2.
    """
    for name, config in IDS.items():
        if name not in gym.envs.registry:
            gym.register(
                name,
                entry_point="tf_relational.envs.gym_adapter:GymBoxWorldEnv",
                kwargs=dataclasses.asdict(config),
                disable_env_checker=True,
            )
