"""What run directories say about training, as arrays: the numbers behind the curves."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tf_relational.envs.step_limit import within

SOLVED = "fraction_solved"
EVALUATED = f"evaluation/{SOLVED}"

NOT_SETTINGS = (
    "agent", "seed", "seeds", "report_interval", "checkpoint_interval", "keep_checkpoints",
    "evaluation_interval", "evaluation_episodes", "evaluation_seed",
)  # fmt: skip
"""Fields of a run that say whose curve it is, or change nothing of what is learned."""

_TYPE = re.compile(
    r"(evaluation/)?fraction_solved"
    r"(?:/\((\d+), (\d+), (\d+)\)|/\((\d+),\)|/length (\d+)|_by_length/(\d+)|/None)"
)


@dataclass(frozen=True)
class Run:
    """The training of one agent with one seed.

    Attributes:
        agent: Name of the agent.
        seed: Its seed.
        step_limit: Steps within which a training episode counts as solved; `None` is no limit.
        evaluation_step_limit: The same for the evaluations during training.
        frames: Environment frames at each of K points, [K].
        seconds: Wall time at each, [K]; NaN where unknown.
        series: Name -> values [K], NaN where a line of the metrics lacks it.
        path: Where it was read from.
        experiment: Name of its experiment.
        preset: Name of the preset that it began with.
        settings: Its fields, without `NOT_SETTINGS`. Runs that differ here are no seeds of each
            other. `total_frames` is one of them only where the learning rate falls towards it.
    """

    agent: str
    seed: int
    step_limit: int | None
    evaluation_step_limit: int | None
    frames: np.ndarray
    seconds: np.ndarray
    series: dict[str, np.ndarray] = field(default_factory=dict)
    path: Path | None = None
    experiment: str = ""
    preset: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def frames_per_second(self) -> float:
        """Frames over wall time of the whole run; NaN if the run tells no time."""
        known = np.isfinite(self.seconds) & (self.seconds > 0)
        if not known.any():
            return math.nan
        last = np.flatnonzero(known)[-1]
        return float(self.frames[last] / self.seconds[last])

    def type_series(self, evaluated: bool) -> dict[tuple[int, ...], str]:
        """Puzzle type -> name of its series, of the evaluations or of the training episodes.

        A type is (a, b, c) with a bridge and (a,) without one; () is every puzzle without a
        bridge, where these have one length only.
        """
        found = {}
        for name in self.series:
            match = _TYPE.fullmatch(name)
            if match and bool(match[1]) == evaluated:
                kind = tuple(int(part) for part in match.groups()[1:] if part)
                found[kind] = name
        lengths = [kind for kind in found if len(kind) == 1]
        if () in found:
            for kind in lengths if len(lengths) < 2 else [()]:
                del found[kind]
        return dict(sorted(found.items(), key=lambda item: type_order(item[0])))


def read_metrics(run_dir: str | Path) -> list[dict[str, Any]]:
    """Returns the lines of a run's `metrics.jsonl` that tell a number of frames.

    A line that was cut off by a kill is left out. Returns an empty list without the file.
    """
    path = Path(run_dir) / "metrics.jsonl"
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(line, dict) and _number(line.get("frames")) is not None:
            lines.append(line)
    return lines


def read_config(run_dir: str | Path) -> tuple[str, str, dict[str, Any]]:
    """Returns experiment, preset and fields of a run, from its `config.json`.

    Raises:
        FileNotFoundError: There is none.
    """
    saved = json.loads((Path(run_dir) / "config.json").read_text(encoding="utf-8"))
    return saved.get("experiment", ""), saved.get("preset", ""), saved.get("config", saved)


def read_run(
    run_dir: str | Path, defaults: Mapping[str, Any] | None = None, may_be_empty: bool = False
) -> Run:
    """Reads `config.json` and `metrics.jsonl` of a run directory.

    What is not a finite number becomes NaN.

    Args:
        run_dir: The run directory.
        defaults: Field -> value of fields that a run of an earlier version lacks.
        may_be_empty: Whether a run without metrics is one of no points, and not an error.

    Raises:
        FileNotFoundError: There is no `config.json`.
        ValueError: No line tells the frames.
    """
    run_dir = Path(run_dir)
    experiment, preset, fields = read_config(run_dir)
    fields = {**(defaults or {}), **fields}
    lines = read_metrics(run_dir)
    if not lines and not may_be_empty:
        raise ValueError(f"{run_dir / 'metrics.jsonl'} has no line with a number of frames")
    names = {name for line in lines for name in line}
    series = {name: _column(lines, name) for name in sorted(names)}
    seconds = series.get("seconds", series.get("wall_time", np.full(len(lines), np.nan)))
    limits = [line["step_limit"] for line in lines if "step_limit" in line]
    apart = NOT_SETTINGS
    if fields.get("final_learning_rate") is None:
        apart += ("total_frames",)
    return Run(
        agent=str(fields.get("agent", "agent")),
        seed=int(fields.get("seed", 0)),
        step_limit=limits[-1] if limits else fields.get("horizon"),
        evaluation_step_limit=fields.get("evaluation_step_limit"),
        frames=series.get("frames", np.empty(0)),
        seconds=seconds,
        series=series,
        path=run_dir,
        experiment=experiment,
        preset=preset,
        settings={name: value for name, value in fields.items() if name not in apart},
    )


def curve(runs: Sequence[Run], name: str, points: int = 100, scale: float = 1.0):
    """Mean and deviation of one quantity over runs, on a common axis.

    With at most `points` measurements a run, the axis holds every frame count at which some run
    measured. With more, the frames are cut into `points` intervals, and a run's value in one is the
    mean of what it measured there. Between its measurements a run is interpolated.

    Args:
        runs: Runs of one agent.
        name: Name in `Run.series`.
        points: Most measurements that are shown one by one, and else the number of intervals.
        scale: Factor on the frames (the paper's time-adjusted axis).

    Returns:
        `x` [P], `mean` [P], `deviation` [P] (standard deviation over the runs that reach so far,
        0 where there is one) and `each` [len(runs), P], NaN outside of what a run covers.
        P is 0 if no run has the quantity.
    """
    measured = [(run.frames * scale, run.series.get(name)) for run in runs]
    measured = [
        (x[np.isfinite(y)], y[np.isfinite(y)]) if y is not None else (x[:0], x[:0])
        for x, y in measured
    ]
    longest = max((len(x) for x, _ in measured), default=0)
    if longest == 0:
        return np.empty(0), np.empty(0), np.empty(0), np.empty((len(runs), 0))
    if longest <= points:
        centres = np.unique(np.concatenate([x for x, _ in measured]))
        each = np.stack([_interpolated(x, y, centres) for x, y in measured])
    else:
        edges = np.linspace(0.0, max(x.max() for x, _ in measured if len(x)), points + 1)
        centres = (edges[1:] + edges[:-1]) / 2
        each = np.stack([_binned(x, y, edges, centres) for x, y in measured])
    reached = np.isfinite(each).any(axis=0)
    centres, each = centres[reached], each[:, reached]
    return centres, np.nanmean(each, axis=0), np.nanstd(each, axis=0), each


def group_by_agent(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Agent -> its runs by seed; agents in alphabetical order.

    Raises:
        ValueError: The runs of an agent differ in more than the seed, so that they have no mean.
    """
    groups = {}
    for run in sorted(runs, key=lambda run: (run.agent, run.seed)):
        groups.setdefault(run.agent, []).append(run)
    for agent, members in groups.items():
        different = differences(members)
        if different:
            raise ValueError(
                f"received runs of the {agent} agent that differ in {', '.join(different)}; "
                "only runs that differ in nothing but the seed are drawn as one"
            )
    return groups


def differences(runs: Sequence[Run]) -> list[str]:
    """The settings in which runs differ, in alphabetical order."""
    first, *others = runs
    names = sorted({name for run in runs for name in run.settings})
    return [
        name
        for name in names
        if any(run.settings.get(name) != first.settings.get(name) for run in others)
    ]


def time_scales(groups: dict[str, list[Run]]) -> dict[str, float]:
    """Factors on the frames of each agent for the time-adjusted axis of Appendix C.

    The fastest agent keeps its axis; another's is stretched by how much slower it was measured to
    be (the paper: 1.9 / 1.4 for the simplicial agent). Empty unless all agents' speeds are known.
    """
    speeds = {
        agent: float(np.mean([run.frames_per_second for run in runs]))
        for agent, runs in groups.items()
    }
    if not all(math.isfinite(speed) and speed > 0 for speed in speeds.values()):
        return {}
    return {agent: max(speeds.values()) / speed for agent, speed in speeds.items()}


def solved_label(runs: Iterable[Run], evaluated: bool = False) -> str:
    """Axis label that names the step limit of the fraction solved, in training or evaluations."""
    limits = {run.evaluation_step_limit if evaluated else run.step_limit for run in runs}
    return f"fraction solved {' or '.join(sorted(map(within, limits)))}"


def type_name(kind: tuple[int, ...]) -> str:
    """`(1, 1, 2)` of a bridge puzzle, `length 1, no bridge` or, of any length, `no bridge`."""
    if len(kind) == 3:
        return str(kind)
    return f"length {kind[0]}, no bridge" if kind else "no bridge"


def type_order(kind: tuple[int, ...]) -> tuple:
    """Key that sorts puzzle types: by length, those without a bridge first."""
    return kind[:1], len(kind), kind


def _number(value):
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _column(lines, name):
    values = [_number(line.get(name)) for line in lines]
    return np.array([math.nan if value is None else value for value in values])


def _interpolated(x, y, centres):
    if len(x) == 0:
        return np.full(len(centres), np.nan)
    return np.interp(centres, x, y, left=np.nan, right=np.nan)


def _binned(x, y, edges, centres):
    place = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, len(centres) - 1)
    counts = np.bincount(place, minlength=len(centres))
    sums = np.bincount(place, weights=y, minlength=len(centres))
    filled = counts > 0
    return _interpolated(centres[filled], sums[filled] / counts[filled], centres)
