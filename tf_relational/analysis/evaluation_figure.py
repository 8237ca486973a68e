"""The evaluation of a trained agent by puzzle type, beside policies that learned nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tf_relational.analysis.canvas import OTHER_COLOURS, new_figure, panel_grid, save
from tf_relational.envs.step_limit import within

POLICIES = {
    "sampled": "agent, sampled",
    "greedy": "agent, greedy",
    "scripted": "scripted player",
    "random": "uniform random",
    "random_without_limit": "uniform random, no step limit",
}
_MARKERS = "osD^v"


def draw_evaluation(evaluation: Mapping[str, Any], path: str | Path, description: str = "") -> Path:
    """Fraction solved with its 95 % interval, a row for each kind of puzzle, a mark a policy.

    Args:
        evaluation: What `evaluation.json` of a run directory holds: `step_limit`, and for each of
            `POLICIES` that was played `{"fraction_solved": {kind: {"mean", "low", "high",
            "episodes"}}}`.
        path: PNG to write.
        description: Sentence for the caption: which agent.

    Raises:
        ValueError: No known policy is in it.
    """
    played = {name: evaluation[name]["fraction_solved"] for name in POLICIES if name in evaluation}
    if not played:
        raise ValueError(f"received {sorted(evaluation)}; expected one of {list(POLICIES)}")
    first = next(iter(played.values()))
    kinds = list(first)
    figure = new_figure(8.0, 1.4 + 0.2 * (len(played) + 1) * len(kinds))
    axes = figure.add_subplot()
    for number, (name, shares) in enumerate(played.items()):
        means = [shares[kind]["mean"] for kind in kinds]
        reach = [
            [shares[kind]["mean"] - shares[kind]["low"] for kind in kinds],
            [shares[kind]["high"] - shares[kind]["mean"] for kind in kinds],
        ]
        shift = (number - (len(played) - 1) / 2) / (len(played) + 1)
        axes.errorbar(
            means,
            [row + shift for row in range(len(kinds))],
            # Rounding can leave a bound a hair on the wrong side of the mean.
            xerr=[[max(0.0, value) for value in side] for side in reach],
            fmt=_MARKERS[number],
            color=OTHER_COLOURS[number],
            label=POLICIES[name],
            capsize=2,
            markersize=5,
        )
    names = [f"{kind_name(kind)}\n{first[kind]['episodes']} episodes" for kind in kinds]
    axes.set_yticks(range(len(kinds)), names, fontsize=8)
    axes.set_ylim(len(kinds) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(solved_words(evaluation))
    axes.grid(axis="x", alpha=0.3)
    for row in range(1, len(kinds)):
        axes.axhline(row - 0.5, color="0.8", linewidth=0.8)
    figure.legend(loc="outside upper center", ncols=3, fontsize=8)
    caption = "Marks: share of fresh levels solved; bars: 95 % intervals."
    return save(figure, path, "Evaluation by puzzle type", f"{caption} {description}".strip())


def draw_evaluations_by_type(
    evaluation: Mapping[str, Any], path: str | Path, description: str = ""
) -> Path:
    """Fraction solved of every kept model of a run with 95 % intervals, a panel for each kind.

    The panels of Figures 10 and 11, of one run.

    Args:
        evaluation: What `evaluation_curve.json` of a run directory holds: `step_limit` and
            `"curve"`, a list of `{"frames", "sampled"}` with entries as in `draw_evaluation`.
        path: PNG to write.
        description: Sentence for the caption: which agent.

    Raises:
        ValueError: There is no curve in it.
    """
    points = evaluation.get("curve")
    if not points:
        raise ValueError(f"received {sorted(evaluation)}; a curve is needed")
    kinds = list(points[0]["sampled"]["fraction_solved"])
    titles = [
        f"{kind_name(kind)}, {points[0]['sampled']['fraction_solved'][kind]['episodes']} episodes"
        for kind in kinds
    ]
    figure, panels = panel_grid(titles)
    frames = [point["frames"] for point in points]
    for panel, kind in zip(panels, kinds, strict=True):
        shares = [point["sampled"]["fraction_solved"][kind] for point in points]
        means = [share["mean"] for share in shares]
        reach = [
            [max(0.0, share["mean"] - share["low"]) for share in shares],
            [max(0.0, share["high"] - share["mean"]) for share in shares],
        ]
        panel.errorbar(frames, means, yerr=reach, color=OTHER_COLOURS[0], marker="o", capsize=2)
        panel.set_xlim(left=0)
    figure.supylabel(solved_words(evaluation), fontsize=10)
    caption = "Sampled policy on the same fresh levels at each point; bars: 95 % intervals."
    title = "Evaluation by puzzle type over training"
    return save(figure, path, title, f"{caption} {description}".strip())


def solved_words(evaluation: Mapping[str, Any]) -> str:
    """`fraction solved within 120 steps`, and which policy was played without that limit.

    >>> solved_words({"step_limit": 10, "random_without_limit": {}})
    'fraction solved within 10 steps (but for "uniform random, no step limit")'
    """
    words = f"fraction solved {within(evaluation.get('step_limit'))}"
    if "random_without_limit" in evaluation:
        words += f' (but for "{POLICIES["random_without_limit"]}")'
    return words


def kind_name(kind: str) -> str:
    """The name of a kind of puzzle in `fraction_solved`, in words."""
    return "no bridge" if kind == "None" else kind
