"""A start without the libraries' chatter, so that a program's own words can be read.

TensorFlow, Ray and Keras write dozens of lines while they start. :func:`start` silences what
informs only; warnings about the user's own code, errors and everything fatal stay. Call it before
the first import of TensorFlow or Ray::

    from tf_relational import quiet

    quiet.start()

and hand :func:`ray_options` to ``ray.init``, so that Ray's workers are as quiet as the driver.
Whatever the user has set in the environment wins.
"""

import contextlib
import importlib.abc
import importlib.machinery
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

# Run by the child process of `_native_stderr_filtered`: drops the informing lines of the C++
# logger ("I0000 00:00:1795228006.711437 5244 cudart_stub.cc:31] ...") and passes on the rest.
_FILTER = r"""
import re, sys
noise = re.compile(rb"I\d{4} |WARNING: All log messages before absl::InitializeLog\(\) is called")
for line in sys.stdin.buffer:
    if not noise.match(line):
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
"""

# What Ray warns of at every start and a user of this package can do nothing about, by logger.
_NOISE = {
    "ray._common.deprecation": "deprecated",
    "ray._private.authentication.authentication_token_setup": "authentication",
    "ray.rllib.algorithms.algorithm_config": "on the new API stack",
    "ray.tune.utils.util": "Install gputil",
}
_LIBRARIES = r"(ray|tensorflow|keras|tensorflow_datasets|gymnasium|google|jax|tensorboardX)(\.|$)"


def environment() -> dict[str, str]:
    """The environment variables of a quiet process, for this one or for Ray's workers.

    Returns:
        Names and values; a variable that the user has set keeps the user's value.

    Example:
        >>> environment()["RAY_USAGE_STATS_ENABLED"]
        '0'
    """
    # Without a GPU, TensorFlow logs as an error that it found none. Real errors reach Python as
    # exceptions at any level; 3 leaves only what kills the process.
    level = "2" if _has_gpu() else "3"
    quiet = {
        "TF_CPP_MIN_LOG_LEVEL": level,
        "GRPC_VERBOSITY": "ERROR",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
        # Ray announces at length that a later release will treat workers without a GPU differently.
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "PYTHONWARNINGS": "ignore::DeprecationWarning,ignore::FutureWarning",
    }
    return {name: os.environ.get(name, value) for name, value in quiet.items()}


def start() -> None:
    """Silence this process; to be called before TensorFlow or Ray is imported.

    A second call changes nothing.
    """
    os.environ.update(environment())
    for name, phrase in _NOISE.items():
        logger = logging.getLogger(name)
        if not any(isinstance(known, _Without) for known in logger.filters):
            logger.addFilter(_Without(phrase))
    for category in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
        warnings.filterwarnings("ignore", category=category, module=_LIBRARIES)
    if not any(isinstance(finder, _TensorFlowFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TensorFlowFinder())


def ray_options(cluster: bool = False) -> dict:
    """Arguments for ``ray.init`` that make Ray and its workers start quietly.

    The folder that holds this package comes first on the workers' path: the hook runs before Ray
    hands them the driver's path, and a clone need not be installed. A job submitted to a cluster
    must not set the same ``env_vars`` again, for Ray refuses to merge two runtime environments that
    share a name.

    Args:
        cluster: whether the workers run on other machines. They then keep their own machine's
            PYTHONPATH, after this one's. A machine that has the package neither installed nor in
            the same folder as this one cannot run workers.

    Returns:
        ``logging_level`` and ``runtime_env``, to be merged with the caller's own.
    """
    root = str(Path(__file__).resolve().parent.parent)
    # Ray fills in the variable where the worker starts. Workers here have had it already, and an
    # empty one would leave an empty entry, which Python takes for the present folder.
    node = "${PYTHONPATH}" if cluster else None
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH"), node]))
    return {
        "logging_level": "warning",
        "runtime_env": {
            "env_vars": environment() | {"PYTHONPATH": path},
            "worker_process_setup_hook": "tf_relational.quiet.start",
        },
    }


def _has_gpu() -> bool:
    return any(Path(p).exists() for p in ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))


class _Without(logging.Filter):
    """Drops the records below an error that have a phrase in them."""

    def __init__(self, phrase: str):
        super().__init__()
        self.phrase = phrase

    def filter(self, record: logging.LogRecord) -> bool:
        words = record.getMessage().lower()
        return record.levelno >= logging.ERROR or self.phrase.lower() not in words


class _TensorFlowFinder(importlib.abc.MetaPathFinder):
    """Filters what TensorFlow's shared libraries write while they are loaded.

    They do so before any log level is read, so that no environment variable reaches it.
    """

    def find_spec(self, name, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                with _native_stderr_filtered():
                    execute(module)

            spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def _native_stderr_filtered() -> Iterator[None]:
    """Send file descriptor 2 through a child process that drops the noise.

    A child, and not a thread or a file: if the import aborts the process (a processor without AVX),
    the reason still reaches the terminal.
    """
    sys.stderr.flush()
    original = os.dup(2)
    child = subprocess.Popen([sys.executable, "-IS", "-c", _FILTER], stdin=subprocess.PIPE)
    os.dup2(child.stdin.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(original, 2)
        os.close(original)
        child.stdin.close()
        child.wait()
