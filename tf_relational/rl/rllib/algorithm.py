"""IMPALA on RLlib's new API stack, with Keras on TensorFlow."""

import pathlib
import time

from ray.rllib.algorithms.impala.impala import IMPALA
from ray.rllib.core import ALL_MODULES, DEFAULT_MODULE_ID
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    EVALUATION_RESULTS,
    LEARNER_RESULTS,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_ENV_STEPS_TRAINED_LIFETIME,
)

from tf_relational.rl.curriculum import Curriculum
from tf_relational.rl.rllib.config import KerasIMPALAConfig
from tf_relational.rl.rllib.episode_statistics import episode_metrics
from tf_relational.rl.rllib.module import build_keras_model
from tf_relational.rl.rllib.threads import set_threads


class KerasIMPALA(IMPALA):
    """Run RLlib's IMPALA with `KerasModule`, `KerasEnvRunner` and `KerasIMPALALearner`.

    Added to RLlib's algorithm: `model`; a start-state curriculum whose state lives here and in the
    checkpoint; exact episode statistics; counts and rates of frames (`result["frames"]`,
    `result["throughput"]`); and `agent.keras`, the bare model, in every checkpoint directory.

    Example::

        algo = KerasIMPALAConfig().environment(...).training(...).build_algo()
        result = algo.train()
        algo.model.summary()
    """

    @classmethod
    def get_default_config(cls):
        return KerasIMPALAConfig()

    def setup(self, config):
        set_threads(self.config.get("threads"))
        self.curriculum = None
        self._model_copy = None
        self._throughput = {}
        super().setup(config)
        if self.config.curriculum is not None:
            self.curriculum = Curriculum(**self.config.curriculum)
            self._push_curriculum_to_local_runner()

    @property
    def model(self):
        """The `keras.Model` being trained; with a remote learner, a copy with its weights."""
        if self.learner_group.is_local:
            return self.learner_group._learner.module[DEFAULT_MODULE_ID].model
        if self._model_copy is None:
            self._model_copy = build_keras_model(
                self.config.keras_model,
                *self.spaces[DEFAULT_MODULE_ID],
                self.config.keras_model_kwargs,
            )
        weights = self.learner_group.get_weights()[DEFAULT_MODULE_ID]["weights"]
        self._model_copy.set_weights(weights)
        return self._model_copy

    # ------------------------------------------------------------------ curriculum

    def _sample_and_get_connector_states(self):
        result = super()._sample_and_get_connector_states()
        if self.curriculum is None:
            return result
        if self.config.num_env_runners == 0:
            _, outcomes = self.env_runner.take_curriculum_report()
            self.curriculum.record(outcomes)
            self._push_curriculum_to_local_runner()
            return result
        outdated = []
        for state in result[1]:
            worker, setting, outcomes = state.pop("curriculum")
            # Outcomes at an earlier difficulty say nothing of the present one.
            if setting == self.curriculum.setting():
                self.curriculum.record(outcomes)
            if setting != self.curriculum.setting():
                outdated.append(worker)
        # A runner tells with every rollout which setting it has, so one that was restarted, or
        # that missed a message, is given the present one when it next reports.
        if outdated:
            self.env_runner_group.foreach_env_runner_async(
                "set_curriculum",
                kwargs=self.curriculum.setting(),
                tag="set_curriculum",
                remote_worker_ids=outdated,
            )
            self.env_runner_group.fetch_ready_async_reqs(tags="set_curriculum", timeout_seconds=0.0)
        return result

    def _push_curriculum_to_local_runner(self):
        if self.config.num_env_runners == 0:
            self.env_runner.set_curriculum(**self.curriculum.setting())

    # ------------------------------------------------------------------ checkpoint

    engine = "rllib"

    @property
    def optimizer_name(self):
        """The optimizer's name in the configuration."""
        return self.config.optimizer_name

    def optimizer_shapes(self):
        """Return the shapes of the optimizers' variables."""
        state = self.learner_group.get_state(components="learner/optimizer")["learner"]["optimizer"]
        return [list(array.shape) for arrays in state.values() for array in arrays]

    def save_to_path(self, path=None, **kwargs):
        path = super().save_to_path(path, **kwargs)
        if pathlib.Path(path).is_dir():
            self.model.save(pathlib.Path(path) / "agent.keras")
        return path

    def get_state(self, *args, **kwargs):
        state = super().get_state(*args, **kwargs)
        if self.curriculum is not None:
            state["curriculum"] = self.curriculum.get_state()
        return state

    def set_state(self, state):
        super().set_state(state)
        if self.curriculum is not None and "curriculum" in state:
            self.curriculum.set_state(state["curriculum"])
            self._push_curriculum_to_local_runner()

    # ------------------------------------------------------------------ metrics

    def evaluate(self, *args, **kwargs):
        return _with_episode_metrics(super().evaluate(*args, **kwargs))

    def _run_one_training_iteration(self):
        before, start = self.frames(), time.perf_counter()
        result = super()._run_one_training_iteration()
        elapsed = time.perf_counter() - start
        after = self.frames()
        self._throughput = {
            f"{name}_per_s": (after[name] - before[name]) / elapsed
            for name in ("sampled", "trained")
        }
        return result

    def frames(self):
        """Return the environment steps `sampled`, `trained` and `dropped` so far, over restores."""
        stats = self.learner_group.get_stats()
        return {
            "sampled": int(
                self.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0)
            ),
            "trained": int(
                self.metrics.peek(
                    (LEARNER_RESULTS, ALL_MODULES, NUM_ENV_STEPS_TRAINED_LIFETIME), default=0
                )
            ),
            "dropped": int(stats["learner_group_ts_dropped_lifetime"]),
        }

    def _compile_iteration_results(self, *, train_results, eval_results):
        results = super()._compile_iteration_results(
            train_results=train_results, eval_results=eval_results
        )
        results = _with_episode_metrics(results)
        if EVALUATION_RESULTS in results:
            results[EVALUATION_RESULTS] = _with_episode_metrics(results[EVALUATION_RESULTS])
        results["frames"] = self.frames()
        results["throughput"] = self._throughput
        if self.curriculum is not None:
            results["curriculum"] = {
                "difficulty": self.curriculum.difficulty,
                "probability": self.curriculum.probability,
                "success": self.curriculum.success,
                "episodes": len(self.curriculum.outcomes),
            }
        return results


def _with_episode_metrics(results):
    """Replace the runners' sums in a result dict by means."""
    runners = results.get(ENV_RUNNER_RESULTS)
    if runners is None:
        return results
    runners = dict(runners)
    sums = runners.pop("sums", None)
    if sums is not None or "episode_return_mean" not in runners:
        runners.update(episode_metrics(sums or {}))
    return {**results, ENV_RUNNER_RESULTS: runners}
