"""Where a result came from: machine, versions, command and commit."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("tensorflow", "keras", "ray", "numpy", "gymnasium")


def provenance(arguments: list[str] | None = None) -> dict[str, Any]:
    """Returns what a reader needs to repeat a run: command, commit, versions and hardware.

    Args:
        arguments: the command line's words; those of this process when None.

    Example:
        >>> provenance(["run.py", "--exp", "boxworld"])["command"]
        'python run.py --exp boxworld'
    """
    words = sys.argv if arguments is None else arguments
    return {
        "command": "python " + shlex.join(words),
        "git_commit": _commit(),
        "versions": {"python": platform.python_version(), **_versions()},
        "hardware": {
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "memory_gib": _memory_gib(),
            "platform": platform.platform(),
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """The commit that the sources stand at, marked when they differ from it."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit} with local changes" if changed else commit


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
    )
    return done.stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return None
