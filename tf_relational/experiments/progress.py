"""How a run looks while it goes: a live table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from tf_relational.envs.step_limit import within
from tf_relational.experiments.metrics import solved_by_type

_PLAIN_INTERVAL = 30.0
_EVALUATED = "evaluation/fraction_solved"


class Progress:
    """Shows the newest metrics: a rich table that is redrawn, or a line every 30 seconds.

    Args:
        title: the table's title.
        total_frames: frames at which the run ends.
        stream: where to write; standard output by default. A table is drawn only when it is
            a terminal.
        clock: seconds, for the plain lines' interval and the time left.

    Example:
        >>> progress = Progress("demo", total_frames=1000)
        >>> with progress:
        ...     progress.show({"frames": 500, "step_limit": 120, "fraction_solved": 0.25})
        500/1,000 frames, 50 %; solved .250 within 120 steps
    """

    def __init__(
        self,
        title: str,
        total_frames: int,
        stream: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.console import Console

        self.title = title
        self.total_frames = total_frames
        self._stream = sys.stdout if stream is None else stream
        self._clock = clock
        self._console = Console(file=self._stream)
        self._live: Any = None
        self._first: tuple[float, int] | None = None
        self._next_line = float("-inf")
        self._evaluated: str | None = None

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, text: str) -> None:
        """Writes a message above the table, or as a line."""
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=self._stream, flush=True)

    def show(self, metrics: dict[str, Any], last: bool = False) -> None:
        """Shows the newest metrics; `last` writes a plain line even if one was just written."""
        if self._first is None:
            self._first = self._clock(), metrics["frames"]
        # An evaluation comes with few iterations; its share stays in sight until the next.
        if metrics.get(_EVALUATED) is not None:
            words = limit_words({"step_limit": metrics["evaluation/step_limit"]})
            self._evaluated = f"{metrics[_EVALUATED]:.3f} {words}"
        if self._live is not None:
            self._live.update(self._table(metrics | {_EVALUATED: self._evaluated}), refresh=True)
        elif last or self._clock() >= self._next_line:
            self._next_line = self._clock() + _PLAIN_INTERVAL
            print(self._line(metrics), file=self._stream, flush=True)

    def seconds_left(self, frames: int) -> float | None:
        """Returns the time to the last frame at the speed since the first metrics shown.

        The iteration before them is left out: it has to compile, and a resumed run's earlier
        frames took no time now.
        """
        if self._first is None:
            return None
        elapsed, done = self._clock() - self._first[0], frames - self._first[1]
        if done <= 0 or elapsed <= 0:
            return None
        return max(0, self.total_frames - frames) * elapsed / done

    def _line(self, metrics: dict[str, Any]) -> str:
        frames = metrics["frames"]
        parts = [f"{frames:,}/{self.total_frames:,} frames, {frames / self.total_frames:.0%}"]
        parts[0] = parts[0].replace("%", " %")
        if metrics.get("frames_per_second"):
            parts[0] += f", {metrics['frames_per_second']:,.0f}/s"
        left = self.seconds_left(frames)
        if left:
            parts[0] += f", {duration(left)} left"
        parts.append(f"solved {share(metrics.get('fraction_solved'))} {limit_words(metrics)}")
        for label, key, form in _ROWS:
            if metrics.get(key) is not None and key in _IN_LINE:
                parts.append(f"{label.lower()} {metrics[key]:{form}}")
        return "; ".join(parts)

    def _table(self, metrics: dict[str, Any]) -> Any:
        from rich import box
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        frames = metrics["frames"]
        left = self.seconds_left(frames)
        head = Table.grid(padding=(0, 1))
        head.add_row(
            ProgressBar(self.total_frames, min(frames, self.total_frames), width=40),
            f"{frames:,}/{self.total_frames:,} frames",
            f"{duration(metrics.get('wall_time') or 0)} gone",
            f"{duration(left)} left" if left is not None else "",
        )
        solved = Table(title=f"solved {limit_words(metrics)}", box=box.SIMPLE, show_header=False)
        solved.add_column("puzzles", min_width=24)
        solved.add_column("solved", justify="right")
        solved.add_row("all", share(metrics.get("fraction_solved")))
        for name, value in solved_by_type(metrics).items():
            solved.add_row(name, share(value))
        learning = Table(title="learning", box=box.SIMPLE, show_header=False)
        learning.add_column("what")
        learning.add_column("value", justify="right")
        for label, key, form in _ROWS:
            if metrics.get(key) is not None:
                learning.add_row(label, format(metrics[key], form))
        columns = Table.grid(padding=(0, 4))
        columns.add_row(solved, learning)
        return Group(Text(self.title), head, columns)


_ROWS = (
    ("Frames sampled/s", "frames_per_second", ",.0f"),
    ("Frames trained/s", "trained_frames_per_second", ",.0f"),
    ("Return", "episode_return_mean", ".2f"),
    ("Length", "episode_len_mean", ".1f"),
    ("Entropy", "entropy", ".3f"),
    ("Value loss", "value_loss", ".4g"),
    ("Gradient norm", "gradient_norm", ".3g"),
    ("Importance weight", "importance_weight", ".3f"),
    ("Policy lag", "policy_lag", ".1f"),
    ("Difficulty", "curriculum/difficulty", ".0f"),
    ("Curriculum share", "curriculum/probability", ".2f"),
    ("Curriculum success", "curriculum/success", ".2f"),
    ("Solved when evaluated", _EVALUATED, ""),
)
_IN_LINE = ("episode_return_mean", "episode_len_mean", "entropy", "curriculum/difficulty")


def share(value: float | None) -> str:
    """Returns a share as `.953`, or `-` when it is not known yet."""
    if value is None:
        return "-"
    text = f"{value:.3f}"
    return text.removeprefix("0")


def duration(seconds: float) -> str:
    """Returns seconds as `1 h 05 min`, `5 min 09 s` or `9 s`."""
    whole = int(round(seconds))
    if whole >= 3600:
        return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"


def limit_words(metrics: dict[str, Any]) -> str:
    """Returns which limit a fraction solved stands under."""
    return within(metrics.get("step_limit"))
