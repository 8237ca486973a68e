"""Runs of the compiled engine as a person makes them: stopped, killed, resumed, finished."""

import dataclasses
import json
import signal
import threading

import pytest

from tests.experiments.processes import TIMEOUT, lines_of, start, wait_until
from tf_relational import experiments
from tf_relational.experiments.command_line import main
from tf_relational.experiments.compiled_training import CompiledTraining
from tf_relational.experiments.config_json import config_from_json, config_to_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.run_directory import RunDirectory
from tf_relational.experiments.training import Training


def checkpoint_of(folder):
    found = sorted(folder.glob("checkpoints/[0-9]*/manifest.json"))
    return json.loads(found[-1].read_text())["extra"]["frames"] if found else 0


SMOKE = (
    "--preset", "smoke", "--engine", "compiled", "--agent", "relational", "--report-interval",
    0.01, "--checkpoint-interval", 0.2, "--evaluation-interval", 1_600, "--evaluation-episodes", 1,
)  # fmt: skip


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """One run through SIGTERM, kill -9 and its end; what was seen on the way."""
    root = tmp_path_factory.mktemp("runs")
    seen = {}
    process = start(*SMOKE, "--seed", 3, "--total-frames", 3_200, "--out", root)
    try:
        wait_until(process, lambda: list(root.glob("*/*/metrics.jsonl")))
        (folder,) = (path.parent for path in root.glob("*/*/metrics.jsonl"))
        wait_until(process, lambda: len(lines_of(folder)) > 2)
        process.send_signal(signal.SIGTERM)
        seen["output"], _ = process.communicate(timeout=TIMEOUT)
        seen["code"] = process.returncode
        seen["checkpoint"], seen["lines"] = checkpoint_of(folder), lines_of(folder)
        process = start("--resume", folder)
        wait_until(process, lambda: checkpoint_of(folder) > seen["checkpoint"])
        process.kill()
        process.communicate(timeout=TIMEOUT)
        seen["killed"] = checkpoint_of(folder)
        process = start("--resume", folder)
        seen["end"], _ = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, seen["end"]
    finally:
        if process.poll() is None:
            process.kill()
    return folder, seen


def test_a_stopped_run_leaves_a_checkpoint_and_says_how_to_go_on(story):
    folder, seen = story
    assert seen["code"] == 143, seen["output"]
    assert f"--resume {folder}" in seen["output"]
    assert "Traceback" not in seen["output"]
    assert seen["checkpoint"] == seen["lines"][-1]["frames"] < 3_200


def test_a_killed_run_goes_on_from_its_newest_checkpoint(story):
    folder, seen = story
    assert f"resuming at {seen['killed']:,} frames" in seen["end"]
    lines = lines_of(folder)
    assert lines[: len(seen["lines"])] == seen["lines"]
    for key in ("frames", "iteration", "wall_time", "trained_frames", "updates"):
        values = [line[key] for line in lines]
        assert all(a < b for a, b in zip(values, values[1:], strict=False)), key
    assert lines[-1]["frames"] == 3_200


def test_metrics_are_those_of_the_other_engine(story):
    folder, _ = story
    lines = lines_of(folder)
    expected = {
        "frames", "iteration", "wall_time", "step_limit", "trained_frames", "dropped_frames",
        "frames_per_second", "trained_frames_per_second", "episodes", "entropy", "policy_loss",
        "value_loss", "explained_variance", "gradient_norm", "importance_weight",
        "importance_weight_max", "policy_lag", "learning_rate", "updates",
        "curriculum/difficulty", "curriculum/probability", "evaluation/fraction_solved",
        "levels/begun", "levels/window", "levels/reused",
    }  # fmt: skip
    assert expected <= set().union(*lines)
    assert all(line["levels/reused"] == 0 for line in lines)


def test_a_finished_run_directory_is_complete(story):
    folder, _ = story
    result = json.loads((folder / "result.json").read_text())
    assert (result["engine"], result["backend"]) == ("compiled", "tensorflow")
    assert (result["seed"], result["frames"], len(result["commands"])) == (3, 3_200, 3)
    assert result["devices"]
    assert set(result["evaluation"]["sampled"]["fraction_solved"]) >= {"all", "(1, 1, 2)"}
    assert (folder / "checkpoints" / "best.keras").exists()
    assert len(list(folder.glob("checkpoints/agents/*.keras"))) == 2
    assert len(list(folder.glob("checkpoints/[0-9]*/agent.keras"))) <= 3
    assert list(folder.glob("figures/*.png"))
    assert (folder / "export" / "1" / "saved_model.pb").exists()


def test_a_finished_run_is_evaluated_like_any_other(story, capsys):
    folder, _ = story
    arguments = ["--mode", "evaluate", "--run", str(folder), "--evaluation-episodes", "2"]
    assert main(["--exp", "bridge_boxworld", *arguments]) == 0
    assert "within 10 steps" in capsys.readouterr().out


def test_two_seeds_train_stop_and_go_on_together(tmp_path, capsys):
    def call(*arguments, lines):
        """Calls run.py's main, with a SIGTERM when both runs have so many lines of metrics."""

        returned = threading.Event()

        def watch():
            while not returned.wait(0.05):
                counts = [len(lines_of(path)) for path in tmp_path.glob("*/*/seed_*")]
                if len(counts) == 2 and min(counts) >= lines:
                    signal.raise_signal(signal.SIGTERM)
                    return

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            return main(["--exp", "bridge_boxworld", *map(str, arguments)])
        finally:
            returned.set()
            watcher.join()

    frames = ("--total-frames", 100_000)
    assert call(*SMOKE, *frames, "--seeds", 3, 5, "--out", tmp_path, lines=3) == 143
    folders = sorted(tmp_path.glob("*/*/seed_*"))
    assert [folder.name for folder in folders] == ["seed_3", "seed_5"]
    before = [lines_of(folder) for folder in folders]
    assert call("--resume", folders[0].parent, lines=len(before[0]) + 2) == 143
    assert f"resuming at {before[0][-1]['frames']:,} frames" in capsys.readouterr().out
    after = [lines_of(folder) for folder in folders]
    for old, new, folder in zip(before, after, folders, strict=True):
        assert new[: len(old)] == old and len(new) > len(old)
        assert checkpoint_of(folder) == new[-1]["frames"]
    assert [line["frames"] for line in after[0]] == [line["frames"] for line in after[1]]
    assert after[0][-1]["entropy"] != after[1][-1]["entropy"]


def test_runs_of_earlier_versions_are_read():
    experiment = experiments.get("bridge_boxworld")
    values = config_to_json(experiment.preset("laptop"))
    for name in experiment.config.ADDED:
        del values[name]
    assert config_from_json(experiment.config, values, "there") == experiment.preset("laptop")


def test_runs_with_other_settings_are_not_trained_together(tmp_path):
    experiment = experiments.get("bridge_boxworld")
    config = dataclasses.replace(experiment.preset("smoke"), engine="compiled")
    runs = []
    for seed, gamma in ((0, 0.9), (1, 0.8)):
        folder = tmp_path / f"seed_{seed}"
        folder.mkdir()
        values = config_to_json(dataclasses.replace(config, seed=seed, gamma=gamma))
        directory = RunDirectory.create_at(folder, "bridge_boxworld", "smoke", values)
        runs.append(Training(experiment, directory))
    with pytest.raises(UserError, match="differ in their seed alone; the settings of .*seed_1"):
        CompiledTraining(runs)


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
