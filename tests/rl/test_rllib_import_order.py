"""RLlib turns TensorFlow 2 off when it is the first to import it; this package turns it on."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "first",
    [
        "from rllib_configs import bridge_boxworld",
        "from ray.rllib.algorithms.impala import IMPALAConfig",
    ],
)
def test_eager_whatever_is_imported_first(first):
    code = (
        f"{first}\nfrom tf_relational.rl.rllib import KerasIMPALAConfig\n"
        "import tensorflow as tf\nprint(tf.executing_eagerly(), tf.zeros(2).numpy().sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "0.0"]
