"""Acting, learning and the whole loop of both engines beside RLlib's own IMPALA on torch.

    python -m benchmarks.agents [--torch PYTHON] [--rounds 3] [--seconds 20] [--agents ...]

Bridge BoxWorld with the paper's 32 environments, unrolls of 40 steps and one gradient step a batch.
Every figure is frames per second of wall time on all cores this process may use. Each subject is
measured in a process of its own, one after the other, `--rounds` times over, so that all of them
see the same machine; told are the medians, and each one's ratio to torch.

`--torch` is the Python of an environment that has RLlib and torch:

    python -m venv torch-env && torch-env/bin/pip install "ray[rllib]" torch
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

PARTS = ("acting", "learning", "whole")
ENVS, UNROLL = 32, 40


def measure_rllib(agent, runners, seconds):
    """Of `--engine rllib`, in this process."""
    from benchmarks.timing import best, sustained
    from tf_relational.experiments.algorithm import start_ray

    start_ray(runners)
    from rllib_configs import bridge_boxworld

    config = bridge_boxworld.config(agent, seed=0, num_env_runners=runners)
    algo = config.env_runners(num_envs_per_env_runner=ENVS).build_algo()
    learner, frames = algo.learner_group._learner, ENVS * UNROLL
    while algo.frames()["trained"] < 3 * frames:
        algo.train()
    whole = sustained(algo.train, lambda: algo.frames()["trained"], seconds)
    runner = algo.env_runner if runners == 0 else algo.env_runner_group.local_env_runner
    runner = runner or type(config).env_runner_cls(config=algo.config)
    rollouts = runner.sample()
    found = {
        "acting": best(runner.sample, frames, seconds / 4),
        "learning": best(lambda: learner.update(episodes=rollouts), frames, seconds / 4),
        "whole": whole,
    }
    algo.stop()
    return found


def measure_compiled(agent, runners, seconds):
    """Of `--engine compiled`, in this process."""
    from tf_relational import quiet

    quiet.start()
    from benchmarks.compiled import measure

    options = argparse.Namespace(
        group=ENVS, unroll=UNROLL, devices=1, replicas=1, seconds=seconds / 4
    )
    return {part: measure(agent, ENVS, options, time.perf_counter)[part] for part in PARTS}


def in_a_process(command):
    """The JSON object that a command prints last."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", help="Python of an environment with RLlib and torch")
    parser.add_argument("--agents", nargs="+", default=["relational", "simplicial"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--env-runners", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        engine, agent, runners = options.one
        measure = {"rllib": measure_rllib, "compiled": measure_compiled}[engine]
        print(json.dumps(measure(agent, int(runners), options.seconds)), flush=True)
        return

    seconds = ["--seconds", str(options.seconds)]
    commands = {}
    for runners in options.env_runners:
        words = f"{runners} env runners"
        if options.torch:
            command = [options.torch, "-m", "benchmarks.torch_impala", *seconds]
            commands["torch", "relational", words] = [*command, "--env-runners", str(runners)]
        for agent in options.agents:
            command = [sys.executable, "-m", "benchmarks.agents", *seconds, "--one", "rllib"]
            commands["rllib", agent, words] = [*command, agent, str(runners)]
    for agent in options.agents:
        command = [sys.executable, "-m", "benchmarks.agents", *seconds, "--one", "compiled"]
        commands["compiled", agent, "one program"] = [*command, agent, "0"]

    found = {subject: [] for subject in commands}
    for number in range(options.rounds):
        for subject, command in commands.items():
            found[subject].append(in_a_process(command))
            print(f"round {number + 1}: {' '.join(subject)}: {found[subject][-1]}", flush=True)
    medians = {
        subject: {part: statistics.median(one[part] for one in rounds) for part in PARTS}
        for subject, rounds in found.items()
    }
    rivals = [medians[subject] for subject in medians if subject[0] == "torch"]
    best = {part: max(rival[part] for rival in rivals) for part in PARTS} if rivals else None
    print("\n| engine | agent | | acting | learning | whole loop | whole against torch's best |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for (engine, agent, words), told in medians.items():
        ratio = f"{told['whole'] / best['whole']:.2f}" if best else "-"
        cells = " | ".join(f"{told[part]:,.0f}" for part in PARTS)
        print(f"| {engine} | {agent} | {words} | {cells} | {ratio} |")


if __name__ == "__main__":
    main()
