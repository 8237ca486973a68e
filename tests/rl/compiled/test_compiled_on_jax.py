"""The compiled engine's tests, run again on JAX with two simulated devices."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

ROOT = Path(__file__).resolve().parents[3]
HERE = "tests/rl/compiled/"
# The time goes into compiling; the numbers do not depend on how well.
QUICK = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_force_host_platform_device_count=2"
)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="runs on JAX already")
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_the_same_holds_on_jax_and_on_two_devices(rllib_updates):
    files = [HERE + "test_compiled_trainer.py", HERE + "test_engines_agree.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env={
            **os.environ,
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": QUICK,
            "TF_RELATIONAL_UPDATES": str(rllib_updates),
        },
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    # One case is TensorFlow's refusal of a second device.
    assert " 1 skipped" in done.stdout
