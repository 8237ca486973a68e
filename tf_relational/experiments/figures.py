"""`--mode figures`: draws the paper's figures from one or several runs."""

from __future__ import annotations

from pathlib import Path

from tf_relational.experiments.command_line import Request
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.finding_runs import chosen_runs
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import RunDirectory


def main(experiment: Experiment, request: Request) -> int:
    """Draws into `figures/` of the run, or of the folder that was named for several runs."""
    if request.overrides:
        raise UserError(f"figures read the run's own settings; {_words(request)} cannot be changed")
    runs = chosen_runs(request.runs, request.root, experiment.name)
    draw(runs, (runs[0].path if len(runs) == 1 else _together(request)) / "figures")
    return 0


def draw(runs: list[RunDirectory], folder: Path) -> None:
    """Draws what the runs allow into a folder and prints each file."""
    from tf_relational.analysis import make_figures

    for path in make_figures([run.path for run in runs], folder):
        print(path)


def _together(request: Request) -> Path:
    # Several runs named one by one belong to no common folder but the root of all runs.
    return request.runs[0] if len(request.runs) == 1 else request.root


def _words(request: Request) -> str:
    return ", ".join(sorted(request.overrides))
