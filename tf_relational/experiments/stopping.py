"""Ctrl-C and SIGTERM as a wish to stop at the next checkpoint, not as a crash."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While entered, turns the first SIGINT or SIGTERM into `requested`; a second one exits.

    A training loop asks `requested` after each iteration, writes its checkpoint and returns
    `exit_code`, 128 plus the signal's number as shells have it: 130 for Ctrl-C, 143 for
    SIGTERM. The second signal of either kind ends the process at once with that code.

    Args:
        notify: called with a message when the first signal arrives.

    Example:
        >>> import os, signal
        >>> with StopRequest(notify=print) as stop:
        ...     os.kill(os.getpid(), signal.SIGTERM)
        ...     print(stop.requested, stop.exit_code)
        SIGTERM: stopping after this iteration with a checkpoint (again: stop at once)
        True 143
    """

    def __init__(self, notify: Callable[[str], Any] = print) -> None:
        self.signal: int | None = None
        self._notify = notify
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        return 0 if self.signal is None else 128 + self.signal

    def install(self) -> None:
        """Sets the handlers, again if need be: starting Ray replaces the one for SIGTERM."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            before = signal.signal(number, self._handle)
            self._before.setdefault(number, before)

    def __enter__(self) -> StopRequest:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    def _handle(self, number: int, frame: Any) -> None:
        if self.signal is not None:
            if sys.stdout.isatty():
                os.write(1, b"\x1b[?25h\n")  # A live table hides the cursor.
            os._exit(128 + number)
        self.signal = number
        name = signal.Signals(number).name
        self._notify(
            f"{name}: stopping after this iteration with a checkpoint (again: stop at once)"
        )
