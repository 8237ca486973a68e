"""Training runs on the compiled engine: all seeds of an experiment in one program."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from tf_relational.experiments.algorithm import compiled_trainer
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.metrics import MetricsLog
from tf_relational.experiments.progress import Progress, duration
from tf_relational.experiments.stopping import StopRequest
from tf_relational.experiments.training import Training


class CompiledTraining:
    """Runs that differ in nothing but their seed, from their newest common checkpoint to the end.

    Each has a run directory like any other, which can be resumed alone or with the others.

    Args:
        runs: one for each seed.

    Raises:
        UserError: the runs differ in more than the seed.
    """

    def __init__(self, runs: list[Training]) -> None:
        self.runs = runs
        self.experiment, self.config = runs[0].experiment, runs[0].config
        for run in runs:
            if dataclasses.replace(run.config, seed=self.config.seed) != self.config:
                raise UserError(
                    f"runs that are trained together differ in their seed alone; the settings of "
                    f"{run.directory.path} are not those of {runs[0].directory.path}"
                )

    def run(self) -> int:
        """Trains to the end and evaluates; returns 0, or the exit code of a signal that came."""
        from tf_relational.rl.compiled import CheckpointWriter
        from tf_relational.rl.compiled.backend import devices_in_words

        progress: Progress | None = None
        for run in self.runs:
            run.directory.lock()
        with StopRequest(notify=lambda text: (progress.say if progress else print)(text)) as stop:
            for run in self.runs:
                print(f"run directory: {run.directory.path}", flush=True)
            print("building the program; the first iteration compiles it", flush=True)
            self.trainer = compiled_trainer(self.config, [run.config.seed for run in self.runs])
            for index, run in enumerate(self.runs):
                run.algorithm = _Replica(self.trainer, index)
            stop.install()
            try:
                self._restore()
                progress = Progress(self._title(), self.config.total_frames)
                with progress, CheckpointWriter() as self._writer:
                    self._train(progress, stop)
            finally:
                self.trainer.close()
            if stop.requested:
                print(f"stopped at {self.frames:,} frames; to go on: {self._command()}", flush=True)
                return stop.exit_code
        for run in self.runs:
            run.finish(**devices_in_words(self.config.devices))
        return 0

    @property
    def frames(self) -> int:
        return self.runs[0].frames

    def _train(self, progress: Progress, stop: StopRequest) -> None:
        logs = [MetricsLog(run.directory.path, run.frames) for run in self.runs]
        try:
            self._iterate(logs, progress, stop)
        finally:
            for log in logs:
                log.close()

    def _iterate(self, logs: list[MetricsLog], progress: Progress, stop: StopRequest) -> None:
        total = self.config.total_frames
        saved = clock = time.monotonic()
        while self.frames < total and not stop.requested:
            target = min(total, self.runs[0].next_evaluation)
            results = self.trainer.train(self.config.report_interval, target, stop)
            now = time.monotonic()
            self._add_time(now - clock)
            clock = now
            lines = []
            for run, result, log in zip(self.runs, results, logs, strict=True):
                lines.append(run.iteration(result, evaluate=not stop.requested))
                log.write(lines[-1])
            progress.show(mean_line(lines), last=self.runs[0].finished or stop.requested)
            if self.runs[0].checkpoint_due(lines[0], now - saved, stop):
                self._save()
                saved = time.monotonic()
            now = time.monotonic()
            self._add_time(now - clock)
            clock = now

    def _add_time(self, seconds: float) -> None:
        for run in self.runs:
            run.wall_time += seconds

    def _save(self) -> None:
        parts = [
            (self.trainer.snapshot(index), run.directory.checkpoint_path, run.get_state())
            for index, run in enumerate(self.runs)
        ]
        self._writer.save(parts, self.config.keep_checkpoints)

    def _restore(self) -> None:
        from tf_relational.rl import checkpoints

        found = [
            {path.name: path for path in checkpoints.complete(run.directory.checkpoint_path)}
            for run in self.runs
        ]
        common = set.intersection(*map(set, found))
        if any(found) and not common:
            raise UserError(
                "these runs have no checkpoint of one moment in common; resume each by itself: "
                + ", ".join(str(run.directory.path) for run in self.runs)
            )
        if common:
            # The names are numbers of iterations, which all runs count together.
            newest = max(common, key=int)
            snapshots = [self.trainer.snapshot(index) for index in range(len(self.runs))]
            try:
                for run, snapshot, paths in zip(self.runs, snapshots, found, strict=True):
                    run.set_state(checkpoints.restore(snapshot, paths[newest])["extra"])
                self.trainer.restore(snapshots)
            except (checkpoints.CheckpointError, ValueError) as error:
                raise UserError(str(error)) from error
            spent = duration(self.runs[0].wall_time)
            print(f"resuming at {self.frames:,} frames, {spent} of training")
        for run in self.runs:
            run.begin()

    def _title(self) -> str:
        seeds = " ".join(str(run.config.seed) for run in self.runs)
        return (
            f"{self.experiment.name}, compiled, {self.config.agent} agent, "
            f"seed{'s (means)' if len(self.runs) > 1 else ''} {seeds}, {self._folder()}"
        )

    def _folder(self) -> Any:
        path = self.runs[0].directory.path
        return path if len(self.runs) == 1 else path.parent

    def _command(self) -> str:
        return f"python run.py --exp {self.experiment.name} --resume {self._folder()}"


class _Replica:
    """What `Training` asks of an algorithm."""

    def __init__(self, trainer: Any, index: int) -> None:
        self._trainer, self._index = trainer, index

    @property
    def model(self) -> Any:
        return self._trainer.model(self._index)


def mean_line(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns lines of metrics as one: the mean of every number that all of them have.

    Example:
        >>> mean_line([{"frames": 10, "loss": 1.0}, {"frames": 10, "loss": 2.0, "new": 3}])
        {'frames': 10, 'loss': 1.5}
    """
    first, count = lines[0], len(lines)
    if count == 1:
        return first
    found = {}
    for key, value in first.items():
        values = [line.get(key) for line in lines]
        if None not in values:
            mean = sum(values) / count
            found[key] = int(mean) if isinstance(value, int) else mean
        elif key in ("step_limit", "evaluation/step_limit"):
            found[key] = value
    return found
