"""One training run, from nothing or from its newest checkpoint to its result."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Any

from tf_relational.experiments import export, figures
from tf_relational.experiments.algorithm import algorithm_config
from tf_relational.experiments.config_json import config_to_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.evaluate import evaluate_model, evaluate_run, print_table
from tf_relational.experiments.iteration_metrics import SolvedWindow, iteration_metrics
from tf_relational.experiments.metrics import MetricsLog
from tf_relational.experiments.progress import Progress, duration
from tf_relational.experiments.provenance import provenance
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import RunDirectory, write_json
from tf_relational.experiments.stopping import StopRequest


class Training:
    """One run, from its directory's newest checkpoint, or from nothing, to its last frame.

    Args:
        experiment: the experiment.
        directory: its run directory.
        config: the settings, by default those of its `config.json`; others are written there once
            the run is known to be free and its newest checkpoint to be whole.
    """

    def __init__(self, experiment: Experiment, directory: RunDirectory, config: Any = None) -> None:
        self.experiment = experiment
        self.directory = directory
        self.config = config or directory.read_config(experiment.config)
        self.window = SolvedWindow()
        # What a checkpoint carries beside the algorithm's own state.
        self.frames = 0
        self.wall_time = 0.0
        self.best = -1.0
        self.next_evaluation = self.config.evaluation_interval
        self.commands: list[str] = []
        # Has `model`, the agent that is evaluated and kept.
        self.algorithm: Any = None
        self.started = _now()

    def run(self) -> int:
        """Trains to the end and evaluates; returns 0, or the exit code of a signal that came."""
        progress: Progress | None = None
        self.directory.lock()
        with StopRequest(notify=lambda text: (progress.say if progress else print)(text)) as stop:
            print(f"run directory: {self.directory.path}", flush=True)
            print("building the agent; the first iteration compiles it", flush=True)
            self.algorithm = algorithm_config(self.experiment.name, self.config).build_algo()
            stop.install()
            try:
                self._restore()
                progress = Progress(self._title(), self.config.total_frames)
                with MetricsLog(self.directory.path, self.frames) as log, progress:
                    self._train(log, progress, stop)
            finally:
                self.algorithm.stop()
            if stop.requested:
                print(
                    f"stopped at {self.frames:,} frames; to go on: python run.py "
                    f"--exp {self.experiment.name} --resume {self.directory.to_resume}",
                    flush=True,
                )
                return stop.exit_code
        self.finish()
        return 0

    def _train(self, log: MetricsLog, progress: Progress, stop: StopRequest) -> None:
        saved = clock = time.monotonic()
        while self.frames < self.config.total_frames and not stop.requested:
            result = self.algorithm.train()
            now = time.monotonic()
            self.wall_time, clock = self.wall_time + now - clock, now
            line = self.iteration(result, evaluate=not stop.requested)
            log.write(line)
            progress.show(line, last=self.finished or stop.requested)
            if self.checkpoint_due(line, now - saved, stop):
                self._save()
                saved = time.monotonic()
            # Evaluations and checkpoints belong to the run's wall time as well.
            now = time.monotonic()
            self.wall_time, clock = self.wall_time + now - clock, now

    def iteration(self, result: dict[str, Any], evaluate: bool) -> dict[str, Any]:
        """Takes in an iteration's result and returns its line of metrics.

        Args:
            result: the engine's.
            evaluate: whether to play fresh episodes if it is time; at the end it always is.
        """
        line = iteration_metrics(result, self.window, self.config.horizon, self.wall_time)
        self.frames = line["frames"]
        due = self.frames >= self.next_evaluation and evaluate
        if due or self.finished:
            line.update(self._evaluate())
        return line

    @property
    def finished(self) -> bool:
        return self.frames >= self.config.total_frames

    def checkpoint_due(self, line: dict[str, Any], seconds: float, stop: StopRequest) -> bool:
        """Whether to save now, `seconds` after the last time.

        After an evaluation always: a run that is killed then does not choose its best model anew.
        """
        evaluated = "evaluation/step_limit" in line
        late = seconds >= self.config.checkpoint_interval
        return evaluated or late or stop.requested or self.finished

    def _evaluate(self) -> dict[str, float]:
        """Evaluates the sampled policy, keeps the model, and the best one by itself."""
        interval = self.config.evaluation_interval
        self.next_evaluation = (self.frames // interval + 1) * interval
        model = self.algorithm.model
        shares = evaluate_model(model, self.config)["fraction_solved"]
        _save_model(model, self.directory.kept_agent(self.frames))
        if shares["all"]["mean"] >= self.best:
            self.best = shares["all"]["mean"]
            # Which one is the best is said first, and best.keras is a copy of it for people.
            write_json(
                self.directory.checkpoint_path / "best.json",
                {
                    "frames": self.frames,
                    "fraction_solved": self.best,
                    "step_limit": self.config.evaluation_step_limit,
                },
            )
            _save_model(model, self.directory.checkpoint_path / "best.keras")
        return {"evaluation/step_limit": self.config.evaluation_step_limit} | {
            f"evaluation/fraction_solved{'' if kind == 'all' else '/' + kind}": entry["mean"]
            for kind, entry in shares.items()
        }

    def _save(self) -> None:
        from tf_relational.rl import checkpoints

        checkpoints.save(
            self.algorithm,
            self.directory.checkpoint_path,
            keep=self.config.keep_checkpoints,
            extra=self.get_state(),
        )

    def get_state(self) -> dict[str, Any]:
        """Returns what a checkpoint carries beside the engine's own state."""
        return {
            "frames": self.frames,
            "wall_time": self.wall_time,
            "best": self.best,
            "next_evaluation": self.next_evaluation,
            "commands": self.commands,
            "started": self.started,
            "window": self.window.get_state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes over what `get_state` returned."""
        self.frames, self.wall_time = state["frames"], state["wall_time"]
        self.best, self.next_evaluation = state["best"], state["next_evaluation"]
        self.commands, self.started = state["commands"], state["started"]
        self.window.set_state(state["window"])

    def _restore(self) -> None:
        from tf_relational.rl import checkpoints

        path = checkpoints.latest(self.directory.checkpoint_path)
        if path is not None:
            try:
                self.set_state(checkpoints.restore(self.algorithm, path)["extra"])
            except checkpoints.CheckpointError as error:
                raise UserError(
                    f"{error} With {path} moved away, --resume takes the one before it."
                ) from error
            print(f"resuming at {self.frames:,} frames, {duration(self.wall_time)} of training")
        self.begin()

    def begin(self) -> None:
        """Notes this process's command and settings, once everything has been restored."""
        best = self.directory.best()
        self.best = max(self.best, best["fraction_solved"] if best else self.best)
        self.commands = [*self.commands, provenance()["command"]]
        self.directory.write_config(
            self.experiment.name, self.directory.preset, config_to_json(self.config)
        )

    def finish(self, **facts: Any) -> None:
        """Evaluates, draws and exports the best agent, and then writes the result.

        Args:
            facts: what the result says of the engine.
        """
        evaluation = evaluate_run(self.directory, self.config)
        write_json(self.directory.path / "evaluation.json", evaluation)
        print_table(evaluation)
        figures.draw([self.directory], self.directory.path / "figures")
        if export.possible():
            export.write(self.directory)
        else:
            print(
                f"to export: KERAS_BACKEND=tensorflow python run.py --exp "
                f"{self.experiment.name} --mode export --run {self.directory.path}"
            )
        write_json(
            self.directory.path / "result.json",
            {
                "experiment": self.experiment.name,
                "preset": self.directory.preset,
                "agent": self.config.agent,
                "seed": self.config.seed,
                "engine": self.config.engine,
                **facts,
                "frames": self.frames,
                "wall_time": round(self.wall_time, 1),
                "started": self.started,
                "finished": _now(),
                **provenance(),
                "commands": self.commands,
                "evaluation": evaluation,
            },
        )
        result = self.directory.path / "result.json"
        print(f"finished after {duration(self.wall_time)} of training: {result}")

    def _title(self) -> str:
        return (
            f"{self.experiment.name}, {self.config.agent} agent, seed {self.config.seed}, "
            f"{self.directory.path}"
        )


def _save_model(model: Any, path: Path) -> None:
    """Saves a `.keras` file so that a kill never leaves half of it under that name."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{path.name}")
    model.save(temporary)
    temporary.replace(path)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
