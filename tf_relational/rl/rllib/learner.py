"""The learner: one compiled function for forward pass, V-trace, gradient, clip and update."""

import numpy as np
import tensorflow as tf
from ray.rllib.core import ALL_MODULES, COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.learner.learner import Learner
from ray.rllib.utils.metrics import (
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_ENV_STEPS_TRAINED,
    NUM_ENV_STEPS_TRAINED_LIFETIME,
    NUM_MODULE_STEPS_TRAINED,
    NUM_MODULE_STEPS_TRAINED_LIFETIME,
    WEIGHTS_SEQ_NO,
)
from ray.rllib.utils.schedules.scheduler import Scheduler

from tf_relational.rl.loss import impala_loss
from tf_relational.rl.optimizers import make_optimizer
from tf_relational.rl.rllib.rollout import Rollout
from tf_relational.rl.rllib.threads import set_threads
from tf_relational.rl.slices import slice_width


def slice_of(array, number, size):
    """The slice `number` of an array `[T, B, ...]`: `[T, size, ...]`."""
    rest = array.shape.as_list()
    rest[1] = size
    return tf.slice(array, [0, number * size] + [0] * (len(rest) - 2), rest)


def along_width(slices):
    """`[slices, T, B, ...]` as `[T, slices * B, ...]`."""
    shape = slices.shape.as_list()
    order = [1, 0, 2, *range(3, len(shape))]
    return tf.reshape(tf.transpose(slices, order), [shape[1], shape[0] * shape[2], *shape[3:]])


class KerasIMPALALearner(Learner):
    """Train a `KerasModule` on `Rollout`s with `impala_loss`.

    `update` joins the rollouts of one train batch along the environments, splits them into
    `config.num_minibatches` groups of environments, and makes one gradient step for each in turn.
    """

    framework = "tf2"

    def __init__(self, *, config, **kwargs):
        set_threads(config.threads)
        super().__init__(config=config, **kwargs)

    def build(self):
        if self._is_built:
            return
        super().build()
        self._model = self.module[DEFAULT_MODULE_ID].model
        self._optimizer = self.get_optimizer()
        self._entropy_schedule = Scheduler(
            fixed_value_or_schedule=self.config.entropy_coeff, framework=self.framework
        )
        # Ray adds an argument to the methods of actors; tf.function must not see it.
        self._step = tf.function(
            lambda batch, entropy_coefficient: self._step_eagerly(batch, entropy_coefficient),
            jit_compile=self.config.jit_compile,
            autograph=False,
        )

    # ------------------------------------------------------------------ the update

    def update(
        self,
        batch=None,
        *,
        training_data=None,
        episodes=None,
        timesteps=None,
        return_state=False,
        **kwargs,
    ):
        """Make the gradient steps of one train batch.

        Args:
            training_data: RLlib's `TrainingData` with `episodes` or `episodes_refs` of `Rollout`s.
            episodes: or a list of `Rollout`s.
            timesteps: RLlib's dict of lifetime counters; drives the schedules.
            return_state: add the weights under `_rl_module_state_after_update`.

        Returns:
            Reduced metrics.

        Raises:
            ValueError: the environments of the batch cannot be split into `num_minibatches`.
        """
        self._check_is_built()
        timesteps = timesteps or {}
        if training_data is not None:
            training_data.validate()
            training_data.solve_refs()
            episodes = training_data.episodes
        # Runners may have died after sampling; what they had sampled is lost, which is no error.
        if episodes:
            self.before_gradient_based_update(timesteps=timesteps)
            self._update(episodes)
            self.after_gradient_based_update(timesteps=timesteps)
        result = self.metrics.reduce()
        if return_state:
            state = self.get_state(components=COMPONENT_RL_MODULE, inference_only=True)
            result["_rl_module_state_after_update"] = {
                COMPONENT_RL_MODULE: state[COMPONENT_RL_MODULE],
                WEIGHTS_SEQ_NO: self._weights_seq_no,
            }
        return result

    def _update(self, batch, **kwargs):
        config = self.config
        width = config.total_train_batch_size // config.get_rollout_fragment_length()
        rollout = Rollout.concatenate(batch, width)
        width = rollout.actions.shape[1]
        if width % config.num_minibatches:
            raise ValueError(
                f"num_minibatches={config.num_minibatches} does not divide the {width} "
                "environments of a train batch."
            )
        entropy_coefficient = tf.constant(self._entropy_schedule.get_current_value(), tf.float32)
        size = width // config.num_minibatches
        for start in range(0, width, size):
            part = slice(start, start + size)
            arrays = {name: getattr(rollout, name)[:, part] for name in Rollout.ARRAYS}
            values = self._step(self._convert_batch_type(arrays), entropy_coefficient)
            self._log_update({name: float(value) for name, value in values.items()})
        self._log_batch(rollout, entropy_coefficient)
        self._weights_seq_no += 1

    def _step_eagerly(self, batch, entropy_coefficient):
        """One gradient step; the gradient is summed over slices that fit a processor's cache."""
        length, width = batch["actions"].shape
        size = width if tf.config.list_physical_devices("GPU") else slice_width(length, width)
        transitions = tf.maximum(tf.reduce_sum(batch["mask"]), 1.0)

        def add_slice(number, sums, logits, values):
            part = {name: slice_of(array, number, size) for name, array in batch.items()}
            weight = 1.0
            if self.config.loss_reduction == "mean":
                weight = tf.reduce_sum(part["mask"]) / transitions
            with tf.GradientTape() as tape:
                outputs = self._forward_unroll(part["observations"])
                parts = self._compute_loss(part, outputs, entropy_coefficient)
                parts = {"total_loss": weight * parts["total_loss"]}
            gradients = self.compute_gradients({DEFAULT_MODULE_ID: parts}, tape=tape)
            return (
                number + 1,
                [total + gradients[ref] for total, ref in zip(sums, self._params, strict=True)],
                logits.write(number, outputs["logits"]),
                values.write(number, outputs["value"]),
            )

        count = width // size
        _, sums, logits, values = tf.while_loop(
            lambda number, *_: number < count,
            add_slice,
            (
                tf.constant(0),
                [tf.zeros(variable.shape, variable.dtype) for variable in self._params.values()],
                tf.TensorArray(tf.float32, count),
                tf.TensorArray(tf.float32, count),
            ),
        )
        outputs = {"logits": along_width(logits.stack()), "value": along_width(values.stack())}
        parts = self._compute_loss(batch, outputs, entropy_coefficient)
        gradients = dict(zip(self._params, sums, strict=True))
        norm = self._get_clip_function()(gradients, grad_clip=self.config.grad_clip)
        self.apply_gradients(gradients)
        return {**parts, "gradient_norm": norm}

    def _compute_loss(self, batch, outputs, entropy_coefficient):
        return self.compute_loss_for_module(
            module_id=DEFAULT_MODULE_ID,
            config=self.config,
            batch=batch,
            fwd_out=outputs,
            entropy_coefficient=entropy_coefficient,
        )

    def _forward_unroll(self, observations):
        shape = observations.shape.as_list()
        outputs = self._model(tf.reshape(observations, [-1, *shape[2:]]), training=True)
        return {
            "logits": tf.reshape(outputs["logits"], [shape[0], shape[1], -1]),
            "value": tf.reshape(outputs["value"], [shape[0], shape[1]]),
        }

    def compute_loss_for_module(
        self, *, module_id, config, batch, fwd_out, entropy_coefficient=None
    ):
        """Compute `impala_loss` of a batch of unrolls, as a dict of its parts.

        Override this to change the loss; whatever is under `total_loss` is minimised, and every
        scalar in the dict is reported. For the gradient it is called on slices of the batch, a few
        environments each, whose losses are summed (or averaged, weighed by their transitions, as
        `loss_reduction` says).
        """
        return impala_loss(
            fwd_out["logits"][:-1],
            fwd_out["value"],
            batch["actions"],
            batch["log_probs"],
            batch["rewards"],
            config.gamma * (1.0 - batch["ends"]),
            batch["mask"],
            value_coefficient=config.vf_loss_coeff,
            entropy_coefficient=entropy_coefficient,
            reduction=config.loss_reduction,
            clip_rho=config.vtrace_clip_rho_threshold,
            clip_pg_rho=config.vtrace_clip_pg_rho_threshold,
            lambda_=config.vtrace_lambda,
        )

    def compute_gradients(self, loss_per_module, *, tape, **kwargs):
        total = tf.add_n([parts["total_loss"] for parts in loss_per_module.values()])
        values = [variable.value for variable in self._params.values()]
        return dict(zip(self._params, tape.gradient(total, values), strict=True))

    @staticmethod
    def _get_clip_function():
        def clip_by_global_norm(gradients, *, grad_clip, **kwargs):
            """Clip the dict's values in place and return the norm they had."""
            norm = tf.linalg.global_norm(list(gradients.values()))
            if grad_clip:
                clipped, _ = tf.clip_by_global_norm(
                    list(gradients.values()), grad_clip, use_norm=norm
                )
                gradients.update(zip(gradients, clipped, strict=True))
            return norm

        return clip_by_global_norm

    @staticmethod
    def _get_global_norm_function():
        return tf.linalg.global_norm

    def apply_gradients(self, gradients_dict):
        self._optimizer.apply(
            list(gradients_dict.values()), [self._params[ref] for ref in gradients_dict]
        )

    def before_gradient_based_update(self, *, timesteps):
        super().before_gradient_based_update(timesteps=timesteps)
        steps = timesteps.get(NUM_ENV_STEPS_SAMPLED_LIFETIME, 0)
        self._entropy_schedule.update(timestep=steps)
        # The base class sets the learning rate after an update, which is an update late.
        schedule = self._optimizer_lr_schedules[self._optimizer]
        self._set_optimizer_lr(self._optimizer, schedule.update(timestep=steps))

    # ------------------------------------------------------------------ the optimizer

    def configure_optimizers_for_module(self, module_id, config=None):
        variables = list(self.module[module_id].model.trainable_variables)
        # Registering it sets the learning rate, from a number or a schedule.
        optimizer = make_optimizer(config.optimizer_name, 0.0, **config.optimizer_kwargs)
        optimizer.build(variables)
        self.register_optimizer(
            module_id=module_id,
            optimizer=optimizer,
            params=variables,
            lr_or_lr_schedule=config.lr,
        )

    @staticmethod
    def _get_optimizer_lr(optimizer):
        return float(optimizer.learning_rate)

    @staticmethod
    def _set_optimizer_lr(optimizer, lr):
        optimizer.learning_rate = float(lr)

    def _get_optimizer_state(self):
        return {
            name: [variable.numpy() for variable in optimizer.variables]
            for name, optimizer in self._named_optimizers.items()
        }

    def _set_optimizer_state(self, state):
        for name, arrays in state.items():
            variables = self.get_optimizer(optimizer_name=name).variables
            have = [tuple(variable.shape) for variable in variables]
            given = [np.shape(array) for array in arrays]
            if have != given:
                raise ValueError(
                    f"the state given does not fit the optimizer {name!r}: it has slots of shapes "
                    f"{have}, received {given}."
                )
            for variable, array in zip(variables, arrays, strict=True):
                variable.assign(array)

    def set_state(self, state):
        # The base class ignores weights that are older than its own; a restore means them.
        self._weights_seq_no = -1
        super().set_state({**state, WEIGHTS_SEQ_NO: state.get(WEIGHTS_SEQ_NO, 0)})
        self._weights_seq_no = state.get(WEIGHTS_SEQ_NO, 0)

    # ------------------------------------------------------------------ metrics

    def _log_update(self, values):
        for name, value in values.items():
            reduce = "max" if name == "importance_weight_max" else "mean"
            self.metrics.log_value((DEFAULT_MODULE_ID, name), value, reduce=reduce)

    def _log_batch(self, rollout, entropy_coefficient):
        log = self.metrics.log_value
        module = DEFAULT_MODULE_ID
        log((module, "policy_lag"), self._weights_seq_no - rollout.weights_seq_no, reduce="mean")
        log((module, "entropy_coeff"), float(entropy_coefficient), reduce="mean")
        log((module, "learning_rate"), self._get_optimizer_lr(self._optimizer), reduce="mean")
        log((module, "num_updates_lifetime"), 1, reduce="lifetime_sum")
        log((module, WEIGHTS_SEQ_NO), self._weights_seq_no, reduce="max")
        steps = rollout.env_steps()
        for key in (NUM_ENV_STEPS_TRAINED, NUM_MODULE_STEPS_TRAINED):
            log((ALL_MODULES, key), steps, reduce="sum")
        for key in (NUM_ENV_STEPS_TRAINED_LIFETIME, NUM_MODULE_STEPS_TRAINED_LIFETIME):
            log((ALL_MODULES, key), steps, reduce="lifetime_sum", with_throughput=True)

    # ------------------------------------------------------------------ RLlib's accessors

    def get_param_ref(self, param):
        return id(param)

    def get_parameters(self, module):
        return list(module.model.trainable_variables)

    def _convert_batch_type(self, batch, *args, **kwargs):
        return tf.nest.map_structure(tf.convert_to_tensor, batch)

    def _get_tensor_variable(self, value, dtype=None, trainable=False):
        return tf.Variable(value, dtype=dtype, trainable=trainable)
