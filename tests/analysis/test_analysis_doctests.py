"""The examples in the docstrings of the analysis room give what they say."""

import doctest
import importlib
import pkgutil

import pytest

from tf_relational import analysis

MODULES = [module.name for module in pkgutil.iter_modules(analysis.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"tf_relational.analysis.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_name_handed_on_exists():
    for name in analysis.__all__:
        assert getattr(analysis, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        analysis.nothing  # noqa: B018
