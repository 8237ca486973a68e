"""`--mode train`: which run directories a call makes or continues, and training in each."""

from __future__ import annotations

import dataclasses
from typing import Any

from tf_relational.experiments import figures
from tf_relational.experiments.algorithm import check_cores
from tf_relational.experiments.command_line import Request
from tf_relational.experiments.compiled_training import CompiledTraining
from tf_relational.experiments.config_json import config_from_json, config_to_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.finding_runs import run_paths
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import RunDirectory, fresh_folder
from tf_relational.experiments.training import Training


def main(experiment: Experiment, request: Request) -> int:
    """Makes or reopens the run directories that the request asks for and trains in each."""
    if request.runs:
        directories = _reopen(experiment, request)
    else:
        directories = _make(experiment, request)
    for training in _trainings(experiment, directories):
        code = training.run()
        if code:
            return code
    together = directories[0].path.parent
    if directories[0].path.name.startswith("seed_"):
        # The paper's curves are means over seeds.
        figures.draw([RunDirectory(path) for path in run_paths(together)], together / "figures")
    return 0


def _trainings(experiment: Experiment, directories: list[RunDirectory]) -> list[Any]:
    """One training for all directories on the compiled engine, on RLlib one for each."""
    if directories[0].config.get("engine") == "compiled":
        return [CompiledTraining(experiment, directories)]
    return [Training(experiment, directory) for directory in directories]


def _make(experiment: Experiment, request: Request) -> list[RunDirectory]:
    config = request.config
    check_cores(config)
    _say_what_differs(experiment, request)
    folder = fresh_folder(request.root / experiment.name)
    if not config.seeds:
        return [
            RunDirectory.create_at(folder, experiment.name, request.preset, config_to_json(config))
        ]
    directories = []
    for seed in config.seeds:
        path = folder / f"seed_{seed}"
        path.mkdir()
        values = config_to_json(dataclasses.replace(config, seed=seed, seeds=()))
        directories.append(RunDirectory.create_at(path, experiment.name, request.preset, values))
    return directories


def _reopen(experiment: Experiment, request: Request) -> list[RunDirectory]:
    if len(request.runs) > 1:
        raise UserError(f"train continues one run, {len(request.runs)} were given")
    paths = run_paths(request.runs[0]) or [request.runs[0]]
    directories = [RunDirectory.open(path) for path in paths]
    configs = []
    for directory in directories:
        if directory.experiment != experiment.name:
            raise UserError(
                f"{directory.path} is a run of {directory.experiment}, not of {experiment.name}"
            )
        config = config_from_json(experiment.config, directory.config, str(directory.path))
        changed = {
            name: value
            for name, value in request.overrides.items()
            if value != getattr(config, name)
        }
        total_frames = changed.pop("total_frames", config.total_frames)
        if changed:
            words = ", ".join(
                f"{name}={value!r} (the run has {getattr(config, name)!r})"
                for name, value in changed.items()
            )
            raise UserError(
                f"a resumed run keeps its settings but total_frames, "
                f"{directory.path / 'config.json'}; cannot change {words}"
            )
        config = dataclasses.replace(config, total_frames=total_frames)
        check_cores(config)
        configs.append(config)
    unfinished = {
        directory: config
        for directory, config in zip(directories, configs, strict=True)
        if not directory.finished
    }
    if not unfinished:
        raise UserError(f"{request.runs[0]} is finished: it has a result.json")
    for directory, config in unfinished.items():
        directory.write_config(experiment.name, directory.preset, config_to_json(config))
    return list(unfinished)


def _say_what_differs(experiment: Experiment, request: Request) -> None:
    print(f"{experiment.name}, preset {request.preset}")
    paper = experiment.preset("paper")
    if request.preset != "paper" or request.overrides:
        print("changed from the paper:")
        for field in dataclasses.fields(paper):
            ours, theirs = getattr(request.config, field.name), getattr(paper, field.name)
            if ours != theirs:
                print(f"  {field.name} = {_plain(ours)} (paper: {_plain(theirs)})")


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
