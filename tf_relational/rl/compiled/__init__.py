"""IMPALA on Box-World as one compiled program: environments, agent and learner on one device."""

from importlib import import_module

_HOMES = {
    "CheckpointWriter": "snapshot",
    "CompiledTrainer": "trainer",
    "LevelPool": "level_pool",
    "Settings": "settings",
    "Snapshot": "snapshot",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
