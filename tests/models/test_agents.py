"""The whole agents."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.layers.cases import SMALL_AGENT
from tf_relational import models

ROOT = Path(__file__).resolve().parents[2]
FIRST = {"relational": "RelationalAgent", "simplicial": "SimplicialAgent"}


def boards(batch=2, rows=7, columns=10, seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(0, 256, size=(batch, rows, columns, 3), dtype="uint8")


@pytest.mark.parametrize(("name", "count"), [("relational", 239_241), ("simplicial", 365_513)])
def test_the_agents_have_the_published_number_of_parameters(name, count):
    agent = models.build_agent(name)
    agent.build((None, 7, 10, 3))
    assert type(agent) is models.AGENTS[name] is getattr(models, FIRST[name])
    assert agent.count_params() == count
    assert not agent.non_trainable_variables


@pytest.mark.parametrize("name", FIRST)
def test_attention_has_the_shapes_of_the_contract(name):
    agent = models.build_agent(name, num_actions=5)
    outputs = agent(boards(), return_attention=True)
    assert tuple(outputs["logits"].shape) == (2, 5) and tuple(outputs["value"].shape) == (2,)
    shapes = {key: tuple(value.shape) for key, value in outputs["attention"].items()}
    expected = {"standard": (2, 2, 40, 40)}
    if name == "simplicial":
        expected |= {"virtual": (2, 2, 2, 42), "simplicial": (2, 1, 40, 2, 2)}
    assert shapes == {
        f"block_{i}/{key}": shape for i in range(2) for key, shape in expected.items()
    }


@pytest.mark.parametrize("name", FIRST)
def test_other_boards_and_float_pictures_are_taken(name):
    agent = models.build_agent(name, **SMALL_AGENT)
    picture = boards(rows=5, columns=4)
    expected = agent(picture)
    for kind in ("float32", "int32"):
        outputs = agent(picture.astype(kind))
        np.testing.assert_allclose(
            np.asarray(outputs["logits"]), np.asarray(expected["logits"]), rtol=1e-6
        )
    assert agent(boards(rows=9, columns=10))["value"].shape == (2,)


@pytest.mark.parametrize("shape", [(7, 10, 3), (1, 7, 10, 4), (1, 2, 10, 3)])
def test_what_is_no_board_is_refused(shape):
    with pytest.raises(ValueError, match="batch of pictures .* received shape"):
        models.RelationalAgent(**SMALL_AGENT)(np.zeros(shape, "uint8"))


def largest_weights(initialization):
    agent = models.RelationalAgent(initialization=initialization)
    agent.build((None, 7, 10, 3))
    largest = {}
    for variable in agent.variables:
        layer, kind = variable.path.split("/")[-2:]
        values = np.asarray(variable)
        if kind == "bias":
            assert not values.any()
        else:
            largest[layer] = np.abs(values).max()
    return agent, largest


GLOROT = {
    "conv1": np.sqrt(6 / (4 * 3 + 4 * 12)),
    "conv2": np.sqrt(6 / (4 * 12 + 4 * 24)),
    "entity_projection": np.sqrt(6 / (24 + 62)),
    "fc2": np.sqrt(6 / 512),
}


def test_the_first_weights_are_the_published_ones():
    _, largest = largest_weights("published")
    for name, limit in GLOROT.items():
        assert 0.9 * limit < largest[name] <= limit, name


def test_contrast_gives_kernels_that_do_not_see_one_colour():
    agent, largest = largest_weights("contrast")
    for name, gain in {"conv2": 2, "entity_projection": 3, "fc2": 1}.items():
        assert 0.9 * gain * GLOROT[name] < largest[name] <= gain * GLOROT[name], name
    kernel = np.asarray(agent.convolutions[0].kernel)
    np.testing.assert_allclose(kernel.sum(axis=(0, 1)), 0, atol=1e-5)
    # Uniform within 4 limits, less the mean of four: deviation 4 limit / sqrt(3) * sqrt(3 / 4).
    assert abs(kernel.std() / (2 * GLOROT["conv1"]) - 1) < 0.2
    one_colour = np.full((1, 7, 10, 3), 199, "float32")
    assert np.abs(np.asarray(agent.convolutions[0](one_colour / 255))).max() < 1e-5


def test_an_initialization_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'published', 'contrast'.* received 'mine'"):
        models.RelationalAgent(initialization="mine")


def test_an_agent_takes_any_core():
    class Mean(keras.layers.Layer):
        def call(self, entities, return_attention=False):
            outputs = keras.ops.mean(entities, axis=1)
            return (outputs, {}) if return_attention else outputs

        def compute_output_shape(self, input_shape):
            return (input_shape[0], input_shape[-1])

    agent = models.Agent(Mean(), num_actions=3, model_dim=10)
    outputs = agent(boards(), return_attention=True)
    assert tuple(outputs["logits"].shape) == (2, 3) and outputs["attention"] == {}


@pytest.mark.parametrize("core", ["relational", "relation_net"])
def test_an_agent_with_a_core_of_ones_own_is_saved_whole(core, tmp_path):
    agent = models.Agent(core, num_actions=3, model_dim=10, hidden_units=(6,))
    picture = boards(rows=5, columns=6)
    expected = agent(picture)
    agent.save(tmp_path / "agent.keras")
    again = keras.saving.load_model(tmp_path / "agent.keras")(picture)
    for name, output in expected.items():
        np.testing.assert_allclose(np.asarray(again[name]), np.asarray(output), 1e-6, 1e-6)


def test_an_unknown_agent_is_refused():
    with pytest.raises(ValueError, match="'relational', 'simplicial'.* received 'mine'"):
        models.build_agent("mine")


def test_a_fresh_process_loads_the_agent(tmp_path):
    agent = models.SimplicialAgent(**SMALL_AGENT, initialization="contrast")
    picture = boards(rows=5, columns=6)
    outputs = {key: np.asarray(value) for key, value in agent(picture).items()}
    agent.save(tmp_path / "agent.keras")
    np.savez(tmp_path / "expected.npz", obs=picture, **outputs)
    code = (
        "import keras, numpy as np, tf_relational.models\n"
        "a = np.load('expected.npz'); agent = keras.saving.load_model('agent.keras')\n"
        "for name, output in agent(a['obs']).items():\n"
        "    np.testing.assert_allclose(output, a[name], 1e-6, 1e-6)"
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        timeout=300,
    )
