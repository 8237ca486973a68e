"""Every example in a docstring and in README.md runs and gives what it says."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

MODULES = sorted(
    ("tf_relational." if folder == "datasets" else "")
    + ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for folder in ("tf_relational", "rllib_configs", "datasets")
    for file in (ROOT / folder).rglob("*.py")
    if ">>>" in file.read_text()
)
READMES = ["README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name.removesuffix(".__init__"))
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("name", READMES)
def test_python_blocks_of_the_documents(name, tmp_path, monkeypatch):
    # In one namespace and in order, as a reader would paste them; in a folder of their own.
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.M | re.S):
        code = compile(block, name, "exec")
        if "build_algo(" not in block:  # starts Ray and trains, which tests/rl does
            exec(code, namespace)
