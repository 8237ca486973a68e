import time

import numpy as np
import pytest


def train_until(algo, condition, seconds=120):
    """Train until `condition(result)`, and say in how many seconds."""
    start = time.monotonic()
    while True:
        result = algo.train()
        if condition(result):
            return result
        assert time.monotonic() - start < seconds, (
            f"not within {seconds} s: {result['env_runners']}"
        )


@pytest.fixture
def build():
    algos = []

    def build(config):
        algos.append(config.build_algo())
        return algos[-1]

    yield build
    for algo in algos:
        algo.stop()


def test_cartpole_is_learned(cartpole, build):
    config = (
        cartpole.env_runners(num_envs_per_env_runner=32, rollout_fragment_length=16)
        .training(
            keras_model_kwargs={"width": 64},
            train_batch_size_per_learner=512,
            num_minibatches=2,
            optimizer_name="adam",
            optimizer_kwargs={},
            lr=5e-3,
            loss_reduction="mean",
            entropy_coeff=0.01,
            jit_compile=True,
        )
        .reporting(min_sample_timesteps_per_iteration=10_000)
    )
    algo = build(config)
    first = algo.train()["env_runners"]["episode_return_mean"]
    assert first < 60
    result = train_until(algo, lambda r: r["env_runners"]["episode_return_mean"] > 150, 240)
    assert result["frames"]["sampled"] == result["frames"]["trained"] <= 300_000
    learner = result["learners"]["default_policy"]
    assert 0.5 < learner["importance_weight_mean"] < 2 and learner["explained_variance"] > 0
    # One update a training step, and the runner acts with its weights.
    assert learner["policy_lag"] == 0
    assert learner["num_updates_lifetime"] == algo.learner_group._learner._weights_seq_no


def test_schedules_and_evaluation_runner(cartpole, build):
    config = (
        cartpole.training(lr=[[0, 1e-3], [200, 0.0]], entropy_coeff=[[0, 0.1], [200, 0.0]])
        .evaluation(evaluation_interval=1, evaluation_duration=6, evaluation_num_env_runners=1)
        .reporting(min_sample_timesteps_per_iteration=200)
    )
    algo = build(config)
    result = algo.train()
    result = algo.train()
    learner = result["learners"]["default_policy"]
    assert learner["entropy_coeff"] == pytest.approx(0.0, abs=0.02)
    assert float(algo.learner_group._learner._optimizer.learning_rate) == 0.0
    evaluation = result["evaluation"]["env_runners"]
    assert evaluation["num_episodes"] == 6
    assert evaluation["episode_len_mean"] == evaluation["episode_return_mean"] > 5
    assert "sums" not in evaluation and "sums" not in result["env_runners"]
    assert algo.evaluate()["env_runners"]["episode_return_mean"] > 5


def test_a_killed_runner_is_replaced_and_training_goes_on(cluster, cartpole, build):
    config = cartpole.env_runners(num_env_runners=2).reporting(
        min_sample_timesteps_per_iteration=200
    )
    algo = build(config)
    algo.train()
    victim = algo.env_runner_group._worker_manager.actors()[1]
    cluster.kill(victim, no_restart=False)
    result = train_until(algo, lambda r: r["fault_tolerance"]["num_remote_worker_restarts"] == 1)
    before = result["frames"]
    result = train_until(algo, lambda r: r["frames"]["sampled"] > before["sampled"] + 400)
    assert result["fault_tolerance"]["num_healthy_workers"] == 2
    assert result["frames"]["trained"] > before["trained"]
    # Both act with weights of the learner, the new one too.
    algo.env_runner_group.sync_weights(
        from_worker_or_learner_group=algo.learner_group, timeout_seconds=60
    )
    expected = algo.model.get_weights()
    for weights in algo.env_runner_group.foreach_env_runner(
        lambda runner: runner.module.model.get_weights(), local_env_runner=False
    ):
        for x, y in zip(weights, expected, strict=True):
            np.testing.assert_array_equal(x, y)


def test_an_environment_that_raises_now_and_then_does_not_end_the_run(cartpole, build):
    import gymnasium as gym
    from ray.tune.registry import register_env

    def create(context):
        class Fragile(gym.vector.VectorWrapper):
            def step(self, actions):
                if self.np_random.random() < 0.02:
                    raise RuntimeError("the game crashed")
                return super().step(actions)

        return Fragile(gym.make_vec("CartPole-v1", context["num_envs"]))

    register_env("fragile", create)
    algo = build(cartpole.environment("fragile").reporting(min_sample_timesteps_per_iteration=2000))
    result = algo.train()
    assert result["env_runners"]["num_env_step_failures"] > 3
    assert result["frames"]["trained"] == result["frames"]["sampled"] >= 2000
    assert result["env_runners"]["episode_return_mean"] > 5


def test_remote_learner_and_curriculum_on_remote_runners(cartpole, build):
    import gymnasium as gym
    from ray.tune.registry import register_env

    def create(context):
        class Easy(gym.vector.VectorWrapper):
            """Every episode is one of the curriculum, and its return is positive."""

            setting = None

            def step(self, actions):
                *rest, infos = super().step(actions)
                ended = rest[2] | rest[3]
                if ended.any():
                    infos["curriculum"] = ended
                return *rest, infos

            @property
            def unwrapped(self):
                return self

            def set_curriculum(self, **setting):
                self.setting = setting

        return Easy(gym.make_vec("CartPole-v1", context["num_envs"]))

    register_env("easy", create)
    algo = build(
        cartpole.environment("easy")
        .env_runners(num_env_runners=1)
        .learners(num_learners=1)
        .training(curriculum={"p0": 0.9, "span": 11, "window": 5, "max_difficulty": 3})
        .reporting(min_sample_timesteps_per_iteration=400)
    )
    before = algo.model.get_weights()[0]
    result = train_until(
        algo,
        lambda r: r["curriculum"]["difficulty"] == 3 and r["frames"]["trained"] >= 200,
    )
    assert result["curriculum"]["probability"] == pytest.approx(0.9 * (1 - 2 / 11))
    assert result["env_runners"]["curriculum_return_mean"] > 5
    assert np.isnan(result["env_runners"]["episode_return_mean"])
    assert result["learners"]["default_policy"]["policy_lag"] >= 0
    assert (algo.model.get_weights()[0] != before).any()
    train_until(
        algo,
        lambda r: (
            algo.env_runner_group.foreach_env_runner(
                lambda runner: runner.env.setting, local_env_runner=False
            )
            == [algo.curriculum.setting()]
        ),
    )


def test_same_seed_same_run(cartpole, build):
    def weights(seed):
        algo = build(cartpole.copy(copy_frozen=False).debugging(seed=seed))
        for _ in range(3):
            algo.train()
        return algo.model.get_weights()

    first, again, other = weights(1), weights(1), weights(2)
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y)
    assert any((x != y).any() for x, y in zip(first, other, strict=True))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda c: c.learners(num_learners=2), r"`num_learners` must be 0 .* or 1 .*received 2"),
        (lambda c: c.training(keras_model=None), "no model is configured"),
        (lambda c: c.training(loss_reduction="max"), r'"sum" or "mean"; received \'max\''),
        (lambda c: c.training(train_batch_size_per_learner=30), "multiple of a runner's rollout"),
        (lambda c: c.training(num_minibatches=3), "num_minibatches=3 must divide the 4 env"),
        (lambda c: c.training(grad_clip_by="value"), "\"global_norm\"; received 'value'"),
        (lambda c: c.training(curriculum={"p0": 2}), r"`p0` must be in \[0, 1\]"),
        (
            lambda c: c.environment("Pendulum-v1").env_runners(gym_env_vectorize_mode="sync"),
            "must be a gymnasium Discrete space",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_words(cartpole, build, change, words):
    with pytest.raises(ValueError, match=words):
        build(change(cartpole))
