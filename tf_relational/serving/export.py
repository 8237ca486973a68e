"""A trained agent as a SavedModel, which any TensorFlow runtime serves without this library."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import keras
import tensorflow as tf

SIGNATURE = "serving_default"


def export_agent(model: keras.Model | str | os.PathLike, path: str | os.PathLike) -> Path:
    """Writes an agent as a SavedModel with one signature, ``serving_default``.

    Letters: B batch (free), R rows, C columns of the picture (in Box-World the inventory is one of
    them), A actions.

    ============= ===== ============== ==================================================
    name          in    shape, type    what
    ============= ===== ============== ==================================================
    obs           in    [B, R, C, 3]   what the world gives, uint8
    logits        out   [B, A]         of the policy, float32
    value         out   [B]            of the state, float32
    probabilities out   [B, A]         softmax of the logits, float32
    action        out   [B]            the most probable one (the first of equals), int32
    ============= ===== ============== ==================================================

    The folder appears whole or not at all: it is written beside its place and then renamed.

    Args:
        model: a built agent, such as ``models.build_agent("simplicial")`` after a call, or the path
            of one that was saved as ``.keras``.
        path: the folder to make.

    Returns:
        The folder.

    Raises:
        FileExistsError: something stands at ``path``.
        FileNotFoundError: there is no model at the path given as ``model``.
        ValueError: the model has not been built, or is no agent.
        RuntimeError: Keras does not run on TensorFlow.

    Example:

    >>> import numpy as np, tempfile
    >>> from tf_relational.models import build_agent
    >>> agent = build_agent("relational")
    >>> _ = agent(np.zeros((1, 7, 10, 3), "uint8"))
    >>> export_agent(agent, tempfile.mkdtemp() + "/export").name
    'export'
    """
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise FileExistsError(
            f"{path} exists, and an export does not overwrite: remove it or name another folder."
        )
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            f"A SavedModel is exported from the TensorFlow backend; Keras runs on "
            f"{keras.backend.backend()}. Save the model as .keras and export it in a process with "
            "KERAS_BACKEND=tensorflow."
        )
    if not isinstance(model, keras.Model):
        model = _load(Path(model))
    spec = _input_spec(model)

    def serve(obs: tf.Tensor) -> dict[str, tf.Tensor]:
        # Runtimes do not hold inputs to the signature's shape; without this, the first layer that a
        # wrong one does not fit would complain, and some fit.
        obs = tf.ensure_shape(obs, spec.shape)
        outputs = model(obs, training=False)
        logits = outputs["logits"]
        return {
            "logits": logits,
            "value": outputs["value"],
            "action": tf.argmax(logits, axis=-1, output_type=tf.int32),
            "probabilities": tf.nn.softmax(logits),
        }

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint(SIGNATURE, serve, input_signature=[spec])
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial.{os.getpid()}")
    try:
        archive.write_out(str(partial), verbose=False)
        # Not os.replace: what another process put here in the meantime stays.
        os.rename(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return path


def _load(path: Path) -> keras.Model:
    import tf_relational.models  # noqa: F401  registers the agents' classes

    if not path.is_file():
        raise FileNotFoundError(f"There is no saved model at {path}; expected a .keras file.")
    return keras.models.load_model(path, compile=False)


def _input_spec(model: keras.Model) -> tf.TensorSpec:
    shape = getattr(model, "picture_shape", None)
    if shape is None:
        raise ValueError(
            f"{type(model).__name__} cannot be exported: an agent of tf_relational.models is "
            "expected, built or called once so that the size of its pictures is known."
        )
    return tf.TensorSpec((None, *shape[1:]), tf.uint8, name="obs")
