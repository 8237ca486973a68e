"""Box-World as a gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from .config import STANDARD, BoxWorldConfig, resolve_config
from .game import Game
from .games import check_levels
from .level import Level
from .levels import Levels
from .pool import LevelPool
from .render import picture, text


class BoxWorldEnv(gymnasium.Env):
    """One game of Box-World.

    Observation: uint8 ``[rows, columns + 1, 3]``. Actions: 0 left, 1 up, 2 right, 3 down.
    ``truncated`` at the horizon, if there is one.

    Every info holds ``puzzle_type`` (``(a, b, c)``; ``(a, 0, 0)`` without a bridge), ``win``,
    ``bridge_opened``, ``distractor_opened``, ``length`` and ``episode_return`` so far.

    Args:
        config: the task; standard Box-World by default.
        render_mode: ``None``, ``"rgb_array"`` (enlarged picture) or ``"ansi"`` (letters).
        **fields: single settings of the config to replace.

    >>> env = BoxWorldEnv(solution_length=1, distractors=0)
    >>> obs, info = env.reset(seed=0)
    >>> obs.shape, info["puzzle_type"]
    ((9, 10, 3), (1, 0, 0))
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}

    def __init__(
        self,
        config: BoxWorldConfig | None = None,
        *,
        render_mode: str | None = None,
        **fields: Any,
    ):
        if render_mode not in (None, *self.metadata["render_modes"]):
            allowed = ", ".join(map(repr, self.metadata["render_modes"]))
            raise ValueError(f"render_mode is None, {allowed}; got {render_mode!r}")
        self.config = resolve_config(STANDARD, config, fields)
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(
            0, 255, self.config.observation_shape, np.uint8
        )
        self.action_space = gymnasium.spaces.Discrete(4)
        self._pool: LevelPool | None = None
        self._game: Game | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begin a game.

        Args:
            seed: begins the sequence of levels anew; the same seed gives the same levels.
            options: ``{"level": Level}`` plays that level instead of a generated one.
        """
        super().reset(seed=seed)
        if self._pool is None or seed is not None:
            self._pool = LevelPool(self.config, self.np_random, size=64)
        level = self._given_level(options or {}) or self._pool.next_level()
        self._game = Game(level)
        kind = level.puzzle_type or (level.solution_length, 0, 0)
        self._kind = kind
        self._steps = 0
        self._return = 0.0
        return self._game.observation(), self._info()

    def step(self, action: int):
        """Play one action."""
        game = self._game
        if game is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        if not 0 <= action <= 3:
            raise ValueError(f"an action is 0, 1, 2 or 3, got {action!r}")
        reward = game.step(action)
        self._steps += 1
        self._return += reward
        terminated = game.won or game.distractor_opened
        horizon = self.config.horizon
        truncated = not terminated and horizon is not None and self._steps >= horizon
        return game.observation(), reward, terminated, truncated, self._info()

    @property
    def game(self) -> Game:
        """The game being played."""
        if self._game is None:
            raise gymnasium.error.ResetNeeded("call reset first")
        return self._game

    def render(self) -> np.ndarray | str | None:
        """The picture or text of ``render_mode``."""
        if self.render_mode == "rgb_array":
            return picture(self.game.observation())
        if self.render_mode == "ansi":
            game = self.game
            return text(game.board, game.position, game.inventory)
        return None

    def _info(self) -> dict[str, Any]:
        opened = self._game.distractor_opened
        bridge = self.config.gem_locks == 2
        return {
            "puzzle_type": self._kind,
            "win": self._game.won,
            "bridge_opened": opened and bridge,
            "distractor_opened": opened and not bridge,
            "length": self._steps,
            "episode_return": self._return,
        }

    def _given_level(self, options: dict[str, Any]) -> Level | None:
        if set(options) - {"level"}:
            raise ValueError(f"the option is level, got {sorted(options)}")
        level = options.get("level")
        if level is None:
            return None
        if not isinstance(level, Level):
            raise ValueError(f"options['level'] is a Level, got {type(level)}")
        check_levels(Levels.stack([level]), self.config)
        return level
