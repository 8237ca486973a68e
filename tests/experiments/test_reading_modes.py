"""`--mode figures` and `--mode evaluate` on run directories made by hand."""

import dataclasses
import json

import pytest

from tf_relational import experiments
from tf_relational.experiments import evaluate
from tf_relational.experiments.command_line import main
from tf_relational.experiments.config_json import config_to_json
from tf_relational.experiments.evaluation import uniform_policy
from tf_relational.experiments.run_directory import RunDirectory


def make_run(root, preset, seed=0, lines=3, without=(), **fields):
    config = dataclasses.replace(
        experiments.get("bridge_boxworld").preset(preset), seed=seed, **fields
    )
    values = {k: v for k, v in config_to_json(config).items() if k not in without}
    directory = RunDirectory.create(root, "bridge_boxworld", preset, values)
    with (directory.path / "metrics.jsonl").open("w") as file:
        for step in range(1, 1 + lines):
            line = {"frames": 100 * step, "wall_time": step, "step_limit": config.horizon,
                    "fraction_solved": 0.1 * step}  # fmt: skip
            file.write(json.dumps(line) + "\n")
    return directory


def call(mode, *arguments):
    return main(["--exp", "bridge_boxworld", "--mode", mode, *map(str, arguments)])


def pictures(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))


def test_a_folder_of_unlike_runs_is_drawn_in_groups(tmp_path, capsys):
    for seed in (0, 1):
        # A run of an earlier version did what today's defaults say.
        make_run(tmp_path, "laptop", seed, without=("engine", "devices") if seed else ())
    make_run(tmp_path, "laptop", 1, report_interval=60.0)
    make_run(tmp_path, "smoke")
    aborted = make_run(tmp_path, "smoke", 1, lines=0)
    folder = tmp_path / "bridge_boxworld"
    assert call("figures", "--run", folder) == 0
    told = capsys.readouterr().out
    assert f"left out {aborted.path}: neither metrics nor a model there" in told
    assert pictures(folder / "figures") == [
        "laptop/training_curve.png",
        "laptop/training_curve_simplicial.png",
        "smoke/training_curve.png",
    ]


def test_a_run_without_metrics_is_refused_in_words(tmp_path, capsys):
    directory = make_run(tmp_path, "smoke", lines=0)
    assert call("figures", "--run", directory.path) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: nothing to draw: received") and str(directory.path) in told


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    """A run of two kept models, which act at random."""
    directory = make_run(tmp_path, "smoke")
    directory.agents_path.mkdir()
    for frames in (100, 200):
        (directory.agents_path / f"{frames}.keras").touch()
    monkeypatch.setattr(evaluate, "load_agent", lambda path: None)
    monkeypatch.setattr(evaluate, "_agent", lambda *_, **__: uniform_policy(0))
    return directory.path


def test_the_curve_outlives_another_evaluation(evaluated, capsys):
    assert call("evaluate", "--run", evaluated, "--checkpoint", "all") == 0
    curve = (evaluated / "evaluation_curve.json").read_bytes()
    assert [point["frames"] for point in json.loads(curve)["curve"]] == [100, 200]
    first = json.loads((evaluated / "evaluation.json").read_text())
    assert call("evaluate", "--run", evaluated, "--evaluation-step-limit", 5) == 0
    assert (evaluated / "evaluation_curve.json").read_bytes() == curve
    second = json.loads((evaluated / "evaluation.json").read_text())
    assert (first["step_limit"], second["step_limit"]) == (10, 5)
    told = " ".join(capsys.readouterr().out.split())
    assert 'fraction solved within 5 steps (but for "uniform random, no step limit")' in told
    assert "length 1" not in told and told.count("no bridge") == 2
