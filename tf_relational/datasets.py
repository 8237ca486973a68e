"""The data sets: the folder ``datasets/`` beside this package, under a name that nobody else has.

``import tf_relational.datasets.NAME`` finds ``datasets/NAME``. The plain name ``datasets`` belongs
to Hugging Face's package, and stays theirs wherever that is installed: the folder has no
``__init__.py``, and Python prefers any package that has one. ``datasets/README.md`` says more.
"""

from pathlib import Path

_package = Path(__file__).resolve().parent
_in_clone = (_package.parent / "pyproject.toml").is_file()

# A module with a `__path__` is a package; its parts are looked for in this folder. A built wheel
# carries the folder inside this package, for it must not write into site-packages/datasets.
__path__ = [str((_package.parent if _in_clone else _package) / "datasets")]
