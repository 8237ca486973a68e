"""How many frames per second the agents' networks do: forward, and forward with gradients.

    python -m benchmarks.network [--batch 640] [--threads 1] [--repeat 10] [agent ...]

XLA-compiled, on boards of 7x10 cells. The figure is frames per second of processor time, so that
work beside it on the machine counts as little as it can; the best and the median of `--repeat`.
"""

import argparse
import os
import time


def measure(function, batch, repeat):
    """Frames per second of processor time, best and median, after a first call that compiles."""
    import numpy as np

    def once():
        start = time.process_time()
        np.asarray(function()[0])
        return time.process_time() - start

    once()
    times = [once() for _ in range(repeat)]
    return batch / np.min(times), batch / np.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agents", nargs="*", default=["relational", "simplicial"])
    parser.add_argument("--batch", type=int, default=640)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import numpy as np
    import tensorflow as tf

    from tf_relational.models import build_agent

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    draw = np.random.default_rng(0)
    boards = draw.integers(0, 256, size=(options.batch, 7, 10, 3), dtype="uint8")
    boards = tf.constant(boards)
    coefficients = tf.constant(draw.normal(size=(options.batch, 4)).astype("float32"))
    for name in options.agents:
        agent = build_agent(name)
        agent(boards[:1])

        def forward(agent=agent):
            outputs = agent(boards)
            return outputs["logits"], outputs["value"]

        def update(agent=agent, forward=forward):
            weights = [variable.value for variable in agent.trainable_variables]
            with tf.GradientTape() as tape:
                logits, value = forward()
                loss = tf.reduce_sum(logits * coefficients) + tf.reduce_sum(value)
            return tape.gradient(loss, weights)

        for what, function in {"forward": forward, "forward and gradients": update}.items():
            compiled = tf.function(function, jit_compile=True)
            best, median = measure(compiled, options.batch, options.repeat)
            print(
                f"{name:11s} batch {options.batch:5d} {what:22s}"
                f" {best:8,.0f} frames/s (median {median:,.0f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
