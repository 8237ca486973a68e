"""Which room may import what, read from the source; and that the package itself is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tf_relational"

# Lower floors first; a room imports from floors below its own, and from itself.
FLOORS = [
    {"ops", "envs", "datasets", "quiet"},
    {"layers"},
    {"models"},
    {"compat"},
    {"rl", "analysis", "serving"},
    {"experiments"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
ROOMS = sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and list(p.rglob("*.py")))

KERAS_ONLY = {"keras", "numpy", "tf_relational"} | set(sys.stdlib_module_names)
ALLOWED = {
    "ops": KERAS_ONLY,
    "layers": KERAS_ONLY,
    "models": KERAS_ONLY,
    # The old gym is met by one adapter, where it is installed.
    "envs": {"numpy", "gymnasium", "gym", "tf_relational"} | set(sys.stdlib_module_names),
}
# The rules of a compiled program stand beside those of the NumPy environments.
KERAS_TOO = {PACKAGE / "envs" / "compiled_rules.py"}


def _imports(file: Path) -> set[str]:
    """Every absolute module name that a file imports, at its top or inside a function."""
    here = file.relative_to(ROOT).with_suffix("").parts
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) - node.level]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_floors_below(room):
    assert room in FLOOR, f"tf_relational/{room} has no floor yet: add it to FLOORS"
    for file in (PACKAGE / room).rglob("*.py"):
        for name in _imports(file):
            parts = name.split(".")
            if parts[0] == "tf_relational" and len(parts) > 1 and parts[1] not in (room, "quiet"):
                if parts[1].startswith("__"):
                    continue
                assert FLOOR[parts[1]] < FLOOR[room], f"{file.relative_to(ROOT)} imports {name}"
            if room in ALLOWED:
                allowed = ALLOWED[room] | ({"keras"} if file in KERAS_TOO else set())
                assert parts[0] in allowed, f"{file.relative_to(ROOT)} imports {name}"


def test_ray_is_imported_in_one_room_and_where_it_is_started():
    for file in [*(PACKAGE / "analysis").rglob("*.py"), *(PACKAGE / "serving").rglob("*.py")]:
        assert not {n for n in _imports(file) if n.split(".")[0] == "ray"}, file


def test_data_sets_import_nothing_of_the_package():
    for file in (ROOT / "datasets").rglob("*.py"):
        names = {n for n in _imports(file) if n.split(".")[0] == "tf_relational"}
        outside = {n for n in names if not n.startswith("tf_relational.datasets.")}
        assert not outside, f"{file.relative_to(ROOT)} imports {outside}"


def test_the_package_is_light():
    code = "import sys, tf_relational; print(*{n.split('.')[0] for n in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"tensorflow", "keras", "ray", "numpy", "gymnasium", "matplotlib", "rich"}
