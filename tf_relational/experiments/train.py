"""`--mode train`: which run directories a call makes or continues, and training in each."""

from __future__ import annotations

import dataclasses
from typing import Any

from tf_relational.experiments import figures
from tf_relational.experiments.algorithm import check_cores, start_ray
from tf_relational.experiments.command_line import Request
from tf_relational.experiments.compiled_training import CompiledTraining
from tf_relational.experiments.config_json import config_to_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.finding_runs import run_paths, runs_to_resume
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import RunDirectory, fresh_folder
from tf_relational.experiments.training import Training


def main(experiment: Experiment, request: Request) -> int:
    """Makes or reopens the run directories that the request asks for and trains in each."""
    if request.runs:
        runs = _reopen(experiment, request)
    else:
        _say_what_differs(experiment, request)
        _check_machine(request.config)
        runs = _make(experiment, request)
    for training in _trainings(experiment, runs):
        code = training.run()
        if code:
            return code
    path = runs[0][0].path
    if path.name.startswith("seed_"):
        # The paper's curves are means over seeds.
        together = [RunDirectory(each) for each in run_paths(path.parent)]
        figures.draw(together, path.parent / "figures")
    return 0


def _trainings(experiment: Experiment, runs: list[tuple[RunDirectory, Any]]) -> list[Any]:
    """One training for all runs on the compiled engine, on RLlib one for each."""
    trainings = [Training(experiment, directory, config) for directory, config in runs]
    return [CompiledTraining(trainings)] if runs[0][1].engine == "compiled" else trainings


def _make(experiment: Experiment, request: Request) -> list[tuple[RunDirectory, Any]]:
    """New run directories and their settings."""
    config = request.config
    folder = fresh_folder(request.root / experiment.name)
    places = {folder: config}
    if config.seeds:
        places = {
            folder / f"seed_{seed}": dataclasses.replace(config, seed=seed, seeds=())
            for seed in config.seeds
        }
    made = []
    for path, settings in places.items():
        path.mkdir(exist_ok=True)
        values = config_to_json(settings)
        directory = RunDirectory.create_at(path, experiment.name, request.preset, values)
        made.append((directory, settings))
    return made


def _reopen(experiment: Experiment, request: Request) -> list[tuple[RunDirectory, Any]]:
    """The unfinished runs that a call continues, and the settings with which it does."""
    if len(request.runs) > 1:
        raise UserError(f"train continues one run, {len(request.runs)} were given")
    runs = []
    for directory in runs_to_resume(request.runs[0]):
        if directory.experiment != experiment.name:
            raise UserError(
                f"{directory.path} is a run of {directory.experiment}, not of {experiment.name}"
            )
        config = directory.read_config(experiment.config)
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
        runs.append((directory, dataclasses.replace(config, total_frames=total_frames)))
    unfinished = [(directory, config) for directory, config in runs if not directory.finished]
    if not unfinished:
        raise UserError(
            f"{request.runs[0]} is finished: it has a result.json. "
            "--mode evaluate, figures and export read it"
        )
    _check_machine(unfinished[0][1])
    return unfinished


def _check_machine(config: Any) -> None:
    """Refuses what this machine cannot train, before a run directory is made or touched."""
    check_cores(config)
    if config.engine == "compiled":
        from tf_relational.rl.compiled.backend import data_mesh

        try:
            data_mesh(config.devices)
        except ValueError as error:
            raise UserError(str(error)) from error
        return
    import keras

    if keras.backend.backend() != "tensorflow":
        raise UserError(
            f"--engine rllib trains on TensorFlow, Keras runs on {keras.backend.backend()!r}: set "
            "KERAS_BACKEND=tensorflow, or give --engine compiled"
        )
    start_ray(config.num_env_runners)


def _say_what_differs(experiment: Experiment, request: Request) -> None:
    print(f"{experiment.name}, preset {request.preset}")
    paper = experiment.preset("paper")
    if request.preset != "paper" or request.overrides:
        print("changed from preset paper:")
        for field in dataclasses.fields(paper):
            ours, theirs = getattr(request.config, field.name), getattr(paper, field.name)
            if ours != theirs:
                print(f"  {field.name} = {_plain(ours)} (paper: {_plain(theirs)})")


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
