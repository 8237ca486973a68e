import pytest

TABLE_1 = {
    "entropy_coeff": 5e-3,
    "gamma": 0.99,
    "rollout_fragment_length": 40,
    "train_batch_size_per_learner": 1280,
    "lr": 2e-4,
}
RMSPROP = {"momentum": 0.0, "epsilon": 0.1, "rho": 0.99}
UNLISTED = {
    "vf_loss_coeff": 0.5,
    "grad_clip": 40.0,
    "grad_clip_by": "global_norm",
    "vtrace_clip_rho_threshold": 1.0,
    "vtrace_clip_pg_rho_threshold": 1.0,
    "vtrace_lambda": 1.0,
    "loss_reduction": "sum",
    "num_env_runners": 63,
    "curriculum": None,
}


@pytest.mark.parametrize("name", ["bridge_boxworld", "boxworld"])
def test_values_are_the_papers(name):
    import importlib

    from ray.rllib.algorithms.impala import IMPALAConfig

    config = importlib.import_module(f"rllib_configs.{name}").config()
    assert isinstance(config, IMPALAConfig)
    config.validate()
    for key, value in {**TABLE_1, **UNLISTED}.items():
        assert getattr(config, key) == value, key
    assert config.optimizer_name == "rmsprop_tf1"
    assert config.optimizer_kwargs == {**RMSPROP, "variant": "published"}
    import gymnasium as gym

    import tf_relational.envs  # noqa: F401

    env = gym.make_vec(config.env, num_envs=2, vectorization_mode="vector_entry_point")
    game = env.unwrapped.config
    expected = (7, 9, (1, 3), 2, 0.5) if name == "bridge_boxworld" else (9, 9, (1, 5), 1, 0.0)
    assert (
        game.rows, game.columns, game.solution_length, game.gem_locks, game.bridge_probability
    ) == expected  # fmt: skip
    assert game.horizon is None
    assert game.distractors == ((0, 0) if name == "bridge_boxworld" else (0, 4))


@pytest.mark.parametrize(
    "agent, parameters, runners", [("relational", 239_241, 0), ("simplicial", 365_513, 1)]
)
def test_both_agents_train(cluster, agent, parameters, runners):
    from rllib_configs import bridge_boxworld

    config = (
        bridge_boxworld.config(agent, seed=0, num_env_runners=runners)
        .environment(env_config={"horizon": 10})
        .env_runners(num_envs_per_env_runner=4, rollout_fragment_length=5)
        .training(train_batch_size_per_learner=20, jit_compile=False, threads=1)
        .reporting(min_time_s_per_iteration=0, min_sample_timesteps_per_iteration=120)
    )
    algo = config.build_algo()
    try:
        assert algo.model.count_params() == parameters
        before = [w.copy() for w in algo.model.get_weights()]
        result = algo.train()
        assert result["frames"]["trained"] >= 60
        assert set(result["env_runners"]["fraction_solved_by_type"]) <= {
            f"({a},{b},{c})" for a in range(1, 4) for b in range(4) for c in range(7)
        }
        assert result["env_runners"]["episode_len_mean"] <= 10
        assert any((x != y).any() for x, y in zip(before, algo.model.get_weights(), strict=True))
    finally:
        algo.stop()
