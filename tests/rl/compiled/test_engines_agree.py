"""Both engines learn the same from the same batch, on TensorFlow and on JAX."""

import keras
import numpy as np
import pytest

from tf_relational.envs.config import BRIDGE
from tf_relational.rl.compiled.backend import Learners
from tf_relational.rl.compiled.program import LEARNER_METRICS, Program, Steps
from tf_relational.rl.compiled.settings import Settings
from tf_relational.rl.optimizers import make_optimizer

BATCH = ("observations", "actions", "log_probs", "rewards", "done")
COMPARED = ("total_loss", "policy_loss", "value_loss", "entropy", "gradient_norm")


def compiled_update(model, data, optimizer="sgd", **changes):
    """One update of the compiled engine: metrics of each gradient step, and the new weights."""
    learners = Learners([model], [make_optimizer(optimizer)], changes.get("gradient_clip", 1e9))
    return update_with(learners, data, **changes), learners.get(0)[0]


def update_with(learners, data, **changes):
    length, width = data["actions"].shape
    settings = Settings(num_envs=width, unroll_length=length, **changes)
    program = Program(settings, None, 0, learners)
    data = {name: keras.ops.convert_to_tensor(value) for name, value in data.items()}
    seen = data.pop("observations")
    rest = {name: data.get(name) for name in Steps._fields if name != "observations"}
    state = keras.tree.map_structure(lambda part: part[0], learners.state)
    coefficients = {"learning_rate": np.float32(1.0), "entropy": np.float32(0.01)}
    state, told = program.learn(0, state, Steps(seen[:-1], **rest), seen[-1], coefficients)
    learners.state = keras.tree.map_structure(lambda part: part[None], state)
    return keras.ops.convert_to_numpy(told)


def build(name):
    from tf_relational.models import build_agent

    keras.utils.set_random_seed(1)
    model = build_agent(name, initialization="contrast")
    model(np.zeros((1, *BRIDGE.observation_shape), "uint8"))
    return model


@pytest.mark.parametrize("name", ["relational", "simplicial"])
def test_loss_and_gradients_equal_those_of_the_rllib_engine(rllib_updates, name):
    """A step of plain gradient descent of size 1 moves the weights by minus the gradient."""
    model = build(name)
    with np.load(rllib_updates / f"{name}.npz") as recorded:
        data = {part: recorded[f"batch/{part}"] for part in BATCH}
        before, after = (
            [recorded[f"{when}/{n}"] for n in range(len(model.weights))]
            for when in ("before", "after")
        )
        theirs = {part: float(recorded[part]) for part in COMPARED}
    model.set_weights(before)
    told, ours = compiled_update(model, data)
    for part in COMPARED:
        assert told[0][LEARNER_METRICS.index(part)] == pytest.approx(theirs[part], rel=1e-5)
    for start, one, other in zip(before, ours, after, strict=True):
        gradient = np.abs(start - other).max()
        # 1e-5 of the array's largest gradient; the weights themselves are rounded to 1e-7.
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * gradient + 3e-7)


def test_minibatches_are_successive_updates_on_groups_of_environments(small_agent, batch):
    data = batch
    model = small_agent()
    start = model.get_weights()
    told, together = compiled_update(model, data, "rmsprop_tf1", num_minibatches=2)
    model.set_weights(start)
    # RMSProp's slots go on from one group to the next, so one optimizer has to see both.
    learners = Learners([model], [make_optimizer("rmsprop_tf1")], 1e9)
    for number in range(2):
        part = {name: value[:, number::2] for name, value in data.items()}
        metrics = update_with(learners, part)
        np.testing.assert_allclose(told[number], metrics[0], rtol=1e-5)
    for one, other in zip(together, learners.get(0)[0], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_gradients_are_clipped_by_their_global_norm(small_agent, batch):
    model = small_agent()
    start = model.get_weights()
    told, after = compiled_update(model, batch, gradient_clip=0.5)
    norm = np.sqrt(sum(np.square(a - b).sum() for a, b in zip(after, start, strict=True)))
    assert told[0][LEARNER_METRICS.index("gradient_norm")] > 0.5
    assert norm == pytest.approx(0.5, rel=1e-4)
