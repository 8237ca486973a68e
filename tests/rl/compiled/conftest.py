import dataclasses

import pytest

from tf_relational.envs.config import BRIDGE


@pytest.fixture
def level_config():
    """Bridge puzzles of solution length 1, cut soon, so that episodes of all kinds end."""
    return dataclasses.replace(BRIDGE, solution_length=(1, 1), horizon=25)


def small_agent():
    """An actor-critic that compiles quickly."""
    import keras

    pictures = keras.Input((7, 10, 3), dtype="uint8", name="obs")
    hidden = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(pictures))
    hidden = keras.layers.Dense(16, activation="tanh")(hidden)
    logits = keras.layers.Dense(4)(hidden)
    value = keras.layers.Reshape(())(keras.layers.Dense(1)(hidden))
    return keras.Model(pictures, {"logits": logits, "value": value})


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
                Settings(**settings), level_config, small_agent, lambda: make_optimizer("adam"),
                seeds,
            )
        )  # fmt: skip
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()
