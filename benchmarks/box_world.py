"""How fast Box-World is on one core: ``python -m benchmarks.box_world``.

Every figure is the best of several repeats, once by the wall clock and once by the process's CPU
time (the wall clock counts other programs too). A step of a batched environment
holds the observation and the auto-reset; the random actions are drawn beforehand.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import time
from collections.abc import Callable

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from tf_relational.envs import (  # noqa: E402
    BRIDGE,
    STANDARD,
    BoxWorldEnv,
    BoxWorldVectorEnv,
    generate,
    solve,
)

TASKS = {
    "bridge 7x9, no horizon": BRIDGE,
    "bridge 7x9, horizon 120": dataclasses.replace(BRIDGE, horizon=120),
    "bridge 7x9, length 1, horizon 120": dataclasses.replace(
        BRIDGE, solution_length=(1, 1), horizon=120
    ),
    "standard 9x9, no horizon": STANDARD,
    "standard 9x9, horizon 120": dataclasses.replace(STANDARD, horizon=120),
}
STEPS = 480  # four horizons, so that each repeat holds its share of resets


def measure(run: Callable[[], int], repeats: int) -> tuple[float, float]:
    """Most units a second of wall clock, and of CPU time, over ``repeats`` of ``run``."""
    wall = cpu = 0.0
    for _ in range(repeats):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        units = run()
        wall = max(wall, units / (time.perf_counter() - wall_start))
        cpu = max(cpu, units / (time.process_time() - cpu_start))
    return wall, cpu


def batched(config, num_envs: int) -> Callable[[], int]:
    envs = BoxWorldVectorEnv(num_envs, config)
    envs.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 4, (STEPS, num_envs))

    def run() -> int:
        for action in actions:
            envs.step(action)
        return STEPS * num_envs

    run()
    return run


def single(config) -> Callable[[], int]:
    env = BoxWorldEnv(config)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 4, 50_000).tolist()

    def run() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    return run


def levels(config) -> Callable[[], int]:
    rng = np.random.default_rng(0)
    return lambda: sum(len(generate(config, 1024, rng)) for _ in range(20))


def solutions(config) -> Callable[[], int]:
    drawn = list(generate(config, 300, np.random.default_rng(0)))
    return lambda: sum(solve(level) is not None for level in drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, ",
        end="",
    )
    print(f"NumPy {np.__version__}, one core\n")
    print("| what | task | per second (wall) | per second (CPU) |")
    print("| --- | --- | ---: | ---: |")
    rows = [
        (f"steps, {num_envs} environments at once", task, batched(config, num_envs))
        for task, config in TASKS.items()
        for num_envs in (32, 256, 1024, 4096)
    ]
    rows += [("steps, single environment", task, single(config)) for task, config in TASKS.items()]
    for name, config in (("bridge", BRIDGE), ("standard", STANDARD)):
        rows.append(("levels generated, 1024 at once", name, levels(config)))
        rows.append(("levels solved exactly", name, solutions(config)))
    for what, task, run in rows:
        wall, cpu = measure(run, repeats)
        print(f"| {what} | {task} | {wall:,.0f} | {cpu:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
