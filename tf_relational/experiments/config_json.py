"""A configuration dataclass as plain JSON, and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from tf_relational.experiments.errors import UserError


def config_to_json(config: Any) -> dict[str, Any]:
    """Returns a configuration dataclass as plain JSON values."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def config_from_json(kind: type, values: dict[str, Any], source: str) -> Any:
    """Builds a configuration dataclass from `config_to_json`'s values.

    Fields in the class's `ADDED` may be missing, and then have their defaults.

    Raises:
        UserError: a field is missing or unknown, or a value is out of its range.
    """
    fields = {field.name for field in dataclasses.fields(kind)}
    _require_same(fields, set(values) | set(getattr(kind, "ADDED", ())), source)
    return kind(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    )


def _require_same(fields: Iterable[str], values: Iterable[str], source: str) -> None:
    missing, extra = sorted(set(fields) - set(values)), sorted(set(values) - set(fields))
    if missing or extra:
        raise UserError(
            f"{source} was written by another version: missing fields {missing or 'none'}, "
            f"unknown fields {extra or 'none'}"
        )
