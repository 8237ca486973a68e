"""What `make` does before anything runs: which Python it takes, and when it installs."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GROUND = ["Makefile", "requirements.txt", "requirements.lock", "pyproject.toml"]

# An interpreter as make sees one: it tells its version, fails the check for a version that does
# not fit, makes a .venv with a copy of itself, and writes down every other call.
INTERPRETER = """#!/bin/sh
case "$*" in
  "--version") echo "Python {version}" ;;
  "-c "*) exit {unfit} ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *) echo "$*" >> calls ;;
esac
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def folder(tmp_path):
    for name in GROUND:
        shutil.copy(ROOT / name, tmp_path)
        os.utime(tmp_path / name, (1, 1))
    return tmp_path


def _interpreter(folder: Path, version: str, name: str | None = None) -> str:
    path = folder / (name or f"python{version}")
    unfit = int(version not in ("3.11", "3.12", "3.13"))
    path.write_text(INTERPRETER.format(version=version, unfit=unfit))
    path.chmod(0o755)
    return f"PYTHON={path}"


def _make(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    # An outer make's flags are not meant for this one.
    outer = ("MAKEFLAGS", "MAKELEVEL", "ARGS", "PYTHON")
    clean = {k: v for k, v in os.environ.items() if k not in outer} | environment
    return subprocess.run(["make", *words], cwd=folder, env=clean, capture_output=True, text=True)


@pytest.mark.parametrize("version", ["3.9", "3.14"])
def test_a_python_without_tensorflow_is_refused_in_words(folder, version):
    done = _make(folder, "test", _interpreter(folder, version))
    assert done.returncode != 0
    assert "needs Python 3.11, 3.12 or 3.13, " in done.stderr
    assert f"is Python {version}." in done.stderr
    assert "make test PYTHON=python3.12" in done.stderr
    assert not (folder / ".venv").exists()


def test_a_missing_python_is_told(folder):
    done = _make(folder, "run", "PYTHON=python9.9")
    assert done.returncode != 0
    assert "There is no 'python9.9' here" in done.stderr


@pytest.mark.parametrize(
    ("installed", "taken"),
    [
        ({"python3": "3.12", "python3.13": "3.13"}, "3.12"),
        ({"python3": "3.14", "python3.13": "3.13", "python3.12": "3.12"}, "3.13"),
        ({"python3": "3.9", "python3.13": "3.14", "python3.12": "3.12"}, "3.12"),
        ({"python3": "3.14", "python3.13": "3.9", "python3.12": "3.9", "python3.11": "3.9"}, None),
    ],
    ids=["python3", "newest", "next", "none"],
)
def test_who_names_no_python_gets_one_that_fits(folder, installed, taken):
    for name, version in installed.items():
        _interpreter(folder, version, name)
    done = _make(folder, "run", PATH=f"{folder}{os.pathsep}{os.environ['PATH']}")
    if taken is None:
        assert done.returncode != 0
        assert "'python3' is Python 3.14." in done.stderr
        assert not (folder / ".venv").exists()
    else:
        assert done.returncode == 0, done.stderr
        made = subprocess.check_output([folder / ".venv/bin/python", "--version"], text=True)
        assert made == f"Python {taken}\n"


def test_pyproject_and_make_name_the_same_versions():
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert allowed == ">=3.11,<3.14"
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in (ROOT / "Makefile").read_text()


def test_an_old_venv_is_told(folder):
    (folder / ".venv" / "bin").mkdir(parents=True)
    _interpreter(folder, "3.10")
    shutil.move(folder / "python3.10", folder / ".venv" / "bin" / "python")
    done = _make(folder, "run")
    assert done.returncode != 0
    assert ".venv holds Python 3.10" in done.stderr and "Remove .venv" in done.stderr


def test_it_installs_once_until_the_requirements_change(folder):
    python = _interpreter(folder, "3.11")
    install = "-m pip install --quiet --disable-pip-version-check -c requirements.lock -e "
    run = "run.py --exp bridge_boxworld"

    def calls(*words):
        (folder / "calls").unlink(missing_ok=True)
        done = _make(folder, *words, python)
        assert done.returncode == 0, done.stderr
        return (folder / "calls").read_text().splitlines()

    assert calls("run") == [install + ".", run]
    assert calls("run", "ARGS=--preset smoke") == [run + " --preset smoke"]
    assert calls("test", "ARGS=-x") == [install + ".[dev]", "-m pytest -x"]
    assert calls("test") == ["-m pytest --ignore=tests/rl", "-m pytest tests/rl"]
    assert calls("run") == [run], "what the tests need holds for a run"
    os.utime(folder / "requirements.lock", (2**31, 2**31))
    assert calls("run")[0] == install + "."
