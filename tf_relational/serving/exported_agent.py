"""A SavedModel of an agent, called with checked inputs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import tensorflow as tf

from tf_relational.serving.export import SIGNATURE


class ExportedAgent:
    """What `export_agent` wrote, loaded: NumPy in, NumPy out, wrong input refused in plain words.

    ``tf.saved_model.load`` needs nothing of this library; this class adds the checks.

    Letters: B batch, R rows, C columns of the picture, A actions.

    Args:
        path: the folder that ``export_agent`` made.

    Attributes:
        picture_shape: ``(R, C, 3)``; None for a size that is free.

    Raises:
        FileNotFoundError: there is no SavedModel at ``path``.
        ValueError: a SavedModel that is none of an agent.

    Example:

    >>> import numpy as np, tempfile
    >>> from tf_relational.models import build_agent
    >>> from tf_relational.serving import export_agent
    >>> agent = build_agent("relational")
    >>> _ = agent(np.zeros((1, 7, 10, 3), "uint8"))
    >>> exported = ExportedAgent(export_agent(agent, tempfile.mkdtemp() + "/export"))
    >>> exported.picture_shape, exported(np.zeros((5, 7, 10, 3), "uint8"))["action"].shape
    ((7, 10, 3), (5,))
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        if not (self.path / "saved_model.pb").is_file():
            raise FileNotFoundError(
                f"There is no SavedModel at {self.path}: expected a folder with saved_model.pb, "
                "such as `--mode export` writes."
            )
        self._loaded = tf.saved_model.load(str(self.path))
        signatures = self._loaded.signatures
        self._serve = signatures[SIGNATURE] if SIGNATURE in signatures else None
        inputs = self._serve.structured_input_signature[1] if self._serve else {}
        if set(inputs) != {"obs"}:
            raise ValueError(
                f"{self.path} is no exported agent: expected a signature {SIGNATURE!r} with one "
                f"input 'obs'; it has the signatures {sorted(signatures)} with inputs "
                f"{sorted(inputs)}."
            )
        self.picture_shape = tuple(inputs["obs"].shape[1:])

    def __call__(self, obs: np.ndarray) -> dict[str, np.ndarray]:
        """The agent's view of a batch of observations.

        Args:
            obs: uint8 ``[B, R, C, 3]``.

        Returns:
            ``logits`` and ``probabilities`` ``[B, A]``, ``value`` ``[B]`` (all float32) and
            ``action`` ``[B]`` (int32).

        Raises:
            ValueError: another type or shape.
        """
        obs = np.asarray(obs)
        wanted = ["batch", *("any" if size is None else size for size in self.picture_shape)]
        wanted = f"uint8 [{', '.join(map(str, wanted))}]"
        if obs.dtype != np.uint8:
            raise ValueError(f"obs has to be {wanted}; received {obs.dtype} {list(obs.shape)}.")
        fits = obs.ndim == 4 and all(
            size in (None, given)
            for size, given in zip(self.picture_shape, obs.shape[1:], strict=True)
        )
        if not fits:
            hint = " A single observation goes in as obs[None]." if obs.ndim == 3 else ""
            raise ValueError(f"obs has to be {wanted}; received uint8 {list(obs.shape)}.{hint}")
        return {name: value.numpy() for name, value in self._serve(obs=tf.constant(obs)).items()}
