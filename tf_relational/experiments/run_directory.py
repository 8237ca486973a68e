"""The folder that a run leaves behind, from which everything downstream reads."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tf_relational.experiments.config_json import config_from_json
from tf_relational.experiments.errors import UserError, unknown


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file so that a reader, or a kill, never sees half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: Path, value: Any) -> None:
    """Writes JSON atomically, indented, with a last newline."""
    write_atomically(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


class RunDirectory:
    """`runs/<experiment>/<time>/`: configuration, metrics, checkpoints, figures and result.

    | entry | what |
    | --- | --- |
    | `config.json` | experiment, preset and every resolved field |
    | `metrics.jsonl` | one JSON object an iteration (`metrics.py` names the keys) |
    | `events.out.tfevents.*` | the same for TensorBoard |
    | `checkpoints/<n>/` | the last ones in full, each with `agent.keras` |
    | `checkpoints/agents/<frames>.keras` | the bare model at each evaluation, for curves |
    | `checkpoints/best.keras`, `best.json` | the best evaluated model and its score |
    | `evaluation.json`, `figures/`, `export/` | what the modes of those names wrote |
    | `evaluation_curve.json` | every kept model's, of `--mode evaluate --checkpoint all` |
    | `result.json` | written once, when training reached its end |

    With several seeds, `runs/<experiment>/<time>/seed_<n>/` are such folders; the parent
    holds nothing else but the `figures/` over all seeds.

    Args:
        path: an existing folder; `create` makes a new one, `open` checks an old one.

    Example:
        >>> import tempfile
        >>> directory = RunDirectory.create(tempfile.mkdtemp(), "demo", "smoke", {"seed": 3})
        >>> directory.config["seed"], directory.experiment, directory.finished
        (3, 'demo', False)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def create(
        cls, root: str | os.PathLike[str], experiment: str, preset: str, config: dict[str, Any]
    ) -> RunDirectory:
        """Makes `root/<experiment>/<time>/`; a taken name gets a number, never overwritten."""
        return cls.create_at(fresh_folder(Path(root) / experiment), experiment, preset, config)

    @classmethod
    def create_at(
        cls, path: Path, experiment: str, preset: str, config: dict[str, Any]
    ) -> RunDirectory:
        """Turns an empty folder into a run directory by writing its `config.json`."""
        directory = cls(path)
        directory.checkpoint_path.mkdir()
        directory.write_config(experiment, preset, config)
        return directory

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunDirectory:
        """Returns an existing run directory.

        Raises:
            UserError: the folder is missing, empty or not a run directory.
        """
        directory = cls(path)
        if not directory.path.is_dir():
            raise UserError(f"{path} is not a folder; give the run directory that a run printed")
        if not (directory.path / "config.json").is_file():
            raise UserError(
                f"{path} is not a run directory: it has no config.json. "
                "Run directories look like runs/<experiment>/<time>/"
            )
        directory._read_config()
        return directory

    @property
    def experiment(self) -> str:
        return self._read_config()["experiment"]

    @property
    def preset(self) -> str:
        return self._read_config()["preset"]

    @property
    def config(self) -> dict[str, Any]:
        """The resolved fields, as JSON has them (tuples as lists)."""
        return self._read_config()["config"]

    @property
    def checkpoint_path(self) -> Path:
        return self.path / "checkpoints"

    @property
    def agents_path(self) -> Path:
        return self.checkpoint_path / "agents"

    def kept_agent(self, frames: int) -> Path:
        """Returns where the model that was evaluated after so many frames is kept."""
        return self.agents_path / f"{frames:012d}.keras"

    def best(self) -> dict[str, Any] | None:
        """Returns what `best.json` says, None while nothing was evaluated."""
        path = self.checkpoint_path / "best.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def read_config(self, kind: type) -> Any:
        """Returns the settings as an experiment's configuration, all of them checked."""
        return config_from_json(kind, self.config, str(self.path / "config.json"))

    @property
    def to_resume(self) -> Path:
        """The folder that continues this run: with several seeds, the one of all of them."""
        return self.path.parent if self.path.name.startswith("seed_") else self.path

    @property
    def finished(self) -> bool:
        return (self.path / "result.json").exists()

    def write_config(self, experiment: str, preset: str, config: dict[str, Any]) -> None:
        write_json(
            self.path / "config.json",
            {"experiment": experiment, "preset": preset, "config": config},
        )

    def lock(self) -> None:
        """Keeps other processes from training here until this one ends, however it ends.

        Raises:
            UserError: another process trains in this directory.
        """
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(f"another process is training in {self.path}") from error

    def agent_path(self, which: str = "best") -> Path:
        """Returns the file of one trained model.

        Args:
            which: "best", "last", or the frames of a kept one such as "250000".

        Raises:
            UserError: there is no such model; the message lists those that exist.
        """
        models = self.agents()
        if which == "last" and models:
            return models[max(models)]
        if which == "best" and models:
            best = self.best()
            if best and best["frames"] in models:
                return models[best["frames"]]
            copy = self.checkpoint_path / "best.keras"
            return copy if copy.exists() else models[max(models)]
        if which.isdecimal() and int(which) in models:
            return models[int(which)]
        if not models:
            raise UserError(f"{self.path} holds no trained model yet: no checkpoint was written")
        raise unknown("checkpoint", which, ["best", "last", "all", *map(str, sorted(models))])

    def agents(self) -> dict[int, Path]:
        """Returns the kept models by the frames they were trained for, fewest first."""
        models = {int(path.stem): path for path in self.agents_path.glob("[0-9]*.keras")}
        for path in self.checkpoint_path.glob("[0-9]*/agent.keras"):
            frames = _frames_of(path.parent)
            if frames is not None:
                models.setdefault(frames, path)
        return dict(sorted(models.items()))

    def frames_of(self, model: Path) -> int | None:
        """Returns the frames that a model of this run was trained for, None when unknown."""
        if model.name == "best.keras":
            best = self.best()
            return best and best["frames"]
        return next((frames for frames, path in self.agents().items() if path == model), None)

    def _read_config(self) -> dict[str, Any]:
        path = self.path / "config.json"
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(value["config"], dict):
                raise TypeError
            return {key: value[key] for key in ("experiment", "preset", "config")}
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UserError(
                f"{path} is not the config.json of a run: expected an object with experiment, "
                "preset and config"
            ) from error


def fresh_folder(parent: Path) -> Path:
    """Makes and returns a new folder named by the local time."""
    parent.mkdir(parents=True, exist_ok=True)
    name = time.strftime("%Y-%m-%d_%H-%M-%S")
    for number in range(1, 10_000):
        path = parent / (name if number == 1 else f"{name}_{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise UserError(f"{parent} holds too many folders named {name}")


def _frames_of(checkpoint: Path) -> int | None:
    try:
        manifest = json.loads((checkpoint / "manifest.json").read_text(encoding="utf-8"))
        return int(manifest["extra"]["frames"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
