"""Exported agents as TensorFlow alone sees them: without Keras, by saved_model_cli, misused."""

import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_relational.models import build_agent
from tf_relational.serving import ExportedAgent, export_agent

TOLERANCE = 1e-6
OUTPUTS = ["action", "logits", "probabilities", "value"]

# Run where this library is not importable and Keras is barred.
WITHOUT_KERAS = """
import sys
sys.modules["keras"] = None
import numpy as np, tensorflow as tf
for name in sys.argv[1:]:
    serve = tf.saved_model.load(name + "/export").signatures["serving_default"]
    obs = np.load(name + "/obs.npy")
    np.savez(name + "/out.npz", **{k: v.numpy() for k, v in serve(obs=tf.constant(obs)).items()})
"""


def _agent(name, rows, columns):
    """An agent whose heads are far from the small numbers of a fresh one."""
    keras.utils.set_random_seed(len(name))
    agent = build_agent(name)
    agent(np.zeros((1, rows, columns, 3), "uint8"))
    for head in (agent.policy, agent.value):
        head.kernel.assign(head.kernel * 4.0)
    return agent


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Of each agent: the model, a batch of observations, and a folder with export/ and obs.npy.

    The simplicial one goes through a .keras file, the relational one does not.
    """
    made = {}
    for name, (rows, columns) in {"simplicial": (7, 10), "relational": (9, 10)}.items():
        folder = tmp_path_factory.mktemp(name)
        agent = _agent(name, rows, columns)
        source = agent
        if name == "simplicial":
            source = folder / "agent.keras"
            agent.save(source)
        assert export_agent(source, folder / "export") == folder / "export"
        obs = np.random.default_rng(1).integers(0, 256, (6, rows, columns, 3), dtype="uint8")
        np.save(folder / "obs.npy", obs)
        made[name] = (agent, obs, folder)
    return made


@pytest.fixture(scope="module")
def serve(exports):
    """The signature of the simplicial agent's export, as plain TensorFlow loads it."""
    return tf.saved_model.load(exports["simplicial"][2] / "export").signatures["serving_default"]


def _softmax(logits):
    exponents = np.exp(logits.astype("float64") - logits.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def _check(outputs, agent, obs):
    # The compiled model, as training runs it: called eagerly it sums in another order, and rounds
    # differently in the last place.
    wanted = {k: v.numpy() for k, v in tf.function(agent)(tf.constant(obs)).items()}
    assert sorted(outputs) == OUTPUTS
    assert np.ptp(wanted["logits"]) > 0.5, "the heads have something to tell"
    np.testing.assert_allclose(outputs["logits"], wanted["logits"], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(outputs["value"], wanted["value"], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(outputs["probabilities"], _softmax(wanted["logits"]), atol=TOLERANCE)
    np.testing.assert_array_equal(outputs["action"], wanted["logits"].argmax(axis=-1))


def test_a_process_without_keras_agrees(exports, tmp_path):
    folders = [str(folder) for _, _, folder in exports.values()]
    subprocess.run(
        [sys.executable, "-c", WITHOUT_KERAS, *folders],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    for agent, obs, folder in exports.values():
        with np.load(folder / "out.npz") as outputs:
            _check(dict(outputs), agent, obs)


def test_saved_model_cli_shows_and_runs(exports, tmp_path):
    agent, obs, folder = exports["simplicial"]
    model = ["--dir", str(folder / "export"), "--tag_set", "serve"]
    model += ["--signature_def", "serving_default"]
    cli = Path(sys.executable).with_name("saved_model_cli")
    shown = subprocess.run([cli, "show", *model], check=True, capture_output=True, text=True)
    shown = " ".join(shown.stdout.split())
    assert "inputs['obs'] tensor_info: dtype: DT_UINT8 shape: (-1, 7, 10, 3)" in shown
    for name, kind, shape in [
        ("action", "INT32", "(-1)"),
        ("logits", "FLOAT", "(-1, 4)"),
        ("probabilities", "FLOAT", "(-1, 4)"),
        ("value", "FLOAT", "(-1)"),
    ]:
        assert f"outputs['{name}'] tensor_info: dtype: DT_{kind} shape: {shape}" in shown
    given = ["--inputs", f"obs={folder / 'obs.npy'}", "--outdir", str(tmp_path)]
    subprocess.run([cli, "run", *model, *given], check=True, capture_output=True)
    _check({name: np.load(tmp_path / f"{name}.npy") for name in OUTPUTS}, agent, obs)


@pytest.mark.parametrize("batch", [1, 6])
def test_the_batch_is_free(exports, batch):
    agent, obs, folder = exports["relational"]
    _check(ExportedAgent(folder / "export")(obs[:batch]), agent, obs[:batch])


@pytest.mark.parametrize("shape", [(2, 7, 9, 3), (2, 10, 7, 3), (2, 8, 10, 3), (7, 10, 3)])
def test_tensorflow_refuses_a_wrong_shape(serve, shape):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape of tensor obs .*7,10,3"):
        serve(obs=tf.zeros(shape, tf.uint8))


def test_tensorflow_refuses_a_wrong_type(serve):
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a uint8 tensor"):
        serve(obs=tf.zeros((2, 7, 10, 3), tf.float32))


def test_the_loader_refuses_in_words(exports):
    exported = ExportedAgent(exports["simplicial"][2] / "export")
    assert exported.picture_shape == (7, 10, 3)
    with pytest.raises(ValueError, match=r"uint8 \[batch, 7, 10, 3\]; received float32 \[2, 7, 1"):
        exported(np.zeros((2, 7, 10, 3), "float32"))
    with pytest.raises(ValueError, match=r"received uint8 \[2, 9, 10, 3\]"):
        exported(np.zeros((2, 9, 10, 3), "uint8"))
    with pytest.raises(ValueError, match=r"A single observation goes in as obs\[None\]"):
        exported(np.zeros((7, 10, 3), "uint8"))


def test_the_loader_refuses_other_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="no SavedModel"):
        ExportedAgent(tmp_path)
    module = tf.Module()
    module.double = tf.function(lambda x: 2 * x, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(module, tmp_path / "other", signatures={"double": module.double})
    with pytest.raises(ValueError, match=r"no exported agent.*\['double'\]"):
        ExportedAgent(tmp_path / "other")


def test_an_export_overwrites_nothing(exports, tmp_path):
    agent = exports["relational"][0]
    (tmp_path / "there").write_text("precious")
    with pytest.raises(FileExistsError, match="does not overwrite"):
        export_agent(agent, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "precious"


def test_an_interrupted_export_leaves_nothing(exports, tmp_path, monkeypatch):
    def write_half(obj, export_dir, *args, **kwargs):
        Path(export_dir, "variables").mkdir(parents=True)
        raise OSError("No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", write_half)
    with pytest.raises(OSError, match="No space left"):
        export_agent(exports["relational"][0], tmp_path / "export")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported_is_told(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="built or called once"):
        export_agent(build_agent("relational"), tmp_path / "export")
    with pytest.raises(ValueError, match="Sequential cannot be exported"):
        export_agent(keras.Sequential([keras.layers.Dense(4)]), tmp_path / "export")
    with pytest.raises(FileNotFoundError, match="no saved model"):
        export_agent(tmp_path / "nothing.keras", tmp_path / "export")
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        export_agent(tmp_path / "nothing.keras", tmp_path / "export")
