"""Experiments by name, and what their presets promise."""

import dataclasses
import re

import pytest

from tf_relational import experiments
from tf_relational.experiments.errors import UserError
from tf_relational.experiments.registry import Experiment


@pytest.mark.parametrize("name", experiments.names())
def test_paper_preset_is_table_1_to_the_letter(name):
    config = experiments.get(name).preset("paper")
    table_1 = {
        "entropy": 5e-3,
        "gamma": 0.99,
        "unroll_length": 40,
        "batch_size": 1280,
        "learning_rate": 2e-4,
        "rmsprop_momentum": 0.0,
        "rmsprop_epsilon": 0.1,
        "rmsprop_decay": 0.99,
    }
    unlisted = {
        "num_env_runners": 63,
        "horizon": None,
        "curriculum": False,
        "value_coefficient": 0.5,
        "gradient_clip": 40.0,
        "loss_reduction": "sum",
        "optimizer": "rmsprop_tf1",
        "initialization": "published",
    }
    for field, value in {**table_1, **unlisted}.items():
        assert getattr(config, field) == value, field


def test_paper_presets_have_the_boards_of_section_5():
    bridge = experiments.get("bridge_boxworld").preset("paper").level_config()
    assert (bridge.rows, bridge.columns, bridge.solution_length) == (7, 9, (1, 3))
    assert (bridge.gem_locks, bridge.bridge_probability) == (2, 0.5)
    standard = experiments.get("boxworld").preset("paper").level_config()
    assert (standard.rows, standard.columns, standard.solution_length) == (9, 9, (1, 5))
    assert (standard.distractors, standard.gem_locks) == ((0, 4), 1)


@pytest.mark.parametrize("name", experiments.names())
def test_every_field_of_every_preset_is_documented(name, capsys):
    from tf_relational.experiments.command_line import main

    experiment = experiments.get(name)
    for preset in experiment.presets:
        assert main(["--exp", name, "--preset", preset, "--help"]) == 0
        words = " ".join(capsys.readouterr().out.replace("│", " ").split())
        for field in dataclasses.fields(experiment.config):
            flag = f"--{field.name.replace('_', '-')}"
            entry = re.split(rf" {flag}[ ,]", words, maxsplit=1)[1].split("(default", 1)[0]
            assert len(entry.split()) > 4, f"{field.name} has no explanation: {entry!r}"


def test_a_name_stands_for_one_experiment():
    known = experiments.get("boxworld")
    assert experiments.register(known) is known
    with pytest.raises(UserError, match="already registered"):
        experiments.register(
            Experiment("boxworld", "another", UserError, {"paper": {}}, "paper", {})
        )
    with pytest.raises(UserError, match="Allowed: bridge_boxworld, boxworld"):
        experiments.get("chess")
