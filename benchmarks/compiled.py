"""How many frames per second the compiled engine does: environments alone, acting, learning, all.

    python -m benchmarks.compiled [--agents relational simplicial] [--envs 32 ...] [--unroll 40]
        [--group 32] [--policy float32 mixed_bfloat16] [--seconds 5] [--devices 1] [--replicas 1]

Bridge BoxWorld at the paper's setting, on the backend that KERAS_BACKEND names and whatever device
it finds. `--envs` is E; every gradient step is made on `--group` environments, the paper's 32 by
default, so that a batch has E / group of them. Frames per second after a call that compiles, within
`--seconds`: the best call of a part, all calls of the whole; on a CPU of processor time, so that
work beside it counts as little as it can. One JSON object a line.
"""

import argparse
import json
import time

from benchmarks.timing import best, sustained


def waiting(compiled, *arguments):
    """A call of a compiled function that returns when its numbers are there."""
    import numpy as np
    from keras import tree

    return lambda: [np.asarray(part) for part in tree.flatten(compiled(*arguments))]


def parts(trainer):
    """Functions of one replica that return one small tensor each: random play, acting, learning."""
    from keras import KerasTensor, ops

    from tf_relational.envs import compiled_rules as rules
    from tf_relational.rl.compiled.backend import gumbel, loop
    from tf_relational.rl.compiled.program import Program

    program = Program(trainer.settings, trainer.layout, len(trainer.kinds), trainer.learners)
    length, envs = trainer.settings.unroll_length, trainer.settings.num_envs

    def play(index, carry, private, shared):
        def step(state, t):
            games, cursor = state
            actions = ops.cast(ops.argmax(gumbel(private["seed"], t, (envs, 4)), -1), "int32")
            seen = ops.sum(ops.cast(rules.observe(trainer.layout, games), "int32"))
            games, outcome = rules.step(trainer.layout, games, actions)
            return rules.restart(
                trainer.layout, games, outcome.done, private["pool"], cursor
            ), seen + ops.cast(ops.sum(outcome.reward), "int32")

        times = ops.arange(length, dtype="int32")
        state = (carry.games, carry.cursor)
        return loop(step, state, times, length, KerasTensor((), "int32"))[1]

    def act(index, carry, private, shared):
        _, steps, last = program.unroll(index, carry, private)
        pictures = ops.sum(ops.cast(steps.observations, "float32"))
        pictures += ops.sum(ops.cast(last, "float32"))
        return ops.sum(steps.log_probs) + pictures

    def unroll(index, carry, private, shared):
        _, steps, last = program.unroll(index, carry, private)
        return steps, last

    def learn(index, carry, batch, shared):
        steps, last = batch
        _, told = program.learn(index, carry.learner, steps, last, shared)
        return told

    return play, act, unroll, learn


def measure(agent, envs, options, clock):
    """Frames per second of each part, in this process."""
    import numpy as np

    from tf_relational.envs import BRIDGE
    from tf_relational.models import build_agent
    from tf_relational.rl import make_optimizer
    from tf_relational.rl.compiled import CompiledTrainer, Settings
    from tf_relational.rl.compiled.backend import compile_replicas

    group = min(options.group, envs)
    settings = Settings(
        num_envs=envs, unroll_length=options.unroll, num_minibatches=envs // group,
        devices=options.devices,
    )  # fmt: skip
    trainer = CompiledTrainer(
        settings, BRIDGE, lambda: build_agent(agent), make_optimizer, range(options.replicas)
    )
    frames = settings.frames_per_update * options.replicas
    private = {
        "pool": np.stack([pool.rows for pool in trainer.pools]),
        "seed": np.arange(options.replicas, dtype=np.int32),
        "difficulty": np.zeros(options.replicas, np.int32),
    }
    shared = {"learning_rate": np.float32(2e-4), "entropy": np.float32(5e-3)}
    play, act, unroll, learn = (
        compile_replicas(part, options.replicas, True) for part in parts(trainer)
    )
    carry = trainer._carry
    batch = unroll(carry, private, shared)
    calls = {
        "environments": waiting(play, carry, private, shared),
        "acting": waiting(act, carry, private, shared),
        "learning": waiting(learn, carry, batch, shared),
    }
    found = {name: best(call, frames, options.seconds, clock) for name, call in calls.items()}
    found["whole"] = sustained(
        trainer.train, lambda: trainer.frames * options.replicas, options.seconds, clock
    )
    trainer.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", nargs="+", default=["relational", "simplicial"])
    parser.add_argument("--envs", type=int, nargs="+", default=[32])
    parser.add_argument("--unroll", type=int, default=40)
    parser.add_argument("--group", type=int, default=32)
    parser.add_argument("--policy", nargs="+", default=["float32"])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=1)
    options = parser.parse_args()

    from tf_relational import quiet

    quiet.start()
    import keras

    from tf_relational.rl.compiled.backend import devices_in_words, on_accelerator

    clock = time.perf_counter if on_accelerator() else time.process_time

    for policy in options.policy:
        keras.config.set_dtype_policy(policy)
        for agent in options.agents:
            for envs in options.envs:
                line = {
                    "agent": agent,
                    "envs": envs,
                    "group": min(options.group, envs),
                    "replicas": options.replicas,
                    "policy": policy,
                    **devices_in_words(options.devices),
                    **measure(agent, envs, options, clock),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
