"""How fast the agents' networks are, against the arithmetic they need; what half precision changes.

    python -m benchmarks.network [--batch 42] [--threads 1] [--repeat 20] [--agents ...]
        [--policies float32 mixed_bfloat16]

XLA-compiled, on boards of 7x10 cells; the batch is the learner's slice (2 environments, 20 steps
and one) by default. The figure is frames per second of processor time, so that work beside it on
the machine counts as little as it can; the best of `--repeat`. The floor is the count of
multiplications below over the rate of a large matrix product, measured in the same run; a gradient
needs twice the forward's. What a precision changes is told on the same weights and boards.
"""

import argparse
import os
import time


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


def seconds(call, repeat):
    """Processor time of the fastest of `repeat` calls after one that compiles."""
    import numpy as np

    times = []
    for _ in range(repeat + 1):
        start = time.process_time()
        np.asarray(call()[0])
        times.append(time.process_time() - start)
    return min(times[1:])


def matrix_rate(repeat, size=1024):
    """Multiply-adds per second of a large product."""
    import tensorflow as tf

    matrix = tf.random.normal((size, size))
    product = tf.function(lambda: [tf.matmul(matrix, matrix)], jit_compile=True)
    return size**3 / seconds(product, repeat)


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
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import keras
    import numpy as np
    import tensorflow as tf

    from tf_relational.envs import BRIDGE, BoxWorldVectorEnv
    from tf_relational.models import build_agent

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rate = matrix_rate(options.repeat)
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
                took = seconds(compiled, options.repeat) / options.batch
                floor = times * multiplications(name) / rate
                print(
                    f"{name:10s} {policy:14s} {what:21s} {1 / took:7,.0f} frames/s, "
                    f"{2e-6 * times * multiplications(name):5.1f} MFLOP a frame, "
                    f"{floor / took:.0%} of the floor's speed",
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
