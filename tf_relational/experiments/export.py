"""`--mode export`: writes a trained agent as a SavedModel."""

from __future__ import annotations

from tf_relational.experiments.command_line import Request
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.evaluate import load_agent
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import chosen_runs


def main(experiment: Experiment, request: Request) -> int:
    """Exports one model of each run that the request names into its `export/`."""
    if request.overrides:
        names = ", ".join(sorted(request.overrides))
        raise UserError(f"an export reads the run's own settings; {names} cannot be changed")
    if request.checkpoint == "all":
        raise UserError("export writes one model: --checkpoint best, last or a number of frames")
    from tf_relational.serving.export import export_agent

    for directory in chosen_runs(request.runs, request.root, experiment.name):
        model = directory.agent_path(request.checkpoint)
        export_agent(load_agent(model), directory.path / "export")
        print(f"{model} exported to {directory.path / 'export'}")
    return 0
