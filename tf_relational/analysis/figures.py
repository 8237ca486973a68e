"""All figures that run directories allow, in one call."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tf_relational.analysis.attention import attention_of
from tf_relational.analysis.attention_figures import (
    draw_simplicial_attention,
    draw_standard_attention,
)
from tf_relational.analysis.curves import draw_mean_curves, draw_single_curves, draw_type_curves
from tf_relational.analysis.episode import Episode, agent_policy, record_all
from tf_relational.analysis.evaluation_figure import (
    POLICIES,
    draw_evaluation,
    draw_evaluations_by_type,
)
from tf_relational.analysis.gif import episode_gif
from tf_relational.analysis.run_groups import group_by_settings, one_of_each_seed
from tf_relational.analysis.runs import (
    EVALUATED,
    SOLVED,
    Run,
    group_by_agent,
    read_config,
    read_run,
    time_scales,
)
from tf_relational.envs import BRIDGE, STANDARD, BoxWorldConfig, generate
from tf_relational.envs.step_limit import within

TRIES = 10
"""Fresh levels played in search of an episode that the agent solves."""

STEP_LIMIT = 120
"""Most steps of the episode shown; the horizon of the original Box-World."""


class NothingToDraw(ValueError):
    """No run among those given holds metrics, an evaluation or a model."""


def make_figures(
    run_dirs: Sequence[str | Path],
    out_dir: str | Path,
    references: Mapping[str, float] | None = None,
    defaults: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> list[Path]:
    """Draws what the runs allow.

    Curves over all runs: `training_curve.png` (Figure 3), `training_curve_<agent>.png` for an
    agent with several seeds (Figures 4, 5), `training_curve_time_adjusted.png` with two agents
    (Figure 12), `evaluation_curve.png` of the evaluations during training, which may have another
    step limit, `fraction_by_type.png` with several puzzle types (Figures 10, 11). For each run, in
    a folder `<agent>_seed<n>`: `evaluation.png` if it was evaluated, `evaluation_by_type.png` if
    every kept model was, and what `figures_of_model` draws if it has a saved model.

    Runs with different settings (`Run.settings`) are drawn apart, each such group in a folder of
    its own, named by `group_by_settings`. Of runs with the same settings, agent and seed the one
    that got furthest is drawn.

    Args:
        run_dirs: Run directories, of any agents and seeds.
        out_dir: Folder to write into; made if missing.
        references: Name -> share solved by another policy, dashed in the mean curves. If left
            out, the yardsticks of the first evaluation that has the curve's step limit; without a
            limit, the uniform random policy's share without one.
        defaults: Field -> value of settings that a run of an earlier version lacks.
        say: Called with a line on each run that is left out and on each group.

    Returns:
        The files written.

    Raises:
        NothingToDraw: No run holds metrics or a model.
    """
    folders = [Path(run_dir) for run_dir in run_dirs]
    runs = [
        read_run(folder, defaults, may_be_empty=True)
        for folder in folders
        if (folder / "config.json").exists()
    ]
    runs = [run for run in runs if _has_something(run)]
    if not runs:
        received = ", ".join(map(str, folders)) or "no run"
        raise NothingToDraw(f"received {received}: neither metrics nor a model there")
    for folder in folders:
        if folder not in [run.path for run in runs]:
            say(f"left out {folder}: neither metrics nor a model there")
    groups = group_by_settings(runs)
    if len(groups) > 1:
        say(f"{len(runs)} runs with {len(groups)} different settings, drawn apart:")
    files = []
    for name, members in groups.items():
        target = Path(out_dir) / name
        if name:
            say(f"{target}: {', '.join(str(run.path) for run in members)}")
        kept, repeated = one_of_each_seed(members)
        for run, other in repeated:
            say(f"left out {run.path}: {run.agent}, seed {run.seed}, same settings as {other.path}")
        files += _of_group(kept, target, references, say)
    return files


def figures_of_model(
    model,
    config: BoxWorldConfig,
    out_dir: str | Path,
    seed: int = 0,
    description: str = "",
    step_limit: int = STEP_LIMIT,
) -> list[Path]:
    """Attention and one episode of an agent on a fresh level.

    Writes `standard_attention.png` (Figure 6), `simplicial_attention.png` (Figures 7 to 9, for an
    agent with virtual entities), `episode.gif`, and the episode as a proof in `proof.txt` and, if
    it is one, `proof.tex`. The attention is that of the observation in the middle of the episode.
    Shown is the first episode that the agent solves of `TRIES`, or else the last.

    Args:
        model: An agent.
        config: The task its levels are drawn from.
        out_dir: Folder to write into; made if missing.
        seed: Seed of the levels and of the agent's actions.
        description: Sentence for the captions: which model, how far trained.
        step_limit: Most steps of an episode.
    """
    out_dir = Path(out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    episode, selection = _find_episode(model, config, seed, step_limit)
    description = f"{description} {selection}".strip()
    middle = len(episode.actions) // 2
    observation = episode.observations[middle]
    kind = episode.level.puzzle_type
    puzzle = f"puzzle type {kind}" if kind else "a puzzle without bridge"
    where = f"Step {middle} of {len(episode.actions)} in an episode of {puzzle}."
    caption = {"description": f"{where} {description}"}
    files = [
        draw_standard_attention(model, observation, out_dir / "standard_attention.png", **caption)
    ]
    if "block_1/simplicial" in attention_of(model, observation):
        path = out_dir / "simplicial_attention.png"
        files.append(draw_simplicial_attention(model, observation, path, **caption))
    files.append(episode_gif(model, episode, out_dir / "episode.gif", description))
    proof = episode.proof()
    files.append(_write(out_dir / "proof.txt", f"{description}\n\n{proof.text()}"))
    if proof.proof is not None:
        files.append(_write(out_dir / "proof.tex", proof.latex(document=True)))
    return files


def last_model(folder: Path) -> tuple[Path, int | None] | None:
    """The model of a run to show, and the frames it was trained for if they are known.

    The best evaluated one (`checkpoints/best.keras`), else the one with the most frames.
    """
    checkpoints = folder / "checkpoints"
    best, told = checkpoints / "best.keras", checkpoints / "best.json"
    if best.exists():
        return best, _frames(told)
    kept = [(int(path.stem), path) for path in checkpoints.glob("agents/[0-9]*.keras")]
    for path in checkpoints.glob("*/agent.keras"):
        frames = _frames(path.parent / "manifest.json", "extra")
        if frames is not None:
            kept.append((frames, path))
    if not kept:
        return None
    frames, path = max(kept)
    return path, frames


def task_of(folder: Path) -> BoxWorldConfig:
    """The Box-World task of a run, from its `config.json`."""
    experiment, _, fields = read_config(folder)
    base = BRIDGE if "bridge" in (experiment or "bridge") else STANDARD
    known = {field.name for field in dataclasses.fields(BoxWorldConfig)}
    values = {name: value for name, value in fields.items() if name in known}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return dataclasses.replace(base, **values)


def _of_group(runs: list[Run], out_dir, references, say):
    measured = [run for run in runs if len(run.frames)]
    files = _curves(measured, out_dir, references) if measured else []
    for run in runs:
        if not len(run.frames):
            say(f"{run.path} has no metrics, so that it is in no curve")
        files += _of_run(run, out_dir / f"{run.agent}_seed{run.seed}")
    return files


def _curves(runs: list[Run], out_dir, references):
    def yardsticks(limit):
        return _yardsticks(runs, limit) if references is None else references

    path = out_dir / "training_curve.png"
    files = [draw_mean_curves(runs, path, references=yardsticks(runs[0].step_limit))]
    groups = group_by_agent(runs)
    for agent, members in groups.items():
        if len(members) > 1:
            files.append(draw_single_curves(members, out_dir / f"training_curve_{agent}.png"))
    if len(groups) > 1 and time_scales(groups):
        path = out_dir / "training_curve_time_adjusted.png"
        files.append(draw_mean_curves(runs, path, time_adjusted=True))
    if any(EVALUATED in run.series for run in runs):
        path, limit = out_dir / "evaluation_curve.png", runs[0].evaluation_step_limit
        files.append(draw_mean_curves(runs, path, references=yardsticks(limit), evaluated=True))
    evaluated = any(run.type_series(evaluated=True) for run in runs)
    if len({kind for run in runs for kind in run.type_series(evaluated)}) > 1:
        files.append(draw_type_curves(runs, out_dir / "fraction_by_type.png"))
    return files


def _yardsticks(runs, limit):
    """The shares of policies that learned nothing, of the first evaluation that has them."""
    for run in runs:
        evaluation = _evaluation(run.path) or {}
        names = []
        if evaluation and evaluation.get("step_limit") == limit:
            names = [name for name in ("scripted", "random") if name in evaluation]
        elif limit is None and "random_without_limit" in evaluation:
            names = ["random_without_limit"]
        if names:
            return {
                POLICIES[name]: evaluation[name]["fraction_solved"]["all"]["mean"] for name in names
            }
    return {}


def _of_run(run, target):
    evaluation, curve, found = _evaluation(run.path), _curve(run.path), last_model(run.path)
    files = []
    if evaluation is not None:
        words = _words(run, evaluation.get("frames"))
        files.append(draw_evaluation(evaluation, target / "evaluation.png", words))
    if curve is not None:
        path = target / "evaluation_by_type.png"
        files.append(draw_evaluations_by_type(curve, path, _words(run, None)))
    if found is not None:
        path, frames = found
        words = _words(run, frames) + _share_solved(run, frames)
        files += figures_of_model(_load(path), task_of(run.path), target, run.seed, words)
    return files


def _load(path):
    import keras

    # Registers the models and layers, without which nothing can be loaded.
    import tf_relational.models  # noqa: F401

    return keras.models.load_model(path, compile=False)


def _words(run, frames):
    trained = f", after {frames:,} frames" if frames else ", untrained" if frames == 0 else ""
    return f"{run.agent.capitalize()} agent, seed {run.seed}{trained}."


def _evaluation(folder):
    path = folder / "evaluation.json"
    return json.loads(path.read_text()) if path.exists() else None


def _curve(folder):
    path = folder / "evaluation_curve.json"
    return json.loads(path.read_text()) if path.exists() else None


def _frames(path, *within):
    """The frames that a JSON file tells; `None` if it is missing or tells none."""
    try:
        told = json.loads(path.read_text())
        for name in within:
            told = told[name]
        return int(told["frames"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _share_solved(run, frames):
    share = run.series.get(SOLVED)
    if share is None or frames is None:
        return ""
    known = np.flatnonzero(np.isfinite(share) & (run.frames <= frames))
    if not len(known):
        return ""
    return f" Solved in training then: {share[known[-1]]:.1%} {within(run.step_limit)}."


def _find_episode(model, config, seed, step_limit) -> tuple[Episode, str]:
    rng = np.random.default_rng(seed)
    levels = generate(config, TRIES, rng)
    episodes = record_all(agent_policy(model, rng), levels, step_limit)
    solved = [number for number, e in enumerate(episodes) if e.outcome == "solved"]
    if not solved:
        return episodes[-1], f"It solved none of {TRIES} fresh levels {within(step_limit)}."
    first = "the first" if len(solved) > 1 else "the one"
    count = f"{len(solved)} of {TRIES} fresh levels solved {within(step_limit)}"
    return episodes[solved[0]], f"Shown is {first} of {count}."


def _has_something(run):
    """Whether a run holds a line of metrics, an evaluation or a model."""
    others = (_evaluation(run.path), _curve(run.path), last_model(run.path))
    return len(run.frames) > 0 or any(found is not None for found in others)


def _write(path, text):
    path.write_text(text, encoding="utf-8")
    return path
