"""`--mode export`: writes a trained agent as a SavedModel."""

from __future__ import annotations

from tf_relational.experiments.command_line import Request
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.evaluate import load_agent
from tf_relational.experiments.finding_runs import chosen_runs
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import RunDirectory


def main(experiment: Experiment, request: Request) -> int:
    """Exports one model of each run that the request names, as the next version in `export/`."""
    if request.overrides:
        names = ", ".join(sorted(request.overrides))
        raise UserError(f"an export reads the run's own settings; {names} cannot be changed")
    if request.checkpoint == "all":
        raise UserError("export writes one model: --checkpoint best, last or a number of frames")
    if not possible():
        raise UserError("only TensorFlow writes SavedModels: export with KERAS_BACKEND=tensorflow")
    for directory in chosen_runs(request.runs, request.root, experiment.name):
        write(directory, request.checkpoint)
    return 0


def possible() -> bool:
    """Returns whether Keras runs on TensorFlow, which alone writes SavedModels."""
    import keras

    return keras.backend.backend() == "tensorflow"


def write(directory: RunDirectory, which: str = "best") -> None:
    """Exports one model of a run into `export/N/`, N the first number that is free.

    Numbered folders are how TensorFlow Serving keeps versions of a model; none is overwritten.
    """
    from tf_relational.serving.export import export_agent

    version = 1
    while (folder := directory.path / "export" / str(version)).exists():
        version += 1
    model = directory.agent_path(which)
    export_agent(load_agent(model), folder)
    print(f"{model} exported to {folder}")
