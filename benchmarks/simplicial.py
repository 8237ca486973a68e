"""Time and memory of 2-simplicial attention over all pairs of N entities, plain and in blocks.

    python -m benchmarks.simplicial [--sizes 32 64 128 256 512] [--block 32] [--limit 6]

XLA-compiled on TensorFlow, on one thread. Every figure comes from a process of its own. Time is
processor time, so that work beside it on the machine counts as little as it can: the best of
`--repeat` calls after a first one that compiles. Memory is how far the process rose, compiling
among it, above what it held when the layer and its input were there. The plain form is left out
where `TENSORS` tensors of N^3 numbers are more than `--limit` GiB.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

# What the plain form holds at once, in tensors [B, H, N, N, N]: forward, and with gradients.
TENSORS = {"forward": 2, "forward and gradients": 9}
GIB = 2**30


def peak():
    """The most memory that this process has had resident so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(size, block, what, options):
    """Seconds of processor time and GiB of one form at one N, in this process."""
    import numpy as np
    import tensorflow as tf

    from tf_relational.layers import SimplicialAttention

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    layer = SimplicialAttention(options.features, options.heads, block_size=block)
    draw = np.random.default_rng(0)
    entities = draw.normal(size=(options.batch, size, options.features)).astype("float32")
    entities = tf.constant(entities)
    layer.build(entities.shape)
    weights = [variable.value for variable in layer.trainable_variables]

    def forward():
        return layer(entities)

    def update():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(forward()))
        return tape.gradient(loss, weights)

    compiled = tf.function(forward if what == "forward" else update, jit_compile=True)
    before = peak()
    times = []
    for _ in range(options.repeat + 1):
        start = time.process_time()
        np.asarray(compiled()[0])
        times.append(time.process_time() - start)
    return min(times[1:]), peak() - before


def measure_elsewhere(size, block, what):
    """The same in a new process with this one's options."""
    one = json.dumps([size, block, what])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.simplicial", *sys.argv[1:], "--one", one],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"N={size}, block={block}, {what}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 128, 256, 512])
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--features", type=int, default=48)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=6.0, help="GiB, for the plain form")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if options.one:
        print(json.dumps(measure(*json.loads(options.one), options)))
        return

    print(f"features {options.features}, heads {options.heads}, batch {options.batch}")
    print("| N | form | forward | memory | forward and gradients | memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in options.sizes:
        for block in (None, options.block):
            cells = [str(size), "plain" if block is None else f"blocks of {block}"]
            for what, tensors in TENSORS.items():
                needed = tensors * 4 * options.batch * options.heads * size**3 / GIB
                if block is None and needed > options.limit:
                    cells += ["not run", f"about {needed:.1f} GiB"]
                    continue
                seconds, memory = measure_elsewhere(size, block, what)
                cells += [f"{seconds:,.3f} s", f"{1024 * memory:,.0f} MiB"]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
