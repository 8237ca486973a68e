"""From an experiment's configuration to what trains it, on RLlib or compiled."""

from __future__ import annotations

import importlib
import os
import socket
import urllib.parse
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
            lr=_learning_rate(config),
            optimizer_name=config.optimizer,
            optimizer_kwargs=_optimizer_kwargs(config),
            loss_reduction=config.loss_reduction,
            entropy_coeff=config.entropy,
            vf_loss_coeff=config.value_coefficient,
            gamma=config.gamma,
            vtrace_lambda=config.vtrace_lambda,
            grad_clip=config.gradient_clip,
            curriculum=_curriculum(config),
            jit_compile=config.jit_compile,
        )
        .reporting(min_time_s_per_iteration=config.report_interval)
        # RLlib warns of its own deprecations at its default level.
        .debugging(log_level="ERROR")
    )


def compiled_trainer(config: Any, seeds: list[int]) -> Any:
    """Returns the `CompiledTrainer` of a Box-World experiment, one replica for each seed.

    Its environments are those that fill a batch, `batch_size / unroll_length`; `num_env_runners`
    and `num_envs` are the other engine's.

    Raises:
        UserError: the backend or the devices do not do what the configuration asks for.
    """
    from tf_relational.models import build_agent
    from tf_relational.rl import make_optimizer
    from tf_relational.rl.compiled import CompiledTrainer, Settings

    calls = config.updates_per_call or (1 if config.curriculum else 10)
    try:
        return CompiledTrainer(
            Settings(
                num_envs=config.batch_size // config.unroll_length,
                unroll_length=config.unroll_length,
                num_minibatches=config.num_minibatches,
                learning_rate=_learning_rate(config),
                entropy=config.entropy,
                value_coefficient=config.value_coefficient,
                gamma=config.gamma,
                vtrace_lambda=config.vtrace_lambda,
                loss_reduction=config.loss_reduction,
                gradient_clip=config.gradient_clip,
                updates_per_call=calls,
                curriculum=_curriculum(config),
                devices=config.devices,
                jit_compile=config.jit_compile,
            ),
            config.level_config(),
            lambda: build_agent(
                config.agent, initialization=config.initialization, variant=config.variant
            ),
            lambda: make_optimizer(config.optimizer, **_optimizer_kwargs(config)),
            seeds,
        )
    except ValueError as error:
        raise UserError(str(error)) from error


def _optimizer_kwargs(config: Any) -> dict[str, Any]:
    if not config.optimizer.startswith("rmsprop"):
        return {}
    kwargs = {
        "rho": config.rmsprop_decay,
        "momentum": config.rmsprop_momentum,
        "epsilon": config.rmsprop_epsilon,
    }
    return kwargs | ({"variant": config.variant} if config.optimizer == "rmsprop_tf1" else {})


def _learning_rate(config: Any) -> float | list:
    if config.final_learning_rate is None:
        return config.learning_rate
    return [[0, config.learning_rate], [config.total_frames, config.final_learning_rate]]


def _curriculum(config: Any) -> dict[str, Any] | None:
    if not config.curriculum:
        return None
    return {
        "p0": config.curriculum_probability,
        "p_min": config.curriculum_least_probability,
        "span": config.curriculum_span,
        "first_difficulty": config.curriculum_first_difficulty,
        "window": config.curriculum_window,
        "threshold": config.curriculum_threshold,
        "horizon": config.curriculum_horizon,
        "horizon_growth": config.curriculum_horizon_growth,
    }


def check_cores(config: Any) -> None:
    """Refuses what would wait without end, before anything is started.

    More env runners than this machine has cores: Ray would wait for the missing ones. On a cluster
    the cores are not known yet, and Ray's autoscaler may add some: asked is only that it answers.

    Raises:
        UserError: too few cores, or `RAY_ADDRESS` names a cluster that does not answer.
    """
    if config.engine == "compiled":
        return
    if (address := cluster_address()) is not None:
        _check_answers(address)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if config.num_env_runners > cores:
        raise UserError(
            f"num_env_runners={config.num_env_runners} needs as many cores, this machine has "
            f"{cores}: give --num-env-runners 0 to {cores}, or set RAY_ADDRESS to a Ray cluster"
        )


def cluster_address() -> str | None:
    """The cluster that `RAY_ADDRESS` names; None, this machine, if it is unset, "" or "local"."""
    address = os.environ.get("RAY_ADDRESS", "")
    return None if address in ("", "local") else address


def start_ray(num_env_runners: int = 0) -> None:
    """Joins the cluster of `RAY_ADDRESS` or starts Ray here, quietly, unless it runs already.

    Raises:
        UserError: Ray does not start or the cluster cannot be joined; or Ray has fewer cores here
            than env runners: a container's quota may leave it fewer than `check_cores` sees.
    """
    address = cluster_address()
    if address is not None:
        _check_answers(address)
        # Ray would ask a port that takes connections and is not Ray's for a quarter of an hour.
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")

    import ray
    import ray.rllib

    from tf_relational import quiet

    quiet.start()
    # Ray gives its processes 30 seconds to come up, too little where other programs have the cores.
    attempts = 3 if address is None else 1
    for attempt in range(attempts):
        if ray.is_initialized():
            break
        try:
            ray.init(
                address=address or "local",
                include_dashboard=False,
                **quiet.ray_options(cluster=address is not None),
            )
        except Exception as error:
            ray.shutdown()
            if address is not None:
                raise UserError(
                    f"RAY_ADDRESS={address} cannot be joined: {error}. Is it a Ray "
                    f"{ray.__version__} cluster, and is this machine one of its nodes? If it asks "
                    f"for a token: RAY_AUTH_MODE=token. {_OTHER_ADDRESS}"
                ) from error
            if attempt == attempts - 1:
                raise UserError(f"Ray does not start: {error}") from error
    cores = ray.cluster_resources().get("CPU", 0)
    if address is None and num_env_runners > cores:
        raise UserError(
            f"num_env_runners={num_env_runners} needs as many cores, Ray was given {cores:g}: give "
            f"--num-env-runners 0 to {cores:g}, or set RAY_ADDRESS to a Ray cluster"
        )


_OTHER_ADDRESS = (
    "Give the address that `ray start --head` printed, such as 10.0.0.1:6379, or auto on a machine "
    "of the cluster; without RAY_ADDRESS this machine trains alone"
)


def _check_answers(address: str) -> None:
    """Refuses an address at which nothing listens; "auto" is Ray's to look up."""
    if address == "auto":
        return
    try:
        parts = urllib.parse.urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None:
        raise UserError(f"RAY_ADDRESS={address} is not an address, host:port. {_OTHER_ADDRESS}")
    try:
        socket.create_connection((host, port), timeout=10).close()
    except OSError as error:
        raise UserError(
            f"RAY_ADDRESS={address} does not answer: {error}. {_OTHER_ADDRESS}"
        ) from error
