"""All figures that run directories allow, in one call."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

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
from tf_relational.analysis.runs import EVALUATED, Run, group_by_agent, read_run, time_scales
from tf_relational.envs import BRIDGE, STANDARD, BoxWorldConfig, generate
from tf_relational.envs.step_limit import within

TRIES = 10
"""Fresh levels played in search of an episode that the agent solves."""

STEP_LIMIT = 120
"""Most steps of the episode shown; the horizon of the original Box-World."""


def make_figures(
    run_dirs: Sequence[str | Path],
    out_dir: str | Path,
    references: Mapping[str, float] | None = None,
) -> list[Path]:
    """Draws what the runs allow.

    Curves over all runs: `training_curve.png` (Figure 3), `training_curve_<agent>.png` for an
    agent with several seeds (Figures 4, 5), `training_curve_time_adjusted.png` with two agents
    (Figure 12), `evaluation_curve.png` of the evaluations during training, which may have another
    step limit, `fraction_by_type.png` (Figures 10, 11). For each run, in a folder
    `<agent>_seed<n>`: `evaluation.png` if it was evaluated, `evaluation_by_type.png` if every kept
    model was, and what `figures_of_model` draws if it has a saved model.

    Args:
        run_dirs: Run directories, of any agents and seeds.
        out_dir: Folder to write into; made if missing.
        references: Name -> share solved by another policy, dashed in the mean curves. If left
            out, the yardsticks of the first evaluation that has the curve's step limit; without a
            limit, the uniform random policy's share without one.

    Returns:
        The files written.

    Raises:
        ValueError: No run holds metrics or a model.
    """
    out_dir = Path(out_dir)
    folders = [Path(run_dir) for run_dir in run_dirs]
    runs = [read_run(folder) for folder in folders if _has_metrics(folder)]
    files = _curves(runs, out_dir, references) if runs else []
    for folder in folders:
        files += _of_run(folder, out_dir)
    if not files:
        received = ", ".join(map(str, folders)) or "no run"
        raise ValueError(f"received {received}: neither metrics nor a model there")
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
        frames = json.loads(told.read_text())["frames"] if told.exists() else None
        return best, frames
    kept = [(int(path.stem), path) for path in checkpoints.glob("agents/*.keras")]
    for path in checkpoints.glob("*/agent.keras"):
        manifest = path.parent / "manifest.json"
        if manifest.exists():
            kept.append((json.loads(manifest.read_text())["extra"]["frames"], path))
    if not kept:
        return None
    frames, path = max(kept)
    return path, frames


def task_of(folder: Path) -> BoxWorldConfig:
    """The Box-World task of a run, from its `config.json`."""
    saved, fields = json.loads((folder / "config.json").read_text()), _fields(folder)
    base = BRIDGE if "bridge" in str(saved.get("experiment", "bridge")) else STANDARD
    known = {field.name for field in dataclasses.fields(BoxWorldConfig)}
    values = {name: value for name, value in fields.items() if name in known}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return dataclasses.replace(base, **values)


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
    if any(run.type_series(evaluated) for run in runs for evaluated in (True, False)):
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


def _of_run(folder, out_dir):
    evaluation, found = _evaluation(folder), last_model(folder)
    if evaluation is None and found is None:
        return []
    fields = _fields(folder)
    agent, seed = fields.get("agent", "agent"), int(fields.get("seed", 0))
    target = out_dir / f"{agent}_seed{seed}"
    files = []
    if evaluation is not None:
        words = _words(agent, seed, evaluation.get("frames"))
        files.append(draw_evaluation(evaluation, target / "evaluation.png", words))
        if evaluation.get("curve"):
            path = target / "evaluation_by_type.png"
            files.append(draw_evaluations_by_type(evaluation, path, _words(agent, seed, None)))
    if found is not None:
        path, frames = found
        words = _words(agent, seed, frames) + _share_solved(folder, frames)
        files += figures_of_model(_load(path), task_of(folder), target, seed, words)
    return files


def _load(path):
    import keras

    # Registers the models and layers, without which nothing can be loaded.
    import tf_relational.models  # noqa: F401

    return keras.models.load_model(path, compile=False)


def _words(agent, seed, frames):
    trained = f", after {frames:,} frames" if frames else ", untrained" if frames == 0 else ""
    return f"{agent.capitalize()} agent, seed {seed}{trained}."


def _evaluation(folder):
    path = folder / "evaluation.json"
    return json.loads(path.read_text()) if path.exists() else None


def _fields(folder):
    saved = json.loads((folder / "config.json").read_text())
    return saved.get("config", saved)


def _share_solved(folder, frames):
    if frames is None or not _has_metrics(folder):
        return ""
    run = read_run(folder)
    share = run.series.get("fraction_solved")
    if share is None:
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


def _has_metrics(folder):
    return (folder / "metrics.jsonl").exists() and (folder / "config.json").exists()


def _write(path, text):
    path.write_text(text, encoding="utf-8")
    return path
