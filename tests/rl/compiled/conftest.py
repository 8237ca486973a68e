import dataclasses
import os
from pathlib import Path

import keras
import numpy as np
import pytest

from tf_relational.envs.config import BRIDGE


@pytest.fixture
def level_config():
    """Bridge puzzles of solution length 1, cut soon, so that episodes of all kinds end."""
    return dataclasses.replace(BRIDGE, solution_length=(1, 1), horizon=25)


def build_small_agent():
    """An actor-critic that compiles quickly."""
    pictures = keras.Input((7, 10, 3), dtype="uint8", name="obs")
    hidden = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(pictures))
    hidden = keras.layers.Dense(16, activation="tanh")(hidden)
    logits = keras.layers.Dense(4)(hidden)
    value = keras.layers.Reshape(())(keras.layers.Dense(1)(hidden))
    return keras.Model(pictures, {"logits": logits, "value": value})


@pytest.fixture
def small_agent():
    return build_small_agent


@pytest.fixture
def make_trainer(level_config):
    from tf_relational.rl import make_optimizer
    from tf_relational.rl.compiled import CompiledTrainer, Settings

    made = []

    def make(seeds=(0,), **changes):
        settings = {
            "num_envs": 8,
            "unroll_length": 10,
            "num_minibatches": 2,
            "updates_per_call": 2,
            "learning_rate": [[0, 3e-3], [4000, 1e-3]],
            "curriculum": {"window": 5},
            "jit_compile": False,
            **changes,
        }
        made.append(
            CompiledTrainer(
                Settings(**settings),
                level_config,
                build_small_agent,
                lambda: make_optimizer("adam"),
                seeds,
            )
        )
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()


@pytest.fixture(scope="session")
def batch():
    """Random pictures, actions, rewards and ends, more than one slice of them."""
    rng = np.random.default_rng(0)
    shape = (15, 8)
    return {
        "observations": rng.integers(0, 256, (16, 8, 7, 10, 3)).astype("uint8"),
        "actions": rng.integers(4, size=shape).astype("int32"),
        "log_probs": np.log(rng.uniform(0.1, 0.9, size=shape)).astype("float32"),
        "rewards": rng.choice([0, 1, 10, -1], size=shape).astype("float32"),
        "done": rng.random(shape) < 0.3,
    }


@pytest.fixture(scope="session")
def rllib_updates(request, tmp_path_factory, batch):
    """A folder with what the RLlib engine makes of the batch, one file for each agent.

    That engine needs TensorFlow; for a run on JAX the folder comes from outside.
    """
    if keras.backend.backend() != "tensorflow":
        if "TF_RELATIONAL_UPDATES" not in os.environ:
            pytest.skip("the RLlib engine's updates are recorded on TensorFlow")
        return Path(os.environ["TF_RELATIONAL_UPDATES"])
    request.getfixturevalue("cluster")
    folder = tmp_path_factory.mktemp("updates")
    for name in ("relational", "simplicial"):
        np.savez(folder / f"{name}.npz", **rllib_update(name, batch))
    return folder


def rllib_update(name, batch):
    """Batch, weights before and after, and metrics of one step of gradient descent of size 1."""
    import gymnasium

    from tf_relational.rl.rllib import KerasIMPALAConfig, Rollout

    env_id = "tf_relational/BridgeBoxWorld-v0"
    length, width = batch["actions"].shape
    config = (
        KerasIMPALAConfig()
        .environment(env_id)
        .env_runners(
            num_env_runners=0, num_envs_per_env_runner=width, rollout_fragment_length=length
        )
        .training(
            keras_model=name,
            keras_model_kwargs={"initialization": "contrast"},
            train_batch_size_per_learner=length * width,
            optimizer_name="sgd",
            optimizer_kwargs={},
            lr=1.0,
            gamma=0.99,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            grad_clip=1e9,
            loss_reduction="sum",
            jit_compile=False,
        )
        .debugging(seed=3)
    )
    learner = config.build_learner(env=gymnasium.make_vec(env_id, num_envs=width))
    model = learner.module["default_policy"].model
    arrays = {f"batch/{part}": value for part, value in batch.items()}
    arrays |= {f"before/{n}": value.copy() for n, value in enumerate(model.get_weights())}
    rollout = Rollout(
        observations=batch["observations"],
        actions=batch["actions"],
        log_probs=batch["log_probs"],
        rewards=batch["rewards"],
        ends=batch["done"].astype("float32"),
        mask=np.ones((length, width), "float32"),
        weights_seq_no=0,
    )
    told = learner.update(episodes=[rollout])["default_policy"]
    arrays |= {f"after/{n}": value for n, value in enumerate(model.get_weights())}
    metrics = ("total_loss", "policy_loss", "value_loss", "entropy", "gradient_norm")
    return arrays | {part: float(told[part].peek()) for part in metrics}
