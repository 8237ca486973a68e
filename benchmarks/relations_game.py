"""How fast the Relations Game makes pictures: ``python -m benchmarks.relations_game``.

By task and object set, and what of it arrives through ``tf.data`` in batches of the paper's 10. The
best of the calls within some seconds, by the wall clock and by the process's CPU time (the wall
clock counts other programs too). For one core start it with ``taskset -c 0``: ``tf.data`` has
threads.
"""

from __future__ import annotations

import argparse
import os
import platform
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from benchmarks.timing import best  # noqa: E402
from tf_relational.datasets.relations_game import (  # noqa: E402
    OBJECT_SETS,
    TASK_GROUPS,
    TASKS,
    generate,
    resolve,
    stream,
)

SINGLE = [name for name in TASKS if not name.startswith(("row_", "column_"))]


def generated(tasks, object_set: str, count: int):
    rng = np.random.default_rng(0)
    return lambda: generate(tasks, object_set, count, rng)


def streamed(batch_size: int, count: int):
    batches = iter(stream("between", "pentos", batch_size=batch_size))

    def run():
        for _ in range(count // batch_size):
            next(batches)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="pictures a call")
    parser.add_argument("--seconds", type=float, default=1.0, help="of calls, for each clock")
    arguments = parser.parse_args()
    count, seconds = arguments.count, arguments.seconds
    processor = platform.processor() or platform.machine()
    print(f"{processor}, Python {platform.python_version()}, NumPy {np.__version__}\n")
    print("| task | set | pictures per second (wall) | (CPU) |")
    print("| --- | --- | ---: | ---: |")
    rows = [
        (task, object_set, generated(task, object_set, count))
        for task in [*SINGLE, *TASK_GROUPS]
        for object_set in OBJECT_SETS
        if all(object_set in each.object_sets for each in resolve(task))
    ]
    rows += [
        (f"between, tf.data in batches of {size}", "pentos", streamed(size, count))
        for size in (10, 100)
    ]
    for task, object_set, run in rows:
        wall = best(run, count, seconds)
        cpu = best(run, count, seconds, time.process_time)
        print(f"| {task} | {object_set} | {wall:,} | {cpu:,} |", flush=True)


if __name__ == "__main__":
    main()
