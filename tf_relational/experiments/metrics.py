"""Training metrics on disk: one JSON object an iteration, and the same for TensorBoard."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from tf_relational.analysis.runs import read_metrics
from tf_relational.experiments.run_directory import write_atomically

FILE = "metrics.jsonl"

_NO_CURVES = ("frames", "step_limit", "evaluation/step_limit")


class MetricsLog:
    """Appends the metrics of a run to its `metrics.jsonl` and TensorBoard events.

    A line is flushed before the next iteration starts, so that a killed run keeps it. When a
    run resumes from a checkpoint, the lines that lie past the checkpoint are dropped: their
    frames are trained again, and every frame count stands in the file once.

    Args:
        folder: the run directory.
        resume_at: frames of the checkpoint that training continues from; 0 starts the file.

    Keys of a line, all optional but the first four:

    | key | meaning |
    | --- | --- |
    | `frames` | environment steps sampled so far, the x axis |
    | `iteration` | RLlib iterations so far |
    | `wall_time` | seconds of training so far, summed over resumes |
    | `step_limit` | steps within which an episode counts as solved; null: no limit |
    | `trained_frames`, `dropped_frames` | steps learned from so far; sampled, but let go unused |
    | `frames_per_second`, `trained_frames_per_second` | throughput |
    | `fraction_solved` | over the latest real episodes, those of a curriculum left out |
    | `fraction_solved/(a, b, c)`, `fraction_solved/None` | by puzzle type, None: no bridge |
    | `fraction_solved_by_length/a` | over puzzles of solution length a without a bridge |
    | `episode_return_mean`, `episode_len_mean`, `episodes` | of real episodes |
    | `bridge_opened`, `distractor_opened` | share of real episodes that opened one |
    | `entropy`, `policy_loss`, `value_loss`, `gradient_norm` | learner |
    | `explained_variance` | share of the variance of V-trace's targets that the value explains |
    | `importance_weight`, `importance_weight_max` | target over behaviour policy: mean, largest |
    | `policy_lag` | updates between acting and learning |
    | `learning_rate`, `updates` | the newest step size; gradient steps so far |
    | `curriculum/difficulty`, `curriculum/probability` | start-state curriculum: how hard, |
    | `curriculum/success` | how often it is played, and how often solved |
    | `levels/begun` | compiled engine: episodes begun so far |
    | `levels/window`, `levels/reused` | no level comes twice within so many; how many did at all |
    | `evaluation/fraction_solved`, `evaluation/fraction_solved/(a, b, c)` | fresh episodes |
    | `evaluation/fraction_solved/None`, `evaluation/fraction_solved/length a` | no bridge |
    | `evaluation/step_limit` | within which they have to be solved |

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with MetricsLog(folder) as log:
        ...     log.write({"frames": 640, "iteration": 1, "wall_time": 0.5, "step_limit": 120})
        >>> read_metrics(folder)[0]["frames"]
        640
    """

    def __init__(self, folder: str | os.PathLike[str], resume_at: int = 0) -> None:
        # tensorboardX writes the events without importing TensorFlow or torch.
        from tensorboardX import SummaryWriter

        self.path = Path(folder) / FILE
        if self.path.exists():
            keep = [line for line in read_metrics(folder) if line["frames"] <= resume_at]
            write_atomically(self.path, "".join(json.dumps(line) + "\n" for line in keep))
        self._file = self.path.open("a", encoding="utf-8")
        purge = {"purge_step": resume_at + 1} if resume_at else {}
        self._events = SummaryWriter(str(folder), **purge)

    def write(self, values: dict[str, Any]) -> None:
        """Appends one line; numbers that are not finite become null."""
        line = {key: _plain(value) for key, value in values.items()}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()
        for key, value in line.items():
            if isinstance(value, int | float) and key not in _NO_CURVES:
                evaluated = key.startswith("evaluation/")
                limit = line.get("evaluation/step_limit" if evaluated else "step_limit")
                suffix = "without_limit" if limit is None else f"within_{limit}_steps"
                tag = key.replace("fraction_solved", f"fraction_solved_{suffix}", 1)
                self._events.add_scalar(_tag(tag), value, line["frames"])

    def close(self) -> None:
        self._file.close()
        self._events.close()

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | str | int):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def _tag(key: str) -> str:
    # TensorBoard tags allow no parentheses, commas or spaces.
    return "".join(c if c.isalnum() or c in "_/.-" else "_" for c in key)


def solved_by_type(metrics: dict[str, Any]) -> dict[str, float]:
    """Returns a line's fraction solved by kind of puzzle, under names for people.

    It is empty where there is no bridge in any puzzle: then all are of one kind.

    Example:
        >>> solved_by_type({"fraction_solved/None": 0.5, "fraction_solved/(1, 1, 2)": 0.25})
        {'no bridge': 0.5, 'bridge (1, 1, 2)': 0.25}
    """
    prefix = "fraction_solved/"
    found = {
        key.removeprefix(prefix): value
        for key, value in metrics.items()
        if key.startswith(prefix) and value is not None
    }
    without = {"no bridge": found.pop("None")} if "None" in found else {}
    bridges = {f"bridge {name}": found[name] for name in sorted(found)}
    return without | bridges if bridges else {}
