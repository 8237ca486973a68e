"""How fast the agents' networks are, against the arithmetic they need; what half precision changes.

    python -m benchmarks.network [--batch 42] [--threads 1] [--seconds 3] [--agents ...]
        [--policies float32 mixed_bfloat16]

XLA-compiled, on boards of 7x10 cells; the batch is the learner's slice (2 environments, 20 steps
and one) by default. The figure is frames per second of processor time, so that work beside it on
the machine counts as little as it can; the best call within `--seconds`. The floor is the count of
multiplications below over the rate of a large matrix product, measured in the same run; a gradient
needs twice the forward's. What a precision changes is told on the same weights and boards.
"""

import argparse
import os
import time

from benchmarks.timing import best


def multiplications(agent, entities=40, size=64, simplicial=48, virtual=2, iterations=2):
    """Multiply-adds of matrix products for one frame, forward, from the layers' sizes."""
    view = 54 * 12 * 12 + entities * (24 * 48 + 24 * (size - 2))
    block = entities * (3 * size**2 + 2 * entities * size + 2 * size**2)
    head = size * 256 + 3 * 256**2 + 256 * 5
    if agent == "simplicial":
        # Queries and the wider dense layer of every entity, pairs of the virtual ones.
        block += 2 * entities * size * simplicial
        block += entities * simplicial * (2 * virtual + virtual**2)
        # The virtual entities' own rows.
        block += virtual * (5 * size**2 + 2 * (entities + virtual) * size + 4 * size * simplicial)
        # Before they have read, the virtual entities are the same in every example.
        block += virtual * simplicial**3 * (iterations - 1) / iterations
    return view + iterations * block + head


def fastest(compiled, count, seconds):
    """`count` per second of processor time of the best call within `seconds`."""
    return best(lambda: compiled()[0].numpy(), count, seconds, time.process_time)


def matrix_rate(seconds, size=1024):
    """Multiply-adds per second of a large product."""
    import tensorflow as tf

    matrix = tf.random.normal((size, size))
    product = tf.function(lambda: [tf.matmul(matrix, matrix)], jit_compile=True)
    return fastest(product, size**3, seconds)


def distance(outputs, exact):
    """Largest difference of the logits, and the policies' mean Kullback-Leibler divergence."""
    import tensorflow as tf

    ours, theirs = (tf.nn.log_softmax(part["logits"]) for part in (outputs, exact))
    divergence = tf.reduce_mean(tf.reduce_sum(tf.exp(theirs) * (theirs - ours), axis=-1))
    return float(tf.reduce_max(tf.abs(outputs["logits"] - exact["logits"]))), float(divergence)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", nargs="+", default=["relational", "simplicial"])
    parser.add_argument("--policies", nargs="+", default=["float32"])
    parser.add_argument("--weights", help="an agent.keras whose outputs are compared (one agent)")
    parser.add_argument("--batch", type=int, default=42)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import keras
    import numpy as np
    import tensorflow as tf

    from tf_relational.envs import BRIDGE, BoxWorldVectorEnv
    from tf_relational.models import build_agent

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rate = matrix_rate(options.seconds)
    print(f"matrix product: {rate / 1e9:.1f} G multiply-adds/s")
    boards = tf.constant(BoxWorldVectorEnv(options.batch, BRIDGE).reset(seed=0)[0])
    draw = np.random.default_rng(0)
    coefficients = tf.constant(draw.normal(size=(options.batch, 4)).astype("float32"))
    for name in options.agents:
        agents = {}
        for policy in options.policies:
            keras.config.set_dtype_policy(policy)
            keras.utils.set_random_seed(0)
            agent = agents[policy] = build_agent(name)
            agent(boards[:1])
            if options.weights:
                agent.set_weights(keras.models.load_model(options.weights).get_weights())

            def forward(agent=agent):
                outputs = agent(boards)
                return outputs["logits"], outputs["value"]

            def update(agent=agent, forward=forward):
                weights = [variable.value for variable in agent.trainable_variables]
                with tf.GradientTape() as tape:
                    logits, value = forward()
                    loss = tf.reduce_sum(logits * coefficients) + tf.reduce_sum(value)
                return tape.gradient(loss, weights)

            parts = {"forward": (forward, 1), "forward and gradients": (update, 3)}
            for what, (function, times) in parts.items():
                compiled = tf.function(function, jit_compile=True)
                speed = fastest(compiled, options.batch, options.seconds)
                floor = rate / (times * multiplications(name))
                print(
                    f"{name:10s} {policy:14s} {what:21s} {speed:7,.0f} frames/s, "
                    f"{2e-6 * times * multiplications(name):5.1f} MFLOP a frame, "
                    f"{speed / floor:.0%} of the floor's speed",
                    flush=True,
                )
            if policy != options.policies[0]:
                first = agents[options.policies[0]]
                logits, divergence = distance(agent(boards), first(boards))
                print(
                    f"{name:10s} {policy:14s} against {options.policies[0]}: logits differ by at "
                    f"most {logits:.1e}, policies by {divergence:.1e} nats",
                    flush=True,
                )


if __name__ == "__main__":
    main()
