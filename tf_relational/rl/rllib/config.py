"""The configuration: RLlib's `IMPALAConfig` with our fields."""

from ray.rllib.algorithms.algorithm_config import NotProvided
from ray.rllib.algorithms.impala.impala import IMPALAConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from tf_relational.rl.curriculum import Curriculum


class KerasIMPALAConfig(IMPALAConfig):
    """Configure IMPALA with a Keras model on TensorFlow.

    Everything of `IMPALAConfig` works as in RLlib (`environment`, `env_runners`, `learners`,
    `training`, `evaluation`, `fault_tolerance`, `reporting`, `debugging`). The defaults of the
    algorithm are those of the 2-simplicial transformer's training runs (Clift et al. 2020, Table 1,
    and what RLlib added to it). Learning rate and entropy coefficient take a number or a schedule
    `[[step, value], ...]` over environment steps.

    Additional arguments of `training`:
        keras_model: name of an agent in `tf_relational.models.AGENTS`, or a callable
            `(observation_space, action_space, **kwargs) -> keras.Model` that maps observations to
            `{"logits": [B, A], "value": [B]}`.
        keras_model_kwargs: its keyword arguments.
        optimizer_name: `"rmsprop_tf1"` (default) or the name of a Keras optimizer.
        optimizer_kwargs: its keyword arguments, e.g. `{"variant": "paper"}`.
        loss_reduction: `"sum"` (default, published) or `"mean"`.
        vtrace_lambda: factor on V-trace's trace coefficients (default 1).
        num_minibatches: gradient steps per train batch; each takes a share of the environments.
        jit_compile: compile acting and learning with XLA (default True).
        bootstrap_truncated: bootstrap at a time limit instead of ending there (default False).
        curriculum: None, or a dict of `tf_relational.rl.curriculum.Curriculum`'s arguments.
        threads: TensorFlow threads per process, or None to leave TensorFlow's choice.

    Example::

        config = (
            KerasIMPALAConfig()
            .environment("tf_relational/BridgeBoxWorld-v0")
            .env_runners(num_env_runners=0, num_envs_per_env_runner=32, rollout_fragment_length=40)
            .training(keras_model="simplicial", train_batch_size_per_learner=32 * 40)
        )
        algo = config.build_algo()
    """

    def __init__(self, algo_class=None):
        from tf_relational.rl.rllib.algorithm import KerasIMPALA
        from tf_relational.rl.rllib.env_runner import KerasEnvRunner

        super().__init__(algo_class=algo_class or KerasIMPALA)
        self.keras_model = None
        self.keras_model_kwargs = {}
        self.optimizer_name = "rmsprop_tf1"
        self.optimizer_kwargs = {}
        self.loss_reduction = "sum"
        self.vtrace_lambda = 1.0
        self.num_minibatches = 1
        self.jit_compile = True
        self.bootstrap_truncated = False
        self.curriculum = None
        self.threads = None

        self.gamma = 0.99
        self.lr = 2e-4
        self.entropy_coeff = 5e-3
        self.vf_loss_coeff = 0.5
        self.grad_clip = 40.0
        self.rollout_fragment_length = 40
        self.train_batch_size_per_learner = 1280
        self.num_learners = 0
        self.num_env_runners = 0
        # A training step of the local learner is an update: sync the weights after each.
        self.broadcast_interval = 0

        self.framework_str = "tf2"
        self.env_runner_cls = KerasEnvRunner
        self.gym_env_vectorize_mode = "vector_entry_point"
        # Rollouts come ready for the learner; RLlib's default connectors are for torch.
        self.add_default_connectors_to_env_to_module_pipeline = False
        self.add_default_connectors_to_module_to_env_pipeline = False
        self.add_default_connectors_to_learner_pipeline = False
        # The server is an actor of about 1 GB, and the first samples wait 10-20 s for it.
        self.use_env_runner_state_server = False
        # At RLlib's 0 the algorithm polls without rest and takes a core from the runners.
        self.timeout_s_sampler_manager = 0.02
        self.restart_failed_sub_environments = True

    def training(
        self,
        *,
        keras_model=NotProvided,
        keras_model_kwargs=NotProvided,
        optimizer_name=NotProvided,
        optimizer_kwargs=NotProvided,
        loss_reduction=NotProvided,
        vtrace_lambda=NotProvided,
        num_minibatches=NotProvided,
        jit_compile=NotProvided,
        bootstrap_truncated=NotProvided,
        curriculum=NotProvided,
        threads=NotProvided,
        **kwargs,
    ):
        """Set the algorithm's parameters: the class docstring's and those of `IMPALAConfig`."""
        own = {
            "keras_model": keras_model,
            "keras_model_kwargs": keras_model_kwargs,
            "optimizer_name": optimizer_name,
            "optimizer_kwargs": optimizer_kwargs,
            "loss_reduction": loss_reduction,
            "vtrace_lambda": vtrace_lambda,
            "num_minibatches": num_minibatches,
            "jit_compile": jit_compile,
            "bootstrap_truncated": bootstrap_truncated,
            "curriculum": curriculum,
            "threads": threads,
        }
        super().training(**kwargs)
        for name, value in own.items():
            if value is not NotProvided:
                setattr(self, name, value)
        return self

    def validate(self):
        super().validate()
        if self.keras_model is None:
            self._value_error(
                "no model is configured: use config.training(keras_model=...) with the name of an "
                "agent or a callable."
            )
        if self.loss_reduction not in ("sum", "mean"):
            self._value_error(
                f'`loss_reduction` must be "sum" or "mean"; received {self.loss_reduction!r}.'
            )
        if self.grad_clip and self.grad_clip_by != "global_norm":
            self._value_error(
                f'`grad_clip_by` must be "global_norm"; received {self.grad_clip_by!r}.'
            )
        if self.num_learners > 1:
            self._value_error(
                "`num_learners` must be 0 (a learner in the algorithm's process) or 1 (a remote "
                f"learner); received {self.num_learners}. Several data-parallel learners are not "
                "supported: RLlib updates them asynchronously, and a learner that misses a batch "
                "leaves the others waiting in the all-reduce."
            )
        if self.num_aggregator_actors_per_learner:
            self._value_error(
                "aggregator actors need torch; use num_aggregator_actors_per_learner=0."
            )
        if self.rollout_fragment_length == "auto" or not self.rollout_fragment_length:
            self._value_error("`rollout_fragment_length` must be a number of steps, not 'auto'.")
        if not self.in_evaluation:
            self._validate_batch()
        if self.curriculum is not None:
            Curriculum(**self.curriculum)

    def _validate_batch(self):
        length, batch = self.rollout_fragment_length, self.total_train_batch_size
        rollout = length * self.num_envs_per_env_runner
        if batch % rollout:
            self._value_error(
                f"the train batch ({batch}) must be a multiple of a runner's rollout "
                f"(num_envs_per_env_runner={self.num_envs_per_env_runner} x "
                f"rollout_fragment_length={length} = {rollout})."
            )
        if (batch // length) % self.num_minibatches:
            self._value_error(
                f"num_minibatches={self.num_minibatches} must divide the {batch // length} "
                "environments of a train batch."
            )

    def get_default_learner_class(self):
        from tf_relational.rl.rllib.learner import KerasIMPALALearner

        return KerasIMPALALearner

    def get_default_rl_module_spec(self):
        from tf_relational.rl.rllib.module import KerasModule

        return RLModuleSpec(
            module_class=KerasModule,
            model_config={
                "keras_model": self.keras_model,
                "keras_model_kwargs": dict(self.keras_model_kwargs),
                "jit_compile": self.jit_compile,
                "seed": self.seed,
            },
        )

    def build_learner_group(self, **kwargs):
        """Build the learner group; a remote learner is allowed although it is not torch.

        RLlib's learner group picks a Ray Train backend from the learner's framework and knows only
        torch's, which sets up the all-reduce between several learners. One learner needs none, and
        Ray Train's TensorFlow backend would set `TF_USE_LEGACY_KERAS=1`, so the plain backend is
        put in for the time of the construction.
        """
        from ray.rllib.core.learner import learner_group
        from ray.train.backend import BackendConfig

        original = learner_group._get_backend_config
        learner_group._get_backend_config = lambda learner_class: BackendConfig()
        try:
            return super().build_learner_group(**kwargs)
        finally:
            learner_group._get_backend_config = original
