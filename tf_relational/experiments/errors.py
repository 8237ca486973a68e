"""The one exception that means: the caller asked for something that cannot be done."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A request that cannot be met, told in one message that names what is allowed.

    `run.py` prints the message without a traceback and exits with code 2; as a library
    exception it is an ordinary error.

    Example:
        >>> raise UserError("gamma must be at most 1, got 2")
        Traceback (most recent call last):
            ...
        tf_relational.experiments.errors.UserError: gamma must be at most 1, got 2
    """


def unknown(kind: str, received: str, allowed: Iterable[str]) -> UserError:
    """Returns the error for a name that is not among the allowed ones.

    Example:
        >>> print(unknown("preset", "labtop", ["paper", "laptop"]))
        unknown preset 'labtop', did you mean 'laptop'? Allowed: paper, laptop
    """
    allowed = list(allowed)
    close = difflib.get_close_matches(received, allowed, n=1)
    hint = f", did you mean {close[0]!r}?" if close else "."
    return UserError(f"unknown {kind} {received!r}{hint} Allowed: {', '.join(allowed)}")
