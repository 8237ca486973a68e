"""Signals: the first asks, the second ends the process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tf_relational.experiments.stopping import StopRequest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_first_signal_asks_to_stop(number, code):
    before, told = signal.getsignal(number), []
    with StopRequest(notify=told.append) as stop:
        assert (stop.requested, stop.exit_code) == (False, 0)
        os.kill(os.getpid(), number)
        assert (stop.requested, stop.exit_code) == (True, code)
    assert len(told) == 1
    assert signal.getsignal(number) is before


def test_handlers_that_another_library_replaced_can_be_set_again():
    before = signal.getsignal(signal.SIGTERM)
    with StopRequest(notify=lambda _: None) as stop:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stop.install()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.requested
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_second_signal_exits_at_once(number, code):
    program = (
        "import os, time\n"
        "from tf_relational.experiments.stopping import StopRequest\n"
        "with StopRequest():\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=30, check=False)
    assert done.returncode == code
