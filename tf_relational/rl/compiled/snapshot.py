"""A replica at one moment, on its way to a checkpoint and back."""

import concurrent.futures
import dataclasses
import json
import pathlib

import numpy as np

from tf_relational.rl import checkpoints

STATE = "state.json"
ARRAYS = "arrays.npz"


@dataclasses.dataclass(eq=False)
class Snapshot:
    """Everything that training of one replica goes on from, as NumPy arrays and plain data.

    `tf_relational.rl.checkpoints.save` takes it for an algorithm: it writes the bare model as
    `agent.keras`, the arrays as `arrays.npz` and the rest as `state.json`.

    Args:
        training_iteration, frames_done: counters.
        weights: arrays of `model.weights`.
        slots: arrays of `optimizer.variables`.
        games: dict of the arrays of a `GameState`.
        rows: the level pool's.
        state: counters, the pool's and the curriculum's state.
        model: an agent of the same kind, whose weights `save_to_path` overwrites.
        optimizer_name: of the optimizer.
    """

    training_iteration: int
    frames_done: int
    weights: list
    slots: list
    games: dict
    rows: np.ndarray
    state: dict
    model: object
    optimizer_name: str

    engine = "compiled"

    def frames(self):
        """Return the environment steps `sampled`, `trained` and `dropped` so far."""
        return {"sampled": self.frames_done, "trained": self.frames_done, "dropped": 0}

    def optimizer_shapes(self):
        """Return the shapes of the optimizer's variables."""
        return [list(np.shape(slot)) for slot in self.slots]

    def save_to_path(self, path):
        """Write the files into a new folder."""
        folder = pathlib.Path(path)
        folder.mkdir()
        self.model.set_weights(self.weights)
        self.model.save(folder / "agent.keras")
        arrays = {f"weight/{n}": value for n, value in enumerate(self.weights)}
        arrays |= {f"slot/{n}": value for n, value in enumerate(self.slots)}
        arrays |= {f"game/{name}": value for name, value in self.games.items()}
        np.savez(folder / ARRAYS, rows=self.rows, **arrays)
        (folder / STATE).write_text(json.dumps(self.state))

    def restore_from_path(self, path):
        """Take over what `save_to_path` wrote."""
        folder = pathlib.Path(path)
        self.state = json.loads((folder / STATE).read_text())
        with np.load(folder / ARRAYS) as arrays:
            self.weights = [arrays[f"weight/{n}"] for n in range(len(self.weights))]
            self.slots = [arrays[f"slot/{n}"] for n in range(len(self.slots))]
            self.games = {name: arrays[f"game/{name}"] for name in self.games}
            self.rows = arrays["rows"]
        self.training_iteration = self.state["training_iteration"]


class CheckpointWriter:
    """Writes checkpoints in a thread, one after the other, while training goes on.

    An error of a write is raised by the next call. Leaving the context waits for the last write.

    Example::

        with CheckpointWriter() as writer:
            writer.save([(trainer.snapshot(0), folder, {"note": 1})], keep=3)
    """

    def __init__(self):
        self._executor = concurrent.futures.ThreadPoolExecutor(1, "checkpoints")
        self._running = None

    def save(self, parts, keep):
        """Begin to write a set of snapshots of one moment; waits for the set before.

        Old checkpoints are removed when the whole set is written, so that replicas always have one
        moment in common.

        Args:
            parts: list of `(snapshot, folder, extra)`; see `checkpoints.save`.
            keep: how many to keep in each folder.
        """
        self.wait()
        self._running = self._executor.submit(self._write, parts, keep)

    @staticmethod
    def _write(parts, keep):
        for snapshot, folder, extra in parts:
            checkpoints.save(snapshot, folder, keep=None, extra=extra)
        for _, folder, _ in parts:
            checkpoints.prune(folder, keep)

    def wait(self):
        """Wait for what is being written."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.wait()
        finally:
            self._executor.shutdown()
