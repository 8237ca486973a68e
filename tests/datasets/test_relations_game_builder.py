"""A small build by TensorFlow Datasets, read again."""

import numpy as np
import pytest
import tensorflow_datasets as tfds

from tf_relational.datasets.relations_game import TASK_GROUPS, TASKS, block_rng, generate
from tf_relational.datasets.relations_game.builder import RelationsGame, RelationsGameConfig


def test_one_config_a_task():
    assert list(RelationsGame.builder_configs) == [*TASKS, *TASK_GROUPS]
    assert RelationsGameConfig(name="x").sizes == {
        "pentos": 250_000,
        "hexos": 50_000,
        "stripes": 50_000,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tfds")


def test_build_and_read_again(folder):
    builder = RelationsGame(config="row_patterns_5", data_dir=folder)
    few = tfds.download.DownloadConfig(max_examples_per_split=30)
    builder.download_and_prepare(download_config=few)
    assert {name: s.num_examples for name, s in builder.info.splits.items()} == {
        "pentos": 30,
        "hexos": 30,
        "stripes": 30,
    }
    for split in ("pentos", "hexos", "stripes"):
        data = tfds.load("relations_game/row_patterns_5", split=split, data_dir=folder)
        found = list(tfds.as_numpy(data))
        rng = block_rng(0, "row_patterns_5", split, 0)
        expected = generate("row_patterns_5", split, 2000, rng)
        for name, array in expected.items():
            assert np.array_equal(np.stack([each[name] for each in found]), array[:30])
    assert builder.info.features["task"].names == list(TASK_GROUPS["row_patterns_5"])
    assert builder.info.features["label"].names == ["False", "True"]


def test_four_labels_and_no_stripes(folder):
    sizes = {"pentos": 12, "hexos": 8, "stripes": 8}
    config = RelationsGameConfig(name="small", tasks=("same", "colour_shape"), seed=5, sizes=sizes)
    builder = RelationsGame(config=config, data_dir=folder)
    builder.download_and_prepare()
    splits = {name: split.num_examples for name, split in builder.info.splits.items()}
    assert splits == {"pentos": 12, "hexos": 8}
    assert builder.info.features["label"].num_classes == 4
    found = list(tfds.as_numpy(builder.as_dataset(split="hexos")))
    rng = block_rng(5, ["same", "colour_shape"], "hexos", 0)
    expected = generate(["same", "colour_shape"], "hexos", 8, rng)
    assert np.array_equal([each["label"] for each in found], expected["label"])
