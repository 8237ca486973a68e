"""IMPALA on Ray RLlib with Keras on TensorFlow."""

_HOME = {
    "KerasEnvRunner": "env_runner",
    "KerasIMPALA": "algorithm",
    "KerasIMPALAConfig": "config",
    "KerasIMPALALearner": "learner",
    "KerasModule": "module",
    "Rollout": "rollout",
}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
