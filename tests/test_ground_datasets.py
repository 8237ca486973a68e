"""The folder `datasets/` beside an installed distribution of that name, in each way of running."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
THEIRS = "datasets-9.9.0.dist-info"

# What a program of ours and a library in the same process see. `find_spec` and the version are how
# libraries ask for Hugging Face's package without importing it.
LOOK = """
import importlib.metadata, importlib.util
def look():
    import datasets, datasets.load, tf_relational.datasets.probe
    assert importlib.util.find_spec("datasets").origin is not None
    return [importlib.metadata.version("datasets"), datasets.load_dataset(), datasets.load.PART,
            tf_relational.datasets.probe.VALUE]
"""
SEEN = ["9.9.0", "their data set", "their part", "our data set"]


def _run(script: Path, path: list[Path], cwd: Path, *flags: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *flags, str(script)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _pip_install(wheel: Path, target: Path) -> None:
    arguments = ["-q", "--no-index", "--no-deps", "--target", str(target), str(wheel)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> Path:
    """A site folder in which pip has installed a distribution named `datasets`."""
    folder = tmp_path_factory.mktemp("theirs")
    wheel = folder / "datasets-9.9.0-py3-none-any.whl"
    files = {
        "datasets/__init__.py": "def load_dataset():\n    return 'their data set'\n",
        "datasets/load.py": "PART = 'their part'\n",
        f"{THEIRS}/METADATA": "Metadata-Version: 2.1\nName: datasets\nVersion: 9.9.0\n",
        f"{THEIRS}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{THEIRS}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{THEIRS}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    _pip_install(wheel, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The ground of this repository with one small data set added."""
    folder = tmp_path_factory.mktemp("clone") / "clone"
    (folder / "tf_relational").mkdir(parents=True)
    names = ["pyproject.toml", "setup.py", "requirements.txt", "LICENSE", "README.md"]
    parts = ["__init__.py", "datasets.py", "quiet.py", "py.typed"]
    for name in names + [f"tf_relational/{part}" for part in parts]:
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(
        ROOT / "datasets", folder / "datasets", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "datasets" / "probe").mkdir()
    (folder / "datasets" / "probe" / "__init__.py").write_text("VALUE = 'our data set'\n")
    return folder


def _build(clone: Path, form: str, out: Path) -> Path:
    """A wheel of the clone, by the backend that pyproject.toml names; form: wheel or editable."""
    out.mkdir()
    code = f"import setuptools.build_meta as b, sys; b.build_{form}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)], cwd=clone, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def test_the_folder_is_no_regular_package():
    assert (ROOT / "datasets").is_dir()
    assert not (ROOT / "datasets" / "__init__.py").exists(), (
        "with an __init__.py the folder would hide Hugging Face's package in every clone"
    )


def test_from_a_clone(clone, theirs):
    script = clone / "look.py"
    script.write_text(LOOK + "print(look())")
    assert _run(script, [theirs], clone).strip() == str(SEEN)


def test_from_a_clone_without_the_other_package(clone):
    script = clone / "look_alone.py"
    script.write_text("import tf_relational.datasets.probe as probe\nprint(probe.VALUE)")
    assert _run(script, [], clone).strip() == "our data set"


@pytest.mark.parametrize("form", ["editable", "wheel"])
def test_installed_in_the_same_environment(form, clone, theirs, tmp_path):
    copy = shutil.copytree(clone, tmp_path / "clone")
    site = shutil.copytree(theirs, tmp_path / "site")
    before = sorted(str(p.relative_to(site)) for p in (site / "datasets").rglob("*.py"))
    _pip_install(_build(copy, form, tmp_path / "out"), site)
    after = sorted(str(p.relative_to(site)) for p in (site / "datasets").rglob("*.py"))
    assert before == after == ["datasets/__init__.py", "datasets/load.py"]
    script = tmp_path / "elsewhere" / "look.py"
    script.parent.mkdir()
    # addsitedir, and not PYTHONPATH: an editable install works through a .pth file. And without the
    # site folder of these tests (-S), where this package may be installed too.
    script.write_text(f"import site; site.addsitedir({str(site)!r})" + LOOK + "print(look())")
    assert _run(script, [], script.parent, "-S").strip() == str(SEEN)


def test_in_a_ray_worker(clone, theirs):
    script = clone / "look_in_ray.py"
    script.write_text(
        LOOK
        + """
import ray
from tf_relational import quiet

# Ray gives its processes 30 seconds to come up, too little where other programs have the cores.
for attempt in range(3):
    try:
        ray.init(num_cpus=1, include_dashboard=False, **quiet.ray_options())
        break
    except Exception:
        ray.shutdown()
print(ray.get(ray.remote(look).remote()))
"""
    )
    assert _run(script, [theirs], clone).strip().splitlines()[-1] == str(SEEN)
