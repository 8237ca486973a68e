"""The proofs against recorded numbers and slow formulas, and some promises, again on JAX."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

ROOT = Path(__file__).resolve().parents[2]
AGAIN = [
    "tests/compat",
    "tests/layers/test_attention.py",
    "tests/layers/test_baselines.py",
    "tests/layers/test_every_layer.py",
    "tests/layers/test_predinet.py",
    "tests/ops/test_blocked_attention.py",
    "tests/ops/test_scalar_product.py",
]
CHOSEN = (
    "equal or no_tensor or (is_the_formula and 2-3) or three_vectors or safe_sqrt"
    " or for_the_accelerator or one_repeated"
)
# The time goes into compiling; the numbers do not depend on how well.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="runs on JAX already")
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_the_numbers_are_the_same_on_jax():
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", CHOSEN]
    done = subprocess.run(
        [*command, *AGAIN],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": QUICK},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout
