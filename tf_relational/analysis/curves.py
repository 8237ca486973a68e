"""Training curves: Figures 3 to 5 and 10 to 12 of *Logic and the 2-Simplicial Transformer*.

The numbers come from `runs.py`; here they are only drawn. Every function writes one PNG.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tf_relational.analysis.canvas import (
    AGENT_COLOURS,
    OTHER_COLOURS,
    count_in_thousands,
    new_figure,
    panel_grid,
    save,
)
from tf_relational.analysis.runs import (
    EVALUATED,
    SOLVED,
    Run,
    curve,
    group_by_agent,
    solved_label,
    time_scales,
    type_name,
    type_order,
)

_POINTS = "Of long runs, each point is the mean over a hundredth of the frames."


def draw_mean_curves(
    runs: Sequence[Run],
    path: str | Path,
    time_adjusted: bool = False,
    references: Mapping[str, float] | None = None,
    evaluated: bool = False,
) -> Path:
    """Mean and standard deviation over seeds, one line an agent (Figure 3; Figure 12).

    Args:
        runs: Runs of one or more agents, those of an agent with the same settings but the seed.
        path: PNG to write.
        time_adjusted: Whether the axes of slower agents are stretched to equal time (Figure 12).
        references: Name -> share solved by another policy, drawn as a dashed line.
        evaluated: Whether the evaluations during training are drawn, and not its own episodes.

    Raises:
        ValueError: `time_adjusted`, but a run tells no wall time; or runs of an agent differ in
            more than the seed.
    """
    groups = group_by_agent(runs)
    name = EVALUATED if evaluated else SOLVED
    scales = time_scales(groups) if time_adjusted else {}
    if time_adjusted and not scales:
        raise ValueError("received runs without wall time; a time-adjusted axis needs it")
    figure = new_figure(7.5, 4.8)
    axes = figure.add_subplot()
    for agent, members in groups.items():
        x, mean, deviation, _ = curve(members, name, scale=scales.get(agent, 1.0))
        colour = _colour(agent)
        label = f"{agent} ({_seeds(members)})"
        if scales:
            label += f", frames x {scales[agent]:.2f}"
        axes.plot(x, mean, color=colour, label=label, marker=_marker(x))
        if len(members) > 1:
            low, high = mean - deviation, mean + deviation
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    styles = ("--", ":", "-.")
    for number, (name, share) in enumerate((references or {}).items()):
        style = styles[number % len(styles)]
        label = f"{name}: {share:.3f}"
        axes.axhline(share, color="0.25", linestyle=style, linewidth=1.2, label=label)
    words = "environment frames"
    if scales:
        words += ", stretched to equal wall time"
    _finish(axes, runs, words, evaluated)
    band = " Lines: mean over runs; shaded: one standard deviation." * (len(runs) > len(groups))
    title = "Time-adjusted training curves" if scales else "Training curves"
    source = "Evaluations of the sampled policy on fresh levels." if evaluated else _POINTS
    return save(figure, path, title, source + band)


def draw_single_curves(runs: Sequence[Run], path: str | Path) -> Path:
    """Every run as its own line (Figure 4: relational agent, Figure 5: simplicial agent)."""
    figure = new_figure(7.5, 4.8)
    axes = figure.add_subplot()
    for number, run in enumerate(sorted(runs, key=lambda run: (run.agent, run.seed))):
        x, mean, _, _ = curve([run], SOLVED)
        colour = OTHER_COLOURS[number % len(OTHER_COLOURS)]
        axes.plot(x, mean, color=colour, label=f"{run.agent}, seed {run.seed}", marker=_marker(x))
    _finish(axes, runs, "environment frames")
    agents = " and ".join(sorted({run.agent for run in runs}))
    return save(figure, path, f"Training curves by seed: {agents}", _POINTS)


def draw_type_curves(runs: Sequence[Run], path: str | Path) -> Path:
    """Fraction solved by puzzle type over training, one panel a type (Figures 10 and 11).

    Taken from the evaluations during training where there are some, else from training itself.

    Raises:
        ValueError: No run tells the fraction solved of any type; or runs of an agent differ in
            more than the seed.
    """
    evaluated = any(run.type_series(evaluated=True) for run in runs)
    names = {kind: name for run in runs for kind, name in run.type_series(evaluated).items()}
    if not names:
        raise ValueError(f"received {len(runs)} runs; none tells what it solved by puzzle type")
    kinds = sorted(names, key=type_order)
    groups = group_by_agent(runs)
    figure, panels = panel_grid([type_name(kind) for kind in kinds])
    for panel, kind in zip(panels, kinds, strict=True):
        for agent, members in groups.items():
            x, mean, deviation, _ = curve(members, names[kind], points=40)
            panel.plot(x, mean, color=_colour(agent), label=agent, marker=_marker(x))
            if len(members) > 1:
                low, high = mean - deviation, mean + deviation
                panel.fill_between(x, low, high, color=_colour(agent), alpha=0.2, linewidth=0)
        panel.set_xlim(left=0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=9)
    figure.supylabel(solved_label(runs, evaluated), fontsize=10)
    source = "Evaluations on fresh levels" if evaluated else "Training episodes"
    caption = f"{source}. Puzzle type (a, b, c): solution length, bridge source, bridge target. "
    seeds = "; ".join(f"{agent}: {_seeds(members)}" for agent, members in groups.items())
    band = " Shaded: one standard deviation over runs." if len(runs) > len(groups) else ""
    return save(figure, path, "Fraction solved by puzzle type", caption + seeds + "." + band)


def _finish(axes, runs, words, evaluated=False):
    axes.set_xlabel(words)
    axes.set_ylabel(solved_label(runs, evaluated))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlim(left=0)
    count_in_thousands(axes)
    axes.grid(alpha=0.3)
    axes.legend(loc="best", fontsize=9)


def _colour(agent):
    return AGENT_COLOURS.get(agent, OTHER_COLOURS[-1])


def _marker(x):
    return "o" if len(x) < 15 else None


def _seeds(runs):
    seeds = len({run.seed for run in runs})
    words = "1 seed" if seeds == 1 else f"{seeds} seeds"
    return words if seeds == len(runs) else f"{words}, {len(runs)} runs"
