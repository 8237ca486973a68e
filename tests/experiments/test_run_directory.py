"""The run directory: never overwritten, never half written, foreign ones refused."""

import json
import os

import pytest

from tf_relational import experiments
from tf_relational.experiments.config_json import config_from_json, config_to_json
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.finding_runs import chosen_runs, newest_run, runs_to_resume
from tf_relational.experiments.run_directory import RunDirectory, write_json


def make(root, name="boxworld", **fields):
    config = experiments.get(name).config(**fields)
    return RunDirectory.create(root, name, "paper", config_to_json(config))


def test_two_runs_in_one_second_get_two_folders(tmp_path):
    paths = {make(tmp_path).path for _ in range(3)}
    assert len(paths) == 3
    assert {path.parent for path in paths} == {tmp_path / "boxworld"}


def test_a_configuration_survives_its_file(tmp_path):
    directory = make(tmp_path, seed=7, solution_length=(2, 4), horizon=None, gamma=0.9)
    opened = RunDirectory.open(directory.path)
    kind = experiments.get("boxworld").config
    assert config_from_json(kind, opened.config, "there") == kind(
        seed=7, solution_length=(2, 4), horizon=None, gamma=0.9
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "has no config.json"),
        ("{", "is not the config.json of a run"),
        ("[]", "is not the config.json of a run"),
        ('{"config": {}}', "is not the config.json of a run"),
        ('{"experiment": "x", "preset": "y", "config": 3}', "is not the config.json of a run"),
    ],
)
def test_foreign_folders_are_refused_and_left_alone(content, words, tmp_path):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(UserError, match=words):
        RunDirectory.open(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before


def test_fields_of_another_version_are_named(tmp_path):
    values = make(tmp_path).config
    values["temperature"] = values.pop("gamma")
    with pytest.raises(UserError, match=r"missing fields \['gamma'\].*\['temperature'\]"):
        config_from_json(experiments.get("boxworld").config, values, "there")


def test_writing_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"solved": 0.5})
    with pytest.raises(ValueError):
        write_json(path, {"solved": float("nan")})
    with pytest.raises(TypeError):
        write_json(path, {"solved": object()})
    assert json.loads(path.read_text()) == {"solved": 0.5}
    assert os.listdir(tmp_path) == ["result.json"]


def test_models_are_found_by_frames(tmp_path):
    directory = make(tmp_path)
    with pytest.raises(UserError, match="no trained model yet"):
        directory.agent_path("best")
    directory.agents_path.mkdir()
    for frames in (9_000, 10_000):
        (directory.agents_path / f"{frames:012d}.keras").touch()
    latest = directory.checkpoint_path / "000012"
    latest.mkdir()
    (latest / "agent.keras").touch()
    write_json(latest / "manifest.json", {"extra": {"frames": 12_345}})
    assert list(directory.agents()) == [9_000, 10_000, 12_345]
    assert directory.agent_path("last") == latest / "agent.keras"
    assert directory.agent_path("best") == latest / "agent.keras"
    write_json(directory.checkpoint_path / "best.json", {"frames": 9_000})
    assert directory.agent_path("best") == directory.kept_agent(9_000)
    assert directory.frames_of(directory.agent_path("best")) == 9_000
    directory.kept_agent(9_000).unlink()
    (directory.checkpoint_path / "best.keras").touch()
    assert directory.agent_path("best") == directory.checkpoint_path / "best.keras"
    assert directory.frames_of(directory.agent_path("best")) == 9_000
    assert directory.frames_of(directory.agent_path("10000")) == 10_000
    with pytest.raises(UserError, match="best, last, all, 10000, 12345"):
        directory.agent_path("5")


def test_runs_are_chosen_by_name_by_folder_or_by_age(tmp_path):
    with pytest.raises(UserError, match="no run of boxworld with a trained model"):
        newest_run(tmp_path, "boxworld")
    runs = [make(tmp_path), make(tmp_path)]
    for age, run in enumerate(runs):
        run.agents_path.mkdir()
        (run.agents_path / "000000000001.keras").touch()
        os.utime(run.path / "config.json", (1_000 - age, 1_000 - age))
    chosen = [run.path for run in chosen_runs([], tmp_path, "boxworld")]
    assert chosen == [runs[0].path]
    everything = [run.path for run in chosen_runs([tmp_path / "boxworld"], tmp_path, "boxworld")]
    assert sorted(everything) == sorted(run.path for run in runs)
    with pytest.raises(UserError, match="is a run of boxworld, not of bridge_boxworld"):
        chosen_runs([runs[0].path], tmp_path, "bridge_boxworld")


def test_training_goes_on_with_one_run_or_the_seeds_of_one_call(tmp_path):
    one, other = make(tmp_path), make(tmp_path)
    assert [run.path for run in runs_to_resume(one.path)] == [one.path]
    with pytest.raises(UserError, match=f"holds 2; name one of them:\n  {one.path}"):
        runs_to_resume(one.path.parent)
    with pytest.raises(UserError, match="holds 2; name one of them"):
        runs_to_resume(tmp_path)
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    one.path.rename(seeds / "seed_0")
    other.path.rename(seeds / "seed_1")
    assert len(runs_to_resume(seeds)) == 2


def test_a_directory_is_trained_in_by_one_process(tmp_path):
    first, second = make(tmp_path), None
    first.lock()
    second = RunDirectory.open(first.path)
    with pytest.raises(UserError, match="another process is training"):
        second.lock()


def test_of_several_seeds_the_folder_of_all_is_resumed(tmp_path):
    assert RunDirectory(tmp_path / "time" / "seed_3").to_resume == tmp_path / "time"
    assert RunDirectory(tmp_path / "time").to_resume == tmp_path / "time"
