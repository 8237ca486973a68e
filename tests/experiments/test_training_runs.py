"""A run as a person makes it: started, stopped, killed, resumed, finished and read again."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.experiments.processes import ROOT, TIMEOUT, lines_of, start, wait_until
from tf_relational import experiments
from tf_relational.experiments.command_line import main
from tf_relational.experiments.config_json import config_to_json
from tf_relational.experiments.run_directory import RunDirectory, write_json
from tf_relational.experiments.stopping import StopRequest
from tf_relational.experiments.training import Training


def call(*arguments, experiment="bridge_boxworld"):
    return main(["--exp", experiment, *map(str, arguments)])


def frames_of(checkpoint):
    return json.loads((checkpoint / "manifest.json").read_text())["extra"]["frames"]


def checkpoints_of(folder):
    found = [path.parent for path in folder.glob("checkpoints/*/manifest.json")]
    return sorted(found, key=frames_of)


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
        assert set(shares) == {"all", "None", "(1, 1, 2)"}
        for share in shares.values():
            assert 0 <= share["low"] <= share["mean"] <= share["high"] <= 1
    assert list(folder.glob("events.out.tfevents.*"))
    assert 1 <= len(checkpoints_of(folder)) <= config["config"]["keep_checkpoints"]
    assert all((path / "agent.keras").exists() for path in checkpoints_of(folder))
    assert len(list(folder.glob("checkpoints/agents/*.keras"))) >= 2
    assert (folder / "checkpoints" / "best.keras").exists()
    assert list(folder.glob("figures/*.png"))
    assert (folder / "export" / "1" / "saved_model.pb").exists()


def test_a_finished_run_is_evaluated_at_all_its_checkpoints(story, capsys):
    folder, _ = story
    assert call("--mode", "evaluate", "--run", folder, "--checkpoint", "all",
                "--evaluation-episodes", 5) == 0  # fmt: skip
    printed = capsys.readouterr().out
    assert "within 10 steps" in printed and "uniform" in printed
    result = json.loads((folder / "evaluation.json").read_text())
    assert result["sampled"]["fraction_solved"]["(1, 1, 2)"]["episodes"] >= 5
    curve = json.loads((folder / "evaluation_curve.json").read_text())
    frames = [entry["frames"] for entry in curve["curve"]]
    assert frames == sorted(set(frames)) and len(frames) >= 2
    assert frames[-1] == lines_of(folder)[-1]["frames"]


def test_the_exported_agent_answers_as_the_checkpoint_does(story):
    import keras
    import tensorflow as tf

    import tf_relational.models  # noqa: F401

    folder, _ = story
    images = np.random.default_rng(0).integers(0, 256, (3, 7, 10, 3), dtype=np.uint8)
    model = keras.models.load_model(folder / "checkpoints" / "best.keras", compile=False)
    signature = tf.saved_model.load(str(folder / "export" / "1")).signatures["serving_default"]
    np.testing.assert_allclose(
        signature(obs=tf.constant(images))["logits"], model(images)["logits"], atol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--resume", "{run}"], "is finished"),
        (["--resume", "{run}", "{run}"], "train continues one run, 2 were given"),
        (["--resume", "{run}", "--learning-rate", "0.1"], "a resumed run keeps its settings"),
        (["--mode", "evaluate", "--run", "{run}", "--checkpoint", "7"], "unknown checkpoint '7'"),
        (["--mode", "evaluate", "--run", "{run}", "--gamma", "0.5"], "gamma cannot be changed"),
        (["--mode", "figures", "--run", "{run}", "--seed", "2"], "seed cannot be changed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_finished_run_is_not_changed(story, arguments, words, capsys):
    folder, _ = story
    before = (folder / "result.json").read_bytes(), (folder / "metrics.jsonl").read_bytes()
    arguments = [word.format(run=folder) for word in arguments]
    assert call(*arguments) == 2
    assert words in capsys.readouterr().err
    assert before == (
        (folder / "result.json").read_bytes(),
        (folder / "metrics.jsonl").read_bytes(),
    )


def test_another_experiment_refuses_the_run(story, capsys):
    folder, _ = story
    for mode in ("train", "evaluate", "figures", "export"):
        assert call("--mode", mode, "--run", folder, experiment="boxworld") == 2
        assert "is a run of bridge_boxworld, not of boxworld" in capsys.readouterr().err


@pytest.fixture(scope="module")
def ray_here():
    import ray

    from tf_relational.experiments.algorithm import start_ray

    started = not ray.is_initialized()
    start_ray()
    yield
    if started:
        ray.shutdown()


def test_a_truncated_checkpoint_is_refused_and_nothing_is_touched(
    story, ray_here, tmp_path, capsys
):
    folder, _ = story
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "result.json").unlink()
    path = checkpoints_of(copy)[-1] / "agent.keras"
    path.write_bytes(path.read_bytes()[:1000])
    before = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    assert call("--resume", copy, "--total-frames", 9_000) == 2
    assert "agent.keras has 1000 bytes" in capsys.readouterr().err
    assert before == {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}


def test_a_run_that_another_process_trains_is_refused_and_not_touched(
    story, ray_here, tmp_path, capsys
):
    folder, _ = story
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "result.json").unlink()
    before = (copy / "config.json").read_bytes()
    other = RunDirectory(copy)
    other.lock()
    assert call("--resume", copy, "--total-frames", 9_000) == 2
    assert "another process is training" in capsys.readouterr().err
    assert (copy / "config.json").read_bytes() == before


def test_the_best_model_outlives_a_kill_between_evaluation_and_checkpoint(tmp_path):
    experiment = experiments.get("bridge_boxworld")
    values = config_to_json(experiment.preset("smoke"))
    directory = RunDirectory.create(tmp_path, "bridge_boxworld", "smoke", values)
    write_json(directory.checkpoint_path / "best.json", {"frames": 640, "fraction_solved": 0.88})
    training = Training(experiment, directory)
    training.set_state({**training.get_state(), "frames": 320, "best": 0.4})
    training.begin()
    assert training.best == 0.88


def test_a_checkpoint_follows_every_evaluation(tmp_path):
    experiment = experiments.get("bridge_boxworld")
    values = config_to_json(experiment.preset("smoke"))
    directory = RunDirectory.create(tmp_path, "bridge_boxworld", "smoke", values)
    training, stop = Training(experiment, directory), StopRequest(notify=print)
    assert training.checkpoint_due({"frames": 640, "evaluation/step_limit": None}, 0.0, stop)
    assert not training.checkpoint_due({"frames": 640}, 0.0, stop)
    assert training.checkpoint_due({"frames": 640}, training.config.checkpoint_interval, stop)


def test_another_backend_is_refused_before_a_folder_is_made(tmp_path):
    done = subprocess.run(
        [sys.executable, "run.py", "--exp", "boxworld", "--preset", "smoke", "--out", tmp_path],
        cwd=ROOT, env={**os.environ, "KERAS_BACKEND": "numpy"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--engine rllib trains on TensorFlow, Keras runs on 'numpy'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_standard_boxworld_trains_with_the_same_code(ray_here):
    from tf_relational.experiments.algorithm import algorithm_config
    from tf_relational.experiments.iteration_metrics import SolvedWindow, iteration_metrics

    config = dataclasses.replace(
        experiments.get("boxworld").preset("smoke"),
        horizon=5,
        curriculum=False,
        report_interval=0.1,
    )
    algorithm = algorithm_config("boxworld", config).build_algo()
    try:
        line = iteration_metrics(algorithm.train(), SolvedWindow(), config.horizon, 1.0)
        outputs = algorithm.model(np.zeros((2, 9, 10, 3), np.uint8))
        assert outputs["logits"].shape == (2, 4)
    finally:
        algorithm.stop()
    assert line["frames"] >= 80
    assert line["episode_len_mean"] <= 5
    assert 0 < line["entropy"] <= np.log(4) + 1e-6
    assert not any(key.startswith("curriculum") for key in line)
    assert "fraction_solved/None" in line


@pytest.mark.parametrize("name", experiments.names())
def test_paper_preset_reaches_rllib_to_the_letter(name):
    from tf_relational.experiments.algorithm import algorithm_config

    config = algorithm_config(name, experiments.get(name).preset("paper"))
    assert (config.lr, config.gamma, config.entropy_coeff) == (2e-4, 0.99, 5e-3)
    assert (config.train_batch_size_per_learner, config.rollout_fragment_length) == (1280, 40)
    assert (config.num_env_runners, config.num_envs_per_env_runner) == (63, 1)
    assert (config.optimizer_name, config.loss_reduction) == ("rmsprop_tf1", "sum")
    assert config.optimizer_kwargs == {
        "rho": 0.99, "momentum": 0.0, "epsilon": 0.1, "variant": "published"
    }  # fmt: skip
    assert (config.grad_clip, config.vf_loss_coeff, config.vtrace_lambda) == (40.0, 0.5, 1.0)
    assert config.curriculum is None
    assert config.env_config["horizon"] is None


def test_several_seeds_make_one_run_each(tmp_path, capsys):
    from tf_relational.experiments.command_line import Request
    from tf_relational.experiments.train import _make, _say_what_differs

    experiment = experiments.get("bridge_boxworld")
    config = dataclasses.replace(experiment.preset("smoke"), seeds=(4, 2), num_env_runners=0)
    request = Request("train", "smoke", config, {}, (), tmp_path, "best")
    made = _make(experiment, request)
    assert [directory.path.name for directory, _ in made] == ["seed_4", "seed_2"]
    assert [directory.config["seed"] for directory, _ in made] == [4, 2]
    assert [settings.seed for _, settings in made] == [4, 2]
    assert len({directory.path.parent for directory, _ in made}) == 1
    _say_what_differs(experiment, request)
    told = capsys.readouterr().out
    assert "horizon = 50 (paper: None)" in told
    assert "optimizer = adam (paper: rmsprop_tf1)" in told
