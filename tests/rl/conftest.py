import os

import pytest


@pytest.fixture(scope="session")
def cluster():
    """One Ray for all tests of the bridge; starting it is what costs."""
    # Where other programs have the cores, Ray's 30 seconds to start are too few.
    os.environ["RAY_raylet_start_wait_time_s"] = "180"
    os.environ["RAY_AUTH_MODE"] = "disabled"
    import ray

    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def mlp():
    """A builder of small actor-critics, defined inside so that Ray sends it by value."""

    def build(observation_space, action_space, width=64, layers=1):
        import keras

        x = hidden = keras.Input(observation_space.shape, name="obs")
        for _ in range(layers):
            hidden = keras.layers.Dense(width, activation="tanh")(hidden)
        logits = keras.layers.Dense(int(action_space.n))(hidden)
        value = keras.layers.Reshape(())(keras.layers.Dense(1)(hidden))
        return keras.Model(x, {"logits": logits, "value": value})

    return build


@pytest.fixture
def cartpole(cluster, mlp):
    """A small configuration that compiles quickly."""
    from tf_relational.rl.rllib import KerasIMPALAConfig

    return (
        KerasIMPALAConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4, rollout_fragment_length=5)
        .training(
            keras_model=mlp,
            keras_model_kwargs={"width": 8},
            train_batch_size_per_learner=20,
            jit_compile=False,
            threads=1,
        )
        .reporting(min_time_s_per_iteration=0)
        .debugging(seed=3)
    )
