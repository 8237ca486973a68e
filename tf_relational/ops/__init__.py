"""Pure functions of tensors, in `keras.ops` only.

The names below are handed on when they are asked for, so that a process that needs one of them
does not pay for all. `tf_relational.ops.vtrace` is a module, with the function of that name in it.
"""

from importlib import import_module

_HOMES = {
    "blocked_simplicial_attention": "blocked_attention",
    "safe_sqrt": "scalar_product",
    "triple_product": "scalar_product",
    "unsigned_scalar_product": "scalar_product",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return __all__
