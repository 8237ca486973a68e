"""Trained agents outside this library: export to a SavedModel, and a checked way to call one."""

_HOMES = {
    "ExportedAgent": "tf_relational.serving.exported_agent",
    "export_agent": "tf_relational.serving.export",
}
__all__ = ["ExportedAgent", "export_agent"]


def __getattr__(name: str):
    # TensorFlow is imported by whoever exports or loads, and not by whoever imports this package.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
