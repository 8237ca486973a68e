"""How agents learn: loss, optimizers, curriculum, checkpoints and the RLlib bridge (`rl.rllib`).

The names below are handed on when they are asked for, so that a checkpoint can be looked for
without Keras. `tf_relational.rl.checkpoints` is a module.
"""

from importlib import import_module

_HOMES = {
    "Curriculum": "curriculum",
    "TF1RMSProp": "optimizers",
    "impala_loss": "loss",
    "make_optimizer": "optimizers",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
