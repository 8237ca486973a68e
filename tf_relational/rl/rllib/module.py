"""A Keras actor-critic as an RLlib module."""

import keras
import numpy as np
import tensorflow as tf
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule


def build_keras_model(model, observation_space, action_space, kwargs):
    """Build an agent from its registered name or from a callable.

    Args:
        model: a name in `tf_relational.models.AGENTS`, called as `build_agent(name, num_actions=n,
            **kwargs)`, or a callable `model(observation_space, action_space, **kwargs)`.
        observation_space, action_space: of one environment; the actions must be discrete.
        kwargs: dict of keyword arguments.

    Returns:
        A `keras.Model` that maps observations `[B, ...]` to `{"logits": [B, A], "value": [B]}`.

    Raises:
        ValueError: the action space is not discrete, or `model` is neither of the two.
    """
    if not hasattr(action_space, "n"):
        raise ValueError(
            f"the actions must be a gymnasium Discrete space; received {action_space}."
        )
    if isinstance(model, str):
        from tf_relational import models

        return models.build_agent(model, num_actions=int(action_space.n), **kwargs)
    if not callable(model):
        raise ValueError(
            "`keras_model` must be the name of a registered agent or a callable "
            f"(observation_space, action_space, **kwargs) -> keras.Model; received {model!r}."
        )
    return model(observation_space, action_space, **kwargs)


class KerasModule(RLModule):
    """Wrap a Keras actor-critic (`obs [B, ...] -> {"logits": [B, A], "value": [B]}`).

    `model_config` holds `keras_model` and `keras_model_kwargs` (see `build_keras_model`), `seed`
    of the initial weights, and `jit_compile` of the acting function. `self.model` is the bare
    `keras.Model`. RLlib's `forward_*` methods are there for users of its API; the runner acts by
    `act`, one compiled call a step.

    Example::

        module = algo.get_module()
        module.forward_inference({"obs": observations})["action_dist_inputs"]
    """

    framework = "tf2"

    def setup(self):
        config = self.model_config
        seed = config.get("seed")
        if seed is not None:
            keras.utils.set_random_seed(int(seed) % 2**32)
        self.model = build_keras_model(
            config["keras_model"],
            self.observation_space,
            self.action_space,
            config.get("keras_model_kwargs") or {},
        )
        space = self.observation_space
        self.model(np.zeros((1, *space.shape), space.dtype))
        self._act = tf.function(
            self._act_eagerly, jit_compile=bool(config.get("jit_compile", True)), autograph=False
        )
        self._concrete = {}

    def _act_eagerly(self, observations, seed, greedy):
        outputs = self.model(observations, training=False)
        log_policy = tf.nn.log_softmax(tf.cast(outputs["logits"], tf.float32))
        if greedy:
            scores = log_policy
        else:
            # argmax(log pi + Gumbel noise) is a draw from pi.
            uniform = tf.random.stateless_uniform(
                tf.shape(log_policy), seed, minval=np.finfo("float32").tiny
            )
            scores = log_policy - tf.math.log(-tf.math.log(uniform))
        actions = tf.argmax(scores, axis=-1, output_type=tf.int32)
        chosen = tf.one_hot(actions, log_policy.shape[-1], on_value=True, off_value=False)
        log_probs = tf.reduce_sum(tf.where(chosen, log_policy, 0.0), axis=-1)
        return actions, log_probs, tf.cast(outputs["value"], tf.float32)

    def act(self, observations, seed, greedy=False):
        """Draw actions.

        Args:
            observations: `[B, ...]` array in the observation space's dtype.
            seed: two integers; the same pair draws the same noise.
            greedy: take the most probable action instead.

        Returns:
            Arrays `actions [B]` int32, `log_probs [B]` and `values [B]` float32.
        """
        key = (*np.shape(observations), bool(greedy))
        observations = tf.convert_to_tensor(observations)
        if key not in self._concrete:
            # Called directly, a concrete function saves tf.function's search for it at each step.
            self._concrete[key] = self._act.get_concrete_function(
                tf.TensorSpec(observations.shape, observations.dtype),
                tf.TensorSpec([2], tf.int32),
                bool(greedy),
            )
        outputs = self._concrete[key](observations, tf.constant(seed, tf.int32))
        return tuple(output.numpy() for output in outputs)

    def _forward(self, batch, **kwargs):
        outputs = self.model(batch[Columns.OBS], training=False)
        return {
            Columns.ACTION_DIST_INPUTS: outputs["logits"],
            Columns.VF_PREDS: outputs["value"],
        }

    def _forward_train(self, batch, **kwargs):
        return self.model(batch[Columns.OBS], training=True)

    def get_state(self, components=None, *, not_components=None, inference_only=False, **kwargs):
        return {"weights": self.model.get_weights()}

    def set_state(self, state):
        weights = state["weights"]
        have = [tuple(variable.shape) for variable in self.model.weights]
        given = [tuple(np.shape(array)) for array in weights]
        if have != given:
            raise ValueError(
                f"the weights given do not fit the model {self.model.name!r}: it has {len(have)} "
                f"arrays of shapes {have}, received {len(given)} of shapes {given}."
            )
        self.model.set_weights(weights)

    def to(self, device):
        """Leave the placement of variables to TensorFlow (RLlib calls this for torch modules)."""
