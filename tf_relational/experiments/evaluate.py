"""`--mode evaluate`: fraction solved of a trained agent, beside policies that learned nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tf_relational.experiments import evaluation
from tf_relational.experiments.box_world_config import EVALUATION_FIELDS
from tf_relational.experiments.command_line import Request
from tf_relational.experiments.config_json import config_from_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.finding_runs import chosen_runs
from tf_relational.experiments.progress import duration, share
from tf_relational.experiments.registry import Experiment
from tf_relational.experiments.run_directory import RunDirectory, write_json

CURVE = "evaluation_curve.json"


def main(experiment: Experiment, request: Request) -> int:
    """Evaluates the runs that the request names and writes `evaluation.json` into each.

    With `--checkpoint all` it writes `evaluation_curve.json` too, which a later evaluation of one
    model leaves as it is.
    """
    not_allowed = sorted(set(request.overrides) - set(EVALUATION_FIELDS))
    if not_allowed:
        raise UserError(
            f"an evaluation reads the run's own settings; {', '.join(not_allowed)} cannot be "
            f"changed, {', '.join(EVALUATION_FIELDS)} can"
        )
    for directory in chosen_runs(request.runs, request.root, experiment.name):
        values = directory.config | request.overrides
        config = config_from_json(experiment.config, values, str(directory.path))
        print(f"evaluating {directory.path}")
        every = request.checkpoint == "all"
        result = evaluate_run(directory, config, "best" if every else request.checkpoint)
        write_json(directory.path / "evaluation.json", result)
        print_table(result)
        print(f"written to {directory.path / 'evaluation.json'}")
        if every:
            write_json(directory.path / CURVE, evaluate_kept(directory, config))
            print(f"every kept model: {directory.path / CURVE}")
    return 0


def evaluate_run(directory: RunDirectory, config: Any, which: str = "best") -> dict[str, Any]:
    """Evaluates one model of a run, sampled and greedy, and the yardsticks on the same levels.

    Args:
        directory: the run.
        config: its configuration; the `evaluation_` fields say how many episodes and which limit.
        which: "best", "last" or a number of frames.

    Returns:
        A JSON object: settings, and for each policy of `analysis.evaluation_figure.POLICIES`
        `"fraction_solved"`, as `Episodes.shares` has it, and `"episode_len_mean"`.
    """
    started = time.monotonic()
    path = directory.agent_path(which)
    levels, natural = _levels(config)
    model = load_agent(path)
    limit = config.evaluation_step_limit
    greedy_limit = limit or evaluation.most_deterministic_steps(config.level_config())
    result = {
        "checkpoint": str(path.relative_to(directory.path)),
        "frames": directory.frames_of(path),
        "step_limit": limit,
        "seed": config.evaluation_seed,
        "sampled": _play(config, levels, natural, _agent(model, config, greedy=False), limit),
        "greedy": _play(config, levels, natural, _agent(model, config, greedy=True), greedy_limit),
        **_yardsticks(config, levels, natural),
    }
    result["seconds"] = round(time.monotonic() - started, 1)
    return result


def evaluate_kept(directory: RunDirectory, config: Any) -> dict[str, Any]:
    """Evaluates the sampled policy of every kept model of a run (Figures 10, 11).

    Returns:
        A JSON object: `"step_limit"`, `"seed"`, and `"curve"`, a list of `{"frames", "sampled"}`
        with entries as those of `evaluate_run`.
    """
    levels, natural = _levels(config)
    limit = config.evaluation_step_limit
    curve = []
    for frames, path in directory.agents().items():
        policy = _agent(load_agent(path), config, greedy=False)
        entry = _play(config, levels, natural, policy, limit)
        curve.append({"frames": frames, "sampled": entry})
    return {"step_limit": limit, "seed": config.evaluation_seed, "curve": curve}


def evaluate_model(model: Any, config: Any) -> dict[str, Any]:
    """Evaluates the sampled policy of a model during training: an entry like `"sampled"` above.

    It is on levels apart from `evaluate_run`'s, since the best model is chosen by it.
    """
    levels, natural = _levels(config, selection=True)
    policy = _agent(model, config, greedy=False, selection=True)
    return _play(config, levels, natural, policy, config.evaluation_step_limit)


def load_agent(path: Path) -> Any:
    """Loads a `.keras` agent; `UserError` when the file is not one."""
    import keras

    from tf_relational import models  # noqa: F401  registers the layers that the file names

    try:
        return keras.models.load_model(path, compile=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} cannot be loaded as an agent: {error}") from error


def print_table(result: dict[str, Any]) -> None:
    """Prints an evaluation: a row for each policy, a column for each kind of puzzle."""
    from rich.console import Console
    from rich.table import Table

    from tf_relational.analysis.evaluation_figure import POLICIES, kind_name, solved_words

    table = Table(
        title=f"{solved_words(result)}, 95 % intervals "
        f"({result['checkpoint']}, {result['frames']:,} frames, {duration(result['seconds'])})"
    )
    table.add_column("puzzles")
    table.add_column("episodes", justify="right")
    policies = [name for name in POLICIES if name in result]
    for name in policies:
        table.add_column(POLICIES[name].replace(", ", ",\n"), justify="right")
    for kind in result["sampled"]["fraction_solved"]:
        cells = [result[name]["fraction_solved"][kind] for name in policies]
        table.add_row(
            kind_name(kind),
            str(cells[0]["episodes"]),
            *(f"{share(c['mean'])}\n[{share(c['low'])}, {share(c['high'])}]" for c in cells),
        )
    Console(width=max(105, Console().width)).print(table)


def _yardsticks(config: Any, levels: Any, natural: int) -> dict[str, Any]:
    from tf_relational.analysis.scripted_player import ScriptedPlayer

    limit = config.evaluation_step_limit
    random = evaluation.uniform_policy(config.evaluation_seed)
    found = {
        "scripted": _play(config, levels, natural, ScriptedPlayer(), limit),
        "random": _play(config, levels, natural, random, limit),
    }
    if limit is not None:
        found["random_without_limit"] = _play(config, levels, natural, random, None)
    return found


def _levels(config: Any, selection: bool = False) -> tuple[Any, int]:
    return evaluation.fresh_levels(
        config.level_config(), config.evaluation_episodes, config.evaluation_seed, selection
    )


def _agent(model: Any, config: Any, greedy: bool, selection: bool = False) -> evaluation.Policy:
    return evaluation.model_policy(model, greedy, config.evaluation_seed, selection)


def _play(config: Any, levels: Any, natural: int, policy: Any, limit: int | None) -> dict[str, Any]:
    episodes = evaluation.play(config.level_config(), levels, natural, policy, limit)
    return {
        "fraction_solved": episodes.shares(),
        "episode_len_mean": float(episodes.length[:natural].mean()),
    }
