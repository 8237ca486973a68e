"""Many Box-World games in one gymnasium vector environment, fast."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from .config import STANDARD, BoxWorldConfig, resolve_config
from .games import EVENT, FREE, NO_HORIZON, SHUT, Games, check_levels
from .level import GEM, Level
from .levels import Levels
from .pool import Curriculum, LevelPool
from .render import PLAYER, picture, pixel
from .rules import DECOY_REWARD, GEM_REWARD, KEY_REWARD, MOVES, State

_PLAYER = pixel(PLAYER)


class BoxWorldVectorEnv(VectorEnv):
    """``num_envs`` games of Box-World, stepped together.

    The rules are those of :func:`tf_relational.envs.rules.step`, written a second time by events:
    each tile knows whether it is free, closed or an event under the keys held, the rendered board
    is kept, and only the few games that meet an event are looked at and repainted. The observation
    is a copy of the boards with the players drawn last; it is never written to again.

    Observation: uint8 ``[num_envs, rows, columns + 1, 3]``. Actions: 0 left, 1 up, 2 right,
    3 down. Rewards: float64 ``[num_envs]``. ``truncated`` at the horizon.

    Infos are made for finished episodes only, in gymnasium's format of arrays with masks: with
    same-step autoreset ``infos["final_obs"]`` and ``infos["final_info"]``, with next-step
    autoreset in ``infos`` itself. Keys: ``puzzle_type`` int ``[num_envs, 3]`` (``(a, 0, 0)``
    without a bridge), ``win``, ``bridge_opened``, ``distractor_opened``, ``length``,
    ``episode_return`` and ``curriculum`` (the episode began by :meth:`set_curriculum`).

    Args:
        num_envs: how many games.
        config: the task; standard Box-World by default.
        autoreset_mode: ``AutoresetMode.SAME_STEP`` (default) or ``AutoresetMode.NEXT_STEP``, or
            their names.
        render_mode: ``None`` or ``"rgb_array"``.
        **fields: single settings of the config to replace.

    >>> envs = BoxWorldVectorEnv(8, rows=7, solution_length=1, distractors=0, horizon=120)
    >>> obs, _ = envs.reset(seed=0)
    >>> obs, rewards, terminated, truncated, infos = envs.step(np.full(8, 2))
    >>> obs.shape
    (8, 7, 10, 3)
    """

    metadata = {
        "render_modes": ["rgb_array"],
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        config: BoxWorldConfig | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        **fields: Any,
    ):
        if num_envs < 1:
            raise ValueError(f"num_envs is at least 1, got {num_envs}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode is None or 'rgb_array', got {render_mode!r}")
        self.config = resolve_config(STANDARD, config, fields)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": _autoreset(autoreset_mode)}
        self._same_step = self.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        shape = self.config.observation_shape
        self.single_observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(4)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)

        self._width = self.config.columns + 1
        self._neighbour = neighbours(self.config.rows, self.config.columns).ravel()
        self._first = np.arange(num_envs) * (self.config.rows * self._width)
        self._curriculum = Curriculum()
        self._fixed: Levels | None = None
        self._pool: LevelPool | None = None
        self._games: Games | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Begin new games in all places.

        Args:
            seed: begins the sequence of levels anew; the same seed gives the same levels.
            options: ``{"level": Level}`` for one level in all places, or ``{"levels": Levels}``
                with one for each; only the first episodes are played on them.
        """
        super().reset(seed=seed)
        if self._pool is None or seed is not None:
            size = int(np.clip(4 * self.num_envs, 64, 4096))
            self._pool = LevelPool(self.config, self.np_random, size)
            self._pool.set_curriculum(self._curriculum)
            self._pool.set_levels(self._fixed)
        levels = self._given_levels(options or {})
        every = np.arange(self.num_envs)
        self._games = Games.empty(
            self.num_envs, self.config.rows, self.config.columns, self.config.num_colours
        )
        if levels is None:
            self._pool.begin(self._games, every)
        else:
            horizon = self.config.horizon or NO_HORIZON
            given = Games.begin(levels, self.config.num_colours, horizon=horizon)
            self._games.replace(every, given, every)
        self._steps = np.zeros(self.num_envs, np.int64)
        self._returns = np.zeros(self.num_envs)
        self._ended = np.empty(0, np.int64)
        return self._observe(), {}

    def step(self, actions: np.ndarray):
        """Play one action in each game; see the class for what comes back."""
        if self._games is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        actions = np.asarray(actions)
        is_batch = actions.shape == (self.num_envs,) and actions.dtype.kind in "iu"
        # Or-ed bits stay within 0 to 3 exactly when every action does.
        if not (is_batch and 0 <= np.bitwise_or.reduce(actions) <= 3):
            raise ValueError(f"actions are {self.num_envs} integers from 0 to 3, got {actions!r}")
        games = self._games
        target = self._neighbour.take(games.cell * 4 + actions)
        kind = games.kind.reshape(-1).take(self._first + target)
        kind[self._ended] = SHUT
        games.cell = np.where(kind == FREE, target, games.cell)
        rewards = np.zeros(self.num_envs)
        self._steps += 1
        won = opened = np.zeros(self.num_envs, bool)
        event = (kind == EVENT).nonzero()[0]
        event = event[games.openable(event, target[event])]
        if event.size:
            games.cell[event] = target[event]
            rewards[event], won, opened = self._meet_events(event, target[event])
            self._returns += rewards
        if self._ended.size:
            self._begin(self._ended)
        terminated = won | opened
        truncated = (self._steps >= games.horizon) & ~terminated
        done = terminated | truncated
        infos: dict[str, Any] = {}
        if done.any():
            ended = done.nonzero()[0]
            infos = self._episode_infos(done, won, opened)
            if self._same_step:
                final = np.full(self.num_envs, None, object)
                for index, observation in zip(ended, self._observe(ended), strict=True):
                    final[index] = observation
                infos = {
                    "final_obs": final,
                    "_final_obs": done.copy(),
                    "final_info": infos,
                    "_final_info": done.copy(),
                }
                self._begin(ended)
            else:
                self._ended = ended
        elif self._ended.size:
            self._ended = np.empty(0, np.int64)
        return self._observe(), rewards, terminated, truncated, infos

    def set_levels(self, levels: Levels | None) -> None:
        """Play these levels in turn, over and over, from the next episodes on.

        ``None`` goes back to generated levels.
        """
        if levels is not None:
            check_levels(levels, self.config)
        self._fixed = levels
        if self._pool is not None:
            self._pool.set_levels(levels)

    def set_curriculum(self, probability: float, difficulty: int, horizon: int) -> None:
        """Begin a share of the next episodes in the middle of a puzzle.

        Args:
            probability: the share; 0 for none.
            difficulty: the longest random walk away from a target; see
                :func:`tf_relational.envs.start_states.curriculum_levels`.
            horizon: steps after which such an episode is truncated.
        """
        self._curriculum = Curriculum(probability, difficulty, horizon)
        if self._pool is not None:
            self._pool.set_curriculum(self._curriculum)

    @property
    def state(self) -> State:
        """The games as arrays of :mod:`tf_relational.envs.rules`."""
        levels = self.levels
        return State(levels.board, levels.start_position, levels.start_inventory, levels.decoys)

    @property
    def levels(self) -> Levels:
        """The games as they stand, as levels that begin there."""
        return self._games.levels()

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of each game, for ``render_mode="rgb_array"``."""
        if self.render_mode is None:
            return None
        return tuple(picture(observation) for observation in self._observe())

    def _meet_events(self, event: np.ndarray, cell: np.ndarray):
        """Take keys and open boxes in the games ``event``, each on its tile ``cell``."""
        content, changed = self._games.collect(event, cell)
        gem = content == GEM
        decoy = self._games.decoy[event, cell] & ~gem
        reward = np.where(changed, KEY_REWARD, 0.0)
        reward[decoy] = DECOY_REWARD
        reward[gem] = GEM_REWARD
        won = np.zeros(self.num_envs, bool)
        opened = np.zeros(self.num_envs, bool)
        won[event] = gem
        opened[event] = decoy
        return reward, won, opened

    def _begin(self, places: np.ndarray) -> None:
        self._pool.begin(self._games, places)
        self._steps[places] = 0
        self._returns[places] = 0.0

    def _observe(self, places: np.ndarray | None = None) -> np.ndarray:
        games = self._games
        if places is None:
            image, player = games.image.copy(), self._first + games.cell
        else:
            image, cell = games.image[places], games.cell[places]
            player = np.arange(places.size) * image.shape[1] + cell
        image.reshape(-1)[player] = _PLAYER
        return image.view(np.uint8).reshape(-1, *self.config.observation_shape)

    def _episode_infos(self, done, won, opened) -> dict[str, Any]:
        bridge = self.config.gem_locks == 2
        nothing = np.zeros(self.num_envs, bool)
        values = {
            "puzzle_type": self._games.puzzle_type.astype(np.int64),
            "win": won,
            "bridge_opened": opened if bridge else nothing,
            "distractor_opened": nothing if bridge else opened,
            "length": self._steps.copy(),
            "episode_return": self._returns.copy(),
            "curriculum": self._games.curriculum.copy(),
        }
        return values | {f"_{name}": done.copy() for name in values}

    def _given_levels(self, options: dict[str, Any]) -> Levels | None:
        unknown = set(options) - {"level", "levels"}
        if unknown or len(options) > 1:
            raise ValueError(f"options are level or levels, got {sorted(options)}")
        if "level" in options:
            if not isinstance(options["level"], Level):
                raise ValueError(f"options['level'] is a Level, got {type(options['level'])}")
            levels = Levels.stack([options["level"]] * self.num_envs)
        else:
            levels = options.get("levels")
        if levels is None:
            return None
        if len(levels) != self.num_envs:
            raise ValueError(f"options['levels'] needs {self.num_envs} levels, got {len(levels)}")
        check_levels(levels, self.config)
        return levels


def neighbours(rows: int, columns: int) -> np.ndarray:
    """``[rows * (columns + 1), 4]``: the tile each action leads to in the flat layout."""
    x, y = np.meshgrid(np.arange(columns + 1), np.arange(rows))
    x = np.clip(x.reshape(-1, 1) + MOVES[:, 0], 0, columns - 1)
    y = np.clip(y.reshape(-1, 1) + MOVES[:, 1], 0, rows - 1)
    return y * (columns + 1) + x


def _autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    allowed = {AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP}
    for choice in allowed:
        if mode in (choice, choice.name, choice.value):
            return choice
    raise ValueError(f"autoreset_mode is SAME_STEP or NEXT_STEP, got {mode!r}")
