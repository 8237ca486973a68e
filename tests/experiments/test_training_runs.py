"""A run as a person makes it: started, stopped, killed, resumed, finished and read again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 300


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), "--exp", "bridge_boxworld", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def lines_of(folder):
    path = folder / "metrics.jsonl"
    return [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []


def frames_of(checkpoint):
    return json.loads((checkpoint / "manifest.json").read_text())["extra"]["frames"]


def checkpoints_of(folder):
    found = [path.parent for path in folder.glob("checkpoints/*/manifest.json")]
    return sorted(found, key=frames_of)


def wait_until(process, condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < end, "the run did not get there in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """One run through Ctrl-C, SIGTERM, kill -9 and its end; what was seen on the way."""
    root = tmp_path_factory.mktemp("runs")
    seen = {}
    process = start(
        "--preset", "smoke", "--agent", "relational", "--seed", 3, "--out", root,
        "--total-frames", 4_000, "--report-interval", 0.01, "--checkpoint-interval", 0.5,
        "--evaluation-interval", 2_000,
    )  # fmt: skip
    try:
        wait_until(process, lambda: any(root.glob("*/*/config.json")))
        (folder,) = (path.parent for path in root.glob("*/*/config.json"))
        # A terminal sends Ctrl-C to the whole process group, Ray's processes with it.
        for name, send, number in (
            ("ctrl-c", os.killpg, signal.SIGINT),
            ("sigterm", os.kill, signal.SIGTERM),
        ):
            before = len(lines_of(folder))
            wait_until(process, lambda before=before: len(lines_of(folder)) > before + 2)
            send(process.pid, number)
            output, _ = process.communicate(timeout=TIMEOUT)
            seen[name] = {
                "code": process.returncode,
                "output": output,
                "lines": lines_of(folder),
                "checkpoint": frames_of(checkpoints_of(folder)[-1]),
            }
            process = start("--resume", folder)
        known = seen["sigterm"]["checkpoint"]
        wait_until(process, lambda: frames_of(checkpoints_of(folder)[-1]) > known)
        newest = lines_of(folder)[-1]["frames"]
        wait_until(process, lambda: lines_of(folder)[-1]["frames"] > newest)
        process.kill()
        process.communicate(timeout=TIMEOUT)
        seen["kill"] = {
            "lines": lines_of(folder),
            "checkpoint": frames_of(checkpoints_of(folder)[-1]),
        }
        process = start("--resume", folder)
        seen["end"] = {"output": process.communicate(timeout=TIMEOUT)[0]}
        seen["end"]["code"] = process.returncode
    finally:
        if process.poll() is None:
            process.kill()
    return folder, seen


@pytest.mark.parametrize(("name", "code"), [("ctrl-c", 130), ("sigterm", 143)])
def test_a_stopped_run_leaves_a_checkpoint_and_says_how_to_go_on(story, name, code):
    folder, seen = story
    assert seen[name]["code"] == code, seen[name]["output"]
    assert f"--resume {folder}" in seen[name]["output"]
    assert "Traceback" not in seen[name]["output"]
    assert seen[name]["checkpoint"] == seen[name]["lines"][-1]["frames"]


def test_resumed_runs_go_on_where_the_checkpoint_was(story):
    _, seen = story
    assert seen["end"]["code"] == 0, seen["end"]["output"]
    assert f"resuming at {seen['kill']['checkpoint']:,} frames" in seen["end"]["output"]


def test_metrics_have_every_frame_once_and_time_that_adds_up(story):
    folder, seen = story
    lines = lines_of(folder)
    for key in ("frames", "iteration", "wall_time", "trained_frames"):
        values = [line[key] for line in lines]
        assert all(a < b for a, b in zip(values, values[1:], strict=False)), key
    assert lines[-1]["frames"] >= 4_000
    for name in ("ctrl-c", "sigterm"):
        kept = len(seen[name]["lines"])
        assert lines[:kept] == seen[name]["lines"]


def test_a_finished_run_directory_is_complete(story):
    folder, _ = story
    config = json.loads((folder / "config.json").read_text())
    assert config["experiment"] == "bridge_boxworld"
    assert (config["config"]["agent"], config["config"]["seed"]) == ("relational", 3)
    result = json.loads((folder / "result.json").read_text())
    assert (result["agent"], result["seed"]) == ("relational", 3)
    assert result["frames"] == lines_of(folder)[-1]["frames"]
    assert result["wall_time"] == pytest.approx(lines_of(folder)[-1]["wall_time"], rel=0.5)
    assert len(result["commands"]) == 4
    assert "--resume" in result["commands"][-1]
    assert {"tensorflow", "keras", "ray", "python"} <= set(result["versions"])
    assert result["hardware"]["cores"] >= 1
    limit = result["evaluation"]["step_limit"]
    assert limit == config["config"]["evaluation_step_limit"]
    for policy in ("sampled", "greedy", "scripted", "random", "random_without_limit"):
        shares = result["evaluation"][policy]["fraction_solved"]
        assert set(shares) == {"all", "None", "(1, 1, 2)", "length 1"}
        for share in shares.values():
            assert 0 <= share["low"] <= share["mean"] <= share["high"] <= 1
    assert list(folder.glob("events.out.tfevents.*"))
    assert 1 <= len(checkpoints_of(folder)) <= config["config"]["keep_checkpoints"]
    assert all((path / "agent.keras").exists() for path in checkpoints_of(folder))
    assert len(list(folder.glob("checkpoints/agents/*.keras"))) >= 2
    assert (folder / "checkpoints" / "best.keras").exists()
    assert list(folder.glob("figures/*.png"))
    assert (folder / "export" / "saved_model.pb").exists()


def test_a_finished_run_is_evaluated_at_all_its_checkpoints(story):
    folder, _ = story
    process = start("--mode", "evaluate", "--run", folder, "--checkpoint", "all",
                    "--evaluation-episodes", 5)  # fmt: skip
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0, output
    assert "uniform random" in output and "within 10 steps" in output
    result = json.loads((folder / "evaluation.json").read_text())
    assert result["sampled"]["fraction_solved"]["(1, 1, 2)"]["episodes"] >= 5
    frames = [entry["frames"] for entry in result["curve"]]
    assert frames == sorted(set(frames)) and len(frames) >= 2
    assert frames[-1] == lines_of(folder)[-1]["frames"]


def test_the_exported_agent_answers_as_the_checkpoint_does(story):
    import keras
    import tensorflow as tf

    import tf_relational.models  # noqa: F401

    folder, _ = story
    images = np.random.default_rng(0).integers(0, 256, (3, 7, 10, 3), dtype=np.uint8)
    model = keras.models.load_model(folder / "checkpoints" / "best.keras", compile=False)
    signature = tf.saved_model.load(str(folder / "export")).signatures["serving_default"]
    np.testing.assert_allclose(
        signature(obs=tf.constant(images))["logits"], model(images)["logits"], atol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--resume", "{run}"], "is finished"),
        (["--resume", "{run}", "--learning-rate", "0.1"], "a resumed run keeps its settings"),
        (["--mode", "evaluate", "--run", "{run}", "--checkpoint", "7"], "unknown checkpoint '7'"),
        (["--mode", "evaluate", "--run", "{run}", "--gamma", "0.5"], "gamma cannot be changed"),
        (["--mode", "export", "--run", "{run}"], "does not overwrite"),
        (["--mode", "figures", "--run", "{run}", "--seed", "2"], "seed cannot be changed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_finished_run_is_not_changed(story, arguments, words, capsys):
    from tf_relational.experiments.command_line import main

    folder, _ = story
    before = (folder / "result.json").read_bytes(), (folder / "metrics.jsonl").read_bytes()
    arguments = [word.format(run=folder) for word in arguments]
    assert main(["--exp", "bridge_boxworld", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert before == (
        (folder / "result.json").read_bytes(),
        (folder / "metrics.jsonl").read_bytes(),
    )


def test_another_experiment_refuses_the_run(story, capsys):
    from tf_relational.experiments.command_line import main

    folder, _ = story
    for mode in ("train", "evaluate", "figures", "export"):
        assert main(["--exp", "boxworld", "--mode", mode, "--run", str(folder)]) == 2
        assert "is a run of bridge_boxworld, not of boxworld" in capsys.readouterr().err
