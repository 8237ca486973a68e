"""Runs of the compiled engine as a person makes them: two seeds at once, stopped and resumed."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tf_relational import experiments
from tf_relational.experiments.command_line import main
from tf_relational.experiments.compiled_training import CompiledTraining
from tf_relational.experiments.config_json import config_from_json, config_to_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.run_directory import RunDirectory

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 600


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), "--exp", "bridge_boxworld", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def lines_of(folder):
    path = folder / "metrics.jsonl"
    return [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []


def checkpoint_of(folder):
    found = sorted(folder.glob("checkpoints/[0-9]*/manifest.json"))
    return json.loads(found[-1].read_text())["extra"]["frames"] if found else 0


def wait_until(process, condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < end, "the run did not get there in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Two seeds in one program through SIGTERM, kill -9 and their end."""
    root = tmp_path_factory.mktemp("runs")
    seen = {}
    process = start(
        "--preset", "smoke", "--engine", "compiled", "--agent", "relational", "--seeds", 3, 5,
        "--total-frames", 3_200, "--report-interval", 0.01, "--checkpoint-interval", 0.2,
        "--evaluation-interval", 1_600, "--evaluation-episodes", 1, "--out", root,
    )  # fmt: skip
    try:
        wait_until(process, lambda: len(list(root.glob("*/*/*/metrics.jsonl"))) == 2)
        folders = sorted(path.parent for path in root.glob("*/*/*/metrics.jsonl"))
        wait_until(process, lambda: len(lines_of(folders[0])) > 2)
        process.send_signal(signal.SIGTERM)
        seen["output"], _ = process.communicate(timeout=TIMEOUT)
        seen["code"] = process.returncode
        seen["stopped"] = [(checkpoint_of(folder), lines_of(folder)) for folder in folders]
        process = start("--resume", folders[0].parent)
        known = checkpoint_of(folders[1])
        wait_until(process, lambda: checkpoint_of(folders[1]) > known)
        process.kill()
        process.communicate(timeout=TIMEOUT)
        seen["killed"] = [lines_of(folder) for folder in folders]
        process = start("--resume", folders[0].parent)
        seen["end"], _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, seen["end"]
    finally:
        if process.poll() is None:
            process.kill()
    return folders, seen


def test_a_stopped_run_leaves_checkpoints_and_says_how_to_go_on(story):
    folders, seen = story
    assert seen["code"] == 143, seen["output"]
    assert f"--resume {folders[0].parent}" in seen["output"]
    assert "Traceback" not in seen["output"]
    for frames, lines in seen["stopped"]:
        assert frames == lines[-1]["frames"] < 3_200


def test_a_killed_run_goes_on_from_its_newest_common_checkpoint(story):
    folders, seen = story
    assert "resuming at" in seen["end"]
    for folder, (_, stopped) in zip(folders, seen["stopped"], strict=True):
        lines = lines_of(folder)
        assert lines[: len(stopped)] == stopped
        for key in ("frames", "iteration", "wall_time", "trained_frames", "updates"):
            values = [line[key] for line in lines]
            assert all(a < b for a, b in zip(values, values[1:], strict=False)), key
        assert lines[-1]["frames"] == 3_200


def test_metrics_are_those_of_the_other_engine(story):
    folders, _ = story
    lines = [line for folder in folders for line in lines_of(folder)]
    every = set().union(*lines)
    expected = {
        "frames", "iteration", "wall_time", "step_limit", "trained_frames", "dropped_frames",
        "frames_per_second", "trained_frames_per_second", "episodes", "entropy", "policy_loss",
        "value_loss", "explained_variance", "gradient_norm", "importance_weight",
        "importance_weight_max", "policy_lag", "learning_rate", "updates",
        "curriculum/difficulty", "curriculum/probability", "evaluation/fraction_solved",
        "levels/begun", "levels/window", "levels/reused",
    }  # fmt: skip
    assert expected <= every
    assert all(line["levels/reused"] == 0 for line in lines)
    first, second = (lines_of(folder)[-1]["entropy"] for folder in folders)
    assert first != second


def test_finished_run_directories_are_complete(story):
    folders, _ = story
    assert [folder.name for folder in folders] == ["seed_3", "seed_5"]
    for seed, folder in zip((3, 5), folders, strict=True):
        result = json.loads((folder / "result.json").read_text())
        assert (result["engine"], result["backend"]) == ("compiled", "tensorflow")
        assert (result["seed"], result["frames"], len(result["commands"])) == (seed, 3_200, 3)
        assert result["devices"]
        assert set(result["evaluation"]["sampled"]["fraction_solved"]) >= {"all", "(1, 1, 2)"}
        assert (folder / "checkpoints" / "best.keras").exists()
        assert len(list(folder.glob("checkpoints/agents/*.keras"))) == 2
        assert len(list(folder.glob("checkpoints/[0-9]*/agent.keras"))) <= 3
        assert list(folder.glob("figures/*.png"))
        assert (folder / "export" / "1" / "saved_model.pb").exists()
    assert list((folders[0].parent / "figures").glob("*.png"))


def test_a_finished_run_is_evaluated_like_any_other(story, capsys):
    folders, _ = story
    assert main(
        ["--exp", "bridge_boxworld", "--mode", "evaluate", "--run", str(folders[0]),
         "--evaluation-episodes", "2"]
    ) == 0  # fmt: skip
    assert "within 10 steps" in capsys.readouterr().out


def test_runs_of_earlier_versions_are_read():
    experiment = experiments.get("bridge_boxworld")
    values = config_to_json(experiment.preset("laptop"))
    for name in experiment.config.ADDED:
        del values[name]
    assert config_from_json(experiment.config, values, "there") == experiment.preset("laptop")


def test_runs_with_other_settings_are_not_trained_together(tmp_path):
    experiment = experiments.get("bridge_boxworld")
    config = dataclasses.replace(experiment.preset("smoke"), engine="compiled")
    directories = []
    for seed, gamma in ((0, 0.9), (1, 0.8)):
        folder = tmp_path / f"seed_{seed}"
        folder.mkdir()
        values = config_to_json(dataclasses.replace(config, seed=seed, gamma=gamma))
        directories.append(RunDirectory.create_at(folder, "bridge_boxworld", "smoke", values))
    with pytest.raises(UserError, match="differ in their seed alone; the settings of .*seed_1"):
        CompiledTraining(experiment, directories)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"engine": "compiled", "devices": 3}, "multiple of num_minibatches x devices = 1 x 3"),
        ({"devices": 2}, "devices must be 1 with engine rllib, got 2"),
        ({"updates_per_call": 0}, "updates_per_call must be a whole number from 1 on or None"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(changes, words):
    with pytest.raises(UserError, match=words):
        dataclasses.replace(experiments.get("bridge_boxworld").preset("smoke"), **changes)
