"""`run.py` in a process of its own, and what its run directory says meanwhile."""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 900


def start(*arguments):
    """Starts a bridge BoxWorld run in a process group of its own, both outputs in one pipe."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), "--exp", "bridge_boxworld", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def lines_of(folder):
    """The lines of metrics.jsonl; none while there is no such file."""
    path = folder / "metrics.jsonl"
    return [json.loads(row) for row in path.read_text().splitlines()] if path.exists() else []


def wait_until(process, condition):
    """Waits for the condition; fails if the process ends before, or after `TIMEOUT` seconds."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < end, "the run did not get there in time"
        time.sleep(0.05)
