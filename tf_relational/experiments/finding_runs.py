"""Which run directories a call means: named ones, those in a folder, or the newest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tf_relational.experiments.errors import UserError
from tf_relational.experiments.run_directory import RunDirectory


def chosen_runs(named: Iterable[Path], root: Path, experiment: str) -> list[RunDirectory]:
    """Returns the runs that a call named, or the newest one; a folder stands for those in it.

    Raises:
        UserError: a folder holds no run, or a run is of another experiment.
    """
    found = []
    for path in list(named) or [newest_run(root, experiment)]:
        inside = run_paths(path) if path.is_dir() else []
        for folder in inside or [path]:
            directory = RunDirectory.open(folder)
            if directory.experiment != experiment:
                raise UserError(
                    f"{folder} is a run of {directory.experiment}, not of {experiment}; "
                    f"use --exp {directory.experiment}"
                )
            found.append(directory)
    return found


def runs_to_resume(folder: Path) -> list[RunDirectory]:
    """Returns the run in a folder, or the runs of several seeds that were made together in it.

    Raises:
        UserError: the folder is no run, or holds runs that were made apart.
    """
    inside = run_paths(folder) if folder.is_dir() else []
    together = all(path.parent == folder and path.name.startswith("seed_") for path in inside)
    if inside not in ([], [folder]) and not together:
        names = "\n  ".join(map(str, inside[-10:]))
        raise UserError(
            f"train continues one run, {folder} holds {len(inside)}; name one of them:\n  {names}"
        )
    return [RunDirectory.open(path) for path in inside or [folder]]


def newest_run(root: str | os.PathLike[str], experiment: str) -> Path:
    """Returns the newest run of an experiment that has a model; `UserError` without one."""
    found = [path for path in run_paths(Path(root) / experiment) if RunDirectory(path).agents()]
    if not found:
        raise UserError(
            f"no run of {experiment} with a trained model under {root}; "
            f"train one with: python run.py --exp {experiment}"
        )
    return max(found, key=lambda path: (path / "config.json").stat().st_mtime)


def run_paths(folder: Path) -> list[Path]:
    """Returns the run directories in a folder: itself, its children or theirs, by name."""
    if (folder / "config.json").exists():
        return [folder]
    patterns = ("*/config.json", "*/*/config.json")
    return sorted({path.parent for pattern in patterns for path in folder.glob(pattern)})
