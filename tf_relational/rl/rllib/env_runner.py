"""Step a natively batched environment and return time-major rollouts."""

import logging

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from ray.rllib.callbacks.utils import make_callback
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.env import INPUT_ENV_SINGLE_SPACES, INPUT_ENV_SPACES
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.env_runner import NUM_ENV_STEP_FAILURES_LIFETIME, EnvRunner
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils import force_list
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO
from ray.tune.registry import ENV_CREATOR, _global_registry

from tf_relational.rl.rllib.episode_statistics import EpisodeStatistics
from tf_relational.rl.rllib.rollout import Rollout
from tf_relational.rl.rllib.threads import set_threads

logger = logging.getLogger(__name__)

MAX_FAILURES = 20


class KerasEnvRunner(SingleAgentEnvRunner):
    """Sample `Rollout`s from a gymnasium vector environment with a `KerasModule`.

    The environment is made by `gymnasium.make_vec` in the configured vectorisation mode (by default
    its `vector_entry_point`; `"sync"` for one that has none), or by a creator registered with Tune,
    which is called with the `env_config` and `num_envs` and may return a vector environment or a
    single one. Both `SAME_STEP` and `NEXT_STEP` autoreset work; in the latter the row in which an
    environment resets is masked.

    A step that ends an episode has discount 0. That holds for a time limit, too: the published runs
    treated it as the end. With `config.bootstrap_truncated` the value of the last observation is
    bootstrapped instead (in `SAME_STEP` mode it is added to the reward, as the acting weights
    estimate it; in `NEXT_STEP` mode the learner evaluates the observation itself).

    With `sample(num_episodes=n)` (evaluation) every environment contributes a share of the `n`
    episodes that is fixed beforehand, so that short episodes are not over-counted; a curriculum is
    off meanwhile.

    An environment that raises is made anew and the unfinished rollout is discarded
    (`config.restart_failed_sub_environments`, on by default here).
    """

    def __init__(self, *, config, **kwargs):
        # SingleAgentEnvRunner's constructor asks torch for a device; the rest of it is here.
        set_threads(config.threads)
        EnvRunner.__init__(self, config=config, **kwargs)
        self.tune_trial_id = kwargs.get("tune_trial_id")
        self.spaces = kwargs.get("spaces", {})
        self._callbacks = [cls() for cls in force_list(self.config.callbacks_class)]
        self._device = None
        self.env = None
        self.num_envs = 0
        self._has_env = (
            self.worker_index is None
            or self.worker_index > 0
            or self.config.create_env_on_local_worker
            or self.config.num_env_runners == 0
        )
        self._curriculum = None
        if self._has_env:
            self.make_env()
        self._env_to_module = self.config.build_env_to_module_connector(
            env=self.env, spaces=self.spaces, device=None
        )
        self._module_to_env = self.config.build_module_to_env_connector(
            env=self.env, spaces=self.spaces
        )
        self.module = None
        self.make_module()
        self._weights_seq_no = 0
        self._env_runner_state_server = None
        self._time_after_sampling = None
        self._random = None
        self._failures = 0

    # ------------------------------------------------------------------ the environment

    def make_env(self):
        if self.env is not None:
            try:
                self.env.close()
            except Exception as error:
                logger.warning("closing the failed environment raised %r", error)
        num_envs = self.config.num_envs_per_env_runner
        self.env = self._create_env(num_envs)
        if self.env.num_envs != num_envs:
            raise ValueError(
                f"the environment was asked for num_envs={num_envs} and has {self.env.num_envs}."
            )
        self.num_envs = num_envs
        mode = self.env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if AutoresetMode(mode) is AutoresetMode.DISABLED:
            raise ValueError(
                "the vector environment must reset itself; received autoreset DISABLED."
            )
        self._same_step = AutoresetMode(mode) is AutoresetMode.SAME_STEP
        self.statistics = EpisodeStatistics(num_envs)
        self._needs_initial_reset = True
        if self._curriculum is not None:
            self.set_curriculum(**self._curriculum)
        make_callback(
            "on_environment_created",
            callbacks_objects=self._callbacks,
            callbacks_functions=self.config.callbacks_on_environment_created,
            kwargs={
                "env_runner": self,
                "metrics_logger": self.metrics,
                "env": self.env.unwrapped,
                "env_context": self.config.env_config,
            },
        )

    def _create_env(self, num_envs):
        name, env_config = self.config.env, dict(self.config.env_config)
        if not name:
            raise ValueError("no environment is configured: use config.environment(...).")
        creator = name if callable(name) else None
        if isinstance(name, str) and _global_registry.contains(ENV_CREATOR, name):
            creator = _global_registry.get(ENV_CREATOR, name)
        if creator is None:
            if name.startswith("tf_relational/"):
                import tf_relational.envs  # noqa: F401  (registers the ids, in this process)

            mode = gym.VectorizeMode(self.config.gym_env_vectorize_mode)
            return gym.make_vec(name, num_envs=num_envs, vectorization_mode=mode, **env_config)

        def create():
            return creator(
                EnvContext(
                    {**env_config, "num_envs": num_envs},
                    worker_index=self.worker_index or 0,
                    num_workers=self.num_workers,
                )
            )

        env = create()
        if isinstance(env, gym.vector.VectorEnv):
            return env
        return gym.vector.SyncVectorEnv([lambda: env] + [create] * (num_envs - 1))

    def get_spaces(self):
        if self.env is None:
            return self.spaces
        single = (self.env.single_observation_space, self.env.single_action_space)
        return {
            INPUT_ENV_SPACES: (self.env.observation_space, self.env.action_space),
            INPUT_ENV_SINGLE_SPACES: single,
            DEFAULT_MODULE_ID: single,
        }

    def set_curriculum(self, probability, difficulty, horizon):
        """Hand the state of the start-state curriculum to the environment.

        Raises:
            ValueError: the environment has no `set_curriculum(probability, difficulty, horizon)`.
        """
        self._curriculum = {
            "probability": probability,
            "difficulty": difficulty,
            "horizon": horizon,
        }
        env = self.env.unwrapped
        if not hasattr(env, "set_curriculum"):
            raise ValueError(
                f"config.curriculum is set, but {type(env).__name__} has no method "
                "set_curriculum(probability, difficulty, horizon)."
            )
        env.set_curriculum(**self._curriculum)

    def sample_get_state_and_metrics(self):
        rollouts, state, metrics = super().sample_get_state_and_metrics()
        if self.config.curriculum is not None:
            state["curriculum"] = (self.worker_index, *self.take_curriculum_report())
        return rollouts, state, metrics

    def take_curriculum_report(self):
        """Return `(state last set, outcomes since the last call)`; outcomes are booleans."""
        outcomes = self.statistics.curriculum_outcomes
        self.statistics.curriculum_outcomes = []
        return self._curriculum, outcomes

    # ------------------------------------------------------------------ sampling

    def _sample(
        self,
        *,
        num_timesteps=None,
        num_episodes=None,
        explore,
        random_actions=False,
        force_reset=False,
    ):
        if num_episodes is not None:
            curriculum = self._curriculum
            if curriculum is not None:
                self.set_curriculum(**{**curriculum, "probability": 0.0})
            try:
                return [self._run_episodes(num_episodes, not explore, random_actions)]
            finally:
                if curriculum is not None:
                    self.set_curriculum(**curriculum)
        if force_reset:
            self._needs_initial_reset = True
        length = -(-num_timesteps // self.num_envs)
        while True:
            rollout = self._run_unroll(length, not explore, random_actions)
            if rollout is not None:
                break
        self._failures = 0
        self._count(rollout.env_steps())
        return [rollout]

    def _run_unroll(self, length, greedy, random_actions):
        """Return a `Rollout` of `length` rows, or None when the environment failed meanwhile."""
        if not self._reset_if_needed():
            return None
        shape = (length, self.num_envs)
        space = self.env.single_observation_space
        observations = np.empty((length + 1, self.num_envs, *space.shape), space.dtype)
        actions = np.empty(shape, np.int32)
        log_probs, rewards, ends, mask = (np.empty(shape, np.float32) for _ in range(4))
        for t in range(length):
            observations[t] = self._observation
            actions[t], log_probs[t], _ = self._act(greedy, random_actions)
            valid = ~self._resetting
            result = self._step(actions[t])
            if result is None:
                return None
            reward, terminated, truncated, infos = result
            mask[t] = valid
            rewards[t] = reward * valid
            ends[t] = terminated if self.config.bootstrap_truncated else terminated | truncated
            if self.config.bootstrap_truncated and self._same_step and truncated.any():
                rewards[t] += self._truncation_bonus(truncated & ~terminated, infos)
                ends[t] = terminated | truncated
        observations[length] = self._observation
        return Rollout(observations, actions, log_probs, rewards, ends, mask, self._weights_seq_no)

    def _run_episodes(self, num_episodes, greedy, random_actions):
        """Run a fixed number of episodes in each environment and count only those."""
        quota = np.full(self.num_envs, num_episodes // self.num_envs)
        quota[: num_episodes % self.num_envs] += 1
        steps, self._needs_initial_reset = 0, True
        while quota.any():
            if not self._reset_if_needed():
                continue
            actions, _, _ = self._act(greedy, random_actions)
            steps += int((~self._resetting & (quota > 0)).sum())
            if self._step(actions, counted=quota > 0) is not None:
                if self.statistics.just_finished.any():
                    self._failures = 0
                quota = np.maximum(quota - self.statistics.just_finished, 0)
        self._needs_initial_reset = True
        self._count(steps)
        return _Sampled(steps)

    def _act(self, greedy, random_actions):
        if random_actions:
            actions = self._random.integers(self.env.single_action_space.n, size=self.num_envs)
            uniform = -np.log(self.env.single_action_space.n)
            return actions, np.full(self.num_envs, uniform), None
        seed = self._random.integers(2**31 - 1, size=2)
        return self.module.act(self._observation, seed, greedy)

    def _reset_if_needed(self):
        if not self._needs_initial_reset:
            return True
        if self._random is None:
            # With the steps done so far, a restarted runner or a resumed run draws new episodes.
            self._random = np.random.default_rng(
                None if self._seed is None else [self._seed, self.num_env_steps_sampled_lifetime]
            )
        seed = None if self._seed is None else int(self._random.integers(2**31 - 1))
        try:
            self._observation, _ = self.env.reset(seed=seed)
        except Exception as error:
            self._recover(error)
            return False
        self._resetting = np.zeros(self.num_envs, bool)
        self.statistics.reset()
        self._needs_initial_reset = False
        return True

    def _step(self, actions, counted=None):
        try:
            result = self.env.step(actions)
        except Exception as error:
            self._recover(error)
            return None
        self._observation, reward, terminated, truncated, infos = result
        done = terminated | truncated
        self.statistics.record(reward, done, ~self._resetting, infos, self._same_step, counted)
        # In NEXT_STEP mode the next step of a finished environment is its reset.
        self._resetting = np.zeros_like(done) if self._same_step else done
        return reward, terminated, truncated, infos

    def _truncation_bonus(self, truncated, infos):
        final = np.array(self._observation)
        for index in np.flatnonzero(truncated):
            final[index] = infos["final_obs"][index]
        values = self.module.act(final, (0, 0), greedy=True)[2]
        return self.config.gamma * values * truncated

    def _recover(self, error):
        """Make the environment anew after `error`, or raise it."""
        self.metrics.log_value(NUM_ENV_STEP_FAILURES_LIFETIME, 1, reduce="lifetime_sum")
        self._failures += 1
        if not self.config.restart_failed_sub_environments:
            raise error
        if self._failures > MAX_FAILURES:
            raise RuntimeError(
                f"the environment {self.config.env!r} failed {self._failures} times without "
                "finishing an unroll or an episode in between."
            ) from error
        logger.warning("the environment raised %r; it is made anew and the unroll discarded", error)
        outcomes = self.statistics.curriculum_outcomes
        self.make_env()
        self.statistics.curriculum_outcomes = outcomes

    # ------------------------------------------------------------------ metrics and state

    def _count(self, steps):
        self.num_env_steps_sampled_lifetime += steps
        self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=steps)
        self._increase_sampled_metrics(steps, self.statistics.num_episodes)

    def get_metrics(self):
        for key, value in self.statistics.take().items():
            self.metrics.log_value(key, value, reduce="sum")
        return self.metrics.reduce()

    def set_state(self, state):
        # The base class ignores weights that are older than its own; a restore means them.
        if state.get(WEIGHTS_SEQ_NO, 0) < self._weights_seq_no:
            self._weights_seq_no = 0
        super().set_state(state)

    def assert_healthy(self):
        assert not self._has_env or self.env is not None
        assert self.module is not None


class _Sampled:
    """The number of steps an evaluation took, where RLlib expects sampled data."""

    def __init__(self, steps):
        self._steps = steps

    def env_steps(self):
        return self._steps

    agent_steps = env_steps
