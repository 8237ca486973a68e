"""`--mode figures`: draws the paper's figures from one or several runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tf_relational.experiments.command_line import Request
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.finding_runs import chosen_runs
from tf_relational.experiments.registry import Experiment, get
from tf_relational.experiments.run_directory import RunDirectory


def main(experiment: Experiment, request: Request) -> int:
    """Draws into `figures/` of the run, or of the folder that was named for several runs."""
    if request.overrides:
        raise UserError(f"figures read the run's own settings; {_words(request)} cannot be changed")
    runs = chosen_runs(request.runs, request.root, experiment.name)
    draw(runs, (runs[0].path if len(runs) == 1 else _together(request)) / "figures")
    return 0


def draw(runs: list[RunDirectory], folder: Path) -> None:
    """Draws what the runs allow into a folder and prints each file.

    Raises:
        UserError: no run holds metrics or a model.
    """
    from tf_relational.analysis.figures import NothingToDraw, make_figures

    defaults = _added(get(runs[0].experiment).config)
    try:
        files = make_figures([run.path for run in runs], folder, defaults=defaults)
    except NothingToDraw as error:
        raise UserError(f"nothing to draw: {error}") from error
    for path in files:
        print(path)


def _added(config: type) -> dict[str, Any]:
    """What a run of an earlier version did, in fields that it lacks."""
    added = getattr(config, "ADDED", ())
    return {
        field.name: field.default for field in dataclasses.fields(config) if field.name in added
    }


def _together(request: Request) -> Path:
    # Several runs named one by one belong to no common folder but the root of all runs.
    return request.runs[0] if len(request.runs) == 1 else request.root


def _words(request: Request) -> str:
    return ", ".join(sorted(request.overrides))
