"""The door answers quickly and refuses with words: run.py as a person calls it."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(ROOT / "run.py"), *arguments],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["--list"]], ids=" ".join)
def test_answers_in_little_time(arguments):
    # The child's own seconds at work, which other programs on the machine change little: measured
    # 0.1, and 7 for the import of TensorFlow alone, on one thread of an AMD EPYC in use.
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert run(*arguments).returncode == 0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 2


def test_list_names_the_experiments():
    done = run("--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["bridge_boxworld", "boxworld"]


def test_help_of_an_experiment_gives_defaults_and_sources():
    done = run("--exp", "bridge_boxworld", "--preset", "paper", "--help")
    assert done.returncode == 0
    words = " ".join(done.stdout.replace("│", " ").split())
    assert "--learning-rate FLOAT Step size of the optimizer, at the start. Table 1: 2e-4" in words
    assert "(default: 0.0002)" in words
    assert "modes: train, evaluate, figures, export" in words


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--list"],
        ["--exp", "boxworld", "--help"],
        ["--exp", "boxworld", "--gamma", "2"],
    ],
    ids=" ".join,
)
def test_answers_without_the_heavy_libraries(arguments):
    code = (
        "import sys; from tf_relational.experiments.command_line import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'tensorflow', 'ray', 'keras', 'matplotlib', 'torch', 'jax'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--exp", "brige_boxworld"], "did you mean 'bridge_boxworld'"),
        (["--preset", "paper"], "--exp is missing. Experiments: bridge_boxworld, boxworld"),
        (["--exp", "boxworld", "--preset", "large"], "Allowed: paper, laptop, smoke"),
        (["--exp", "boxworld", "--mode", "serve"], "Allowed: train, evaluate, figures, export"),
        (["--exp", "boxworld", "--agent", "human"], "'relational', 'simplicial'"),
        (["--exp", "boxworld", "--lerning-rate", "1"], "--learning-rate FLOAT"),
        (["--exp", "boxworld", "--learning-rate", "-1"], "learning_rate must be above 0, got -1"),
        (["--exp", "boxworld", "--learning-rate", "nan"], "must be above 0, got nan"),
        (["--exp", "boxworld", "--horizon", "0"], "a whole number from 1 on or None, got 0"),
        (["--exp", "boxworld", "--horizon", "soon"], "Error parsing --horizon"),
        (["--exp", "boxworld", "--gamma", "1.5"], "gamma must be at least 0 and at most 1"),
        (["--exp", "boxworld", "--seeds", "1", "1"], "seeds must be different whole numbers"),
        (["--exp", "boxworld", "--batch-size", "650"], "a multiple of unroll_length x num_envs"),
        (["--exp", "boxworld", "--solution-length", "3", "2"], "low <= high"),
        (["--exp", "bridge_boxworld", "--solution-length", "1", "9"], "allow a larger board"),
        (["--exp", "boxworld", "--num-env-runners", "4000"], "this machine has"),
        (["--exp", "boxworld", "--resume", "no/such/run"], "no/such/run is not a folder"),
        (["--exp", "boxworld", "--preset", "smoke", "--resume", "x"], "--preset is for a new run"),
        (["--exp", "boxworld", "--mode", "figures", "--preset", "paper"], "is for a new run"),
        (["--exp", "boxworld", "--checkpoint", "last"], "--checkpoint is for --mode evaluate"),
        (["--exp", "boxworld", "--seed", "1", "--seeds", "1", "2"], "--seeds replaces --seed"),
        (["--exp", "boxworld", "--engine", "compiled", "--devices", "2"], "one device on Tensor"),
        (["--exp", "boxworld", "--mode", "export", "--seed", "3"], "seed cannot be changed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refuses_with_words_and_code_2_and_leaves_nothing(arguments, words, tmp_path):
    done = run(*arguments, "--out", str(tmp_path / "runs"))
    assert done.returncode == 2
    told = " ".join(done.stderr.replace("│", " ").split())
    assert words in told
    assert "Traceback" not in told
    assert not (tmp_path / "runs").exists()
