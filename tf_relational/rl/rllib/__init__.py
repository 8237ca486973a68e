"""IMPALA on Ray RLlib with Keras on TensorFlow."""

import tensorflow as tf

# RLlib puts TensorFlow into its version 1 mode where it is the first to import it. So it is
# imported here, before any module of this package imports RLlib, and put right where RLlib was
# first.
if not tf.executing_eagerly():
    tf.compat.v1.enable_v2_behavior()

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
