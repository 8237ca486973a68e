"""From an experiment's configuration to the RLlib algorithm that trains it."""

from __future__ import annotations

import importlib
import os
from typing import Any

from tf_relational.experiments.errors import UserError


def algorithm_config(experiment: str, config: Any) -> Any:
    """Returns the `KerasIMPALAConfig` of a Box-World experiment.

    Args:
        experiment: "bridge_boxworld" or "boxworld": the module of `rllib_configs` that holds the
            paper's settings.
        config: a `BoxWorldExperimentConfig`, whose fields replace them.
    """
    paper = importlib.import_module(f"rllib_configs.{experiment}")
    optimizer_kwargs = {}
    if config.optimizer.startswith("rmsprop"):
        optimizer_kwargs = {
            "rho": config.rmsprop_decay,
            "momentum": config.rmsprop_momentum,
            "epsilon": config.rmsprop_epsilon,
        }
    if config.optimizer == "rmsprop_tf1":
        optimizer_kwargs["variant"] = config.variant
    learning_rate = config.learning_rate
    if config.final_learning_rate is not None:
        learning_rate = [[0, learning_rate], [config.total_frames, config.final_learning_rate]]
    curriculum = None
    if config.curriculum:
        curriculum = {
            "p0": config.curriculum_probability,
            "p_min": config.curriculum_least_probability,
            "span": config.curriculum_span,
            "first_difficulty": config.curriculum_first_difficulty,
            "window": config.curriculum_window,
            "threshold": config.curriculum_threshold,
            "horizon": config.curriculum_horizon,
            "horizon_growth": config.curriculum_horizon_growth,
        }
    return (
        paper.config(agent=config.agent, seed=config.seed)
        .environment(env_config=config.level_kwargs())
        .env_runners(
            num_env_runners=config.num_env_runners,
            num_envs_per_env_runner=config.num_envs,
            rollout_fragment_length=config.unroll_length,
        )
        .training(
            keras_model_kwargs={
                "initialization": config.initialization,
                "variant": config.variant,
            },
            train_batch_size_per_learner=config.batch_size,
            num_minibatches=config.num_minibatches,
            lr=learning_rate,
            optimizer_name=config.optimizer,
            optimizer_kwargs=optimizer_kwargs,
            loss_reduction=config.loss_reduction,
            entropy_coeff=config.entropy,
            vf_loss_coeff=config.value_coefficient,
            gamma=config.gamma,
            vtrace_lambda=config.vtrace_lambda,
            grad_clip=config.gradient_clip,
            curriculum=curriculum,
            jit_compile=config.jit_compile,
        )
        .reporting(min_time_s_per_iteration=config.report_interval)
        # RLlib warns of its own deprecations at its default level.
        .debugging(log_level="ERROR")
    )


def check_cores(config: Any) -> None:
    """Refuses more env runners than this machine has cores, before anything is started.

    Ray would wait for the missing cores without end. On a cluster (`RAY_ADDRESS` is set) the
    cores are not known yet, and Ray's autoscaler may add some: nothing is refused.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if "RAY_ADDRESS" not in os.environ and config.num_env_runners > cores:
        raise UserError(
            f"num_env_runners={config.num_env_runners} needs as many cores, this machine has "
            f"{cores}: give --num-env-runners 0 to {cores}, or set RAY_ADDRESS to a Ray cluster"
        )


def start_ray(num_env_runners: int = 0) -> None:
    """Joins the cluster of `RAY_ADDRESS` or starts Ray here, quietly, unless it runs already.

    Raises:
        UserError: Ray does not start, or it has fewer cores than env runners: a container's quota
            may leave it fewer than `check_cores` sees.
    """
    import ray
    import ray.rllib

    from tf_relational import quiet

    quiet.start()
    # Ray gives its processes 30 seconds to come up, too little where other programs have the cores.
    for attempt in range(3):
        if ray.is_initialized():
            break
        try:
            ray.init(include_dashboard=False, **quiet.ray_options())
        except Exception as error:
            ray.shutdown()
            if attempt == 2:
                raise UserError(f"Ray does not start: {error}") from error
    cores = ray.cluster_resources().get("CPU", 0)
    if "RAY_ADDRESS" not in os.environ and num_env_runners > cores:
        raise UserError(
            f"num_env_runners={num_env_runners} needs as many cores, Ray was given {cores:g}: give "
            f"--num-env-runners 0 to {cores:g}, or set RAY_ADDRESS to a Ray cluster"
        )
