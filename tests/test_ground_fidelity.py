"""docs/fidelity.md has every row, and `variant` reaches all that it says."""

import re
from pathlib import Path

import pytest

FIDELITY = Path(__file__).resolve().parent.parent / "docs" / "fidelity.md"


def test_every_row_is_there():
    rows = re.findall(r"^\| ([LZPR]\d+) \|", FIDELITY.read_text(), re.M)
    last = {"L": 10, "Z": 9, "P": 9, "R": 15}
    assert rows == [f"{paper}{n}" for paper in last for n in range(1, last[paper] + 1)]


@pytest.mark.parametrize("variant", ["published", "paper"])
@pytest.mark.parametrize("name", ["bridge_boxworld", "boxworld"])
def test_variant_of_an_experiment_reaches_attention_and_optimizer(name, variant):
    import dataclasses
    import importlib

    from tf_relational.experiments import registry
    from tf_relational.experiments.algorithm import algorithm_config

    config = dataclasses.replace(registry.get(name).preset("paper"), variant=variant)
    plain = importlib.import_module(f"rllib_configs.{name}").config(variant=variant)
    for made in (algorithm_config(name, config), plain):
        assert made.keras_model_kwargs["variant"] == variant
        assert made.optimizer_kwargs["variant"] == variant
