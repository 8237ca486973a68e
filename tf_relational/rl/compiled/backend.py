"""What TensorFlow and JAX do not share: loops, random numbers, compilation, gradient and update.

The only file of the compiled trainer that asks which backend runs. Everything else is `keras.ops`.

A learner is one model and one optimizer on TensorFlow, whose variables a compiled function changes
in place, and a pure function of their values on JAX. `Learners` hides that: its `state` travels
through the compiled program on both, and is empty on TensorFlow.
"""

import keras
import numpy as np
from keras import ops, tree

BACKENDS = ("tensorflow", "jax")


def check_backend():
    """Return the backend's name.

    Raises:
        ValueError: Keras runs on neither TensorFlow nor JAX.
    """
    name = keras.backend.backend()
    if name not in BACKENDS:
        raise ValueError(
            f"the compiled trainer runs on {' and '.join(BACKENDS)}; KERAS_BACKEND is {name!r}."
        )
    return name


def on_jax():
    """Return whether Keras runs on JAX."""
    return check_backend() == "jax"


def devices_in_words(count=1):
    """Return the backend and the names of the devices that a program runs on, as plain data."""
    if on_jax():
        import jax

        names = [device.device_kind for device in jax.devices()[:count]]
    else:
        import tensorflow as tf

        details = tf.config.experimental.get_device_details
        gpus = tf.config.list_physical_devices("GPU")[:count]
        names = [details(gpu).get("device_name", gpu.name) for gpu in gpus] or ["cpu"]
    return {"backend": check_backend(), "devices": names}


def on_accelerator():
    """Return whether the backend's first device is something else than a CPU."""
    if on_jax():
        import jax

        return jax.devices()[0].platform != "cpu"
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


def loop(body, carry, xs, length, outputs):
    """Run `carry, y = body(carry, x)` for the rows `x` of `xs`, and stack the `y`.

    No gradient goes through it.

    Args:
        body: takes and gives a carry of unchanging structure, shapes and dtypes.
        carry: pytree of tensors.
        xs: pytree of tensors `[length, ...]`.
        length: a Python integer.
        outputs: pytree of `keras.KerasTensor` like `y`, which TensorFlow has to know beforehand.

    Returns:
        The last carry and the pytree of `[length, ...]`.

    Example:
        >>> total, sums = loop(
        ...     lambda carry, x: (carry + x, carry + x), np.float32(0), np.ones(3, "float32"), 3,
        ...     keras.KerasTensor((), "float32"))
        >>> np.asarray(sums).tolist()
        [1.0, 2.0, 3.0]
    """
    if on_jax():
        import jax

        return jax.lax.scan(body, carry, xs, length)
    import tensorflow as tf

    arrays = [
        tf.TensorArray(spec.dtype, length, element_shape=spec.shape)
        for spec in tree.flatten(outputs)
    ]
    xs = tree.map_structure(tf.convert_to_tensor, xs)
    flat = [tf.convert_to_tensor(part) for part in tree.flatten(carry)]

    def turn(index, flat, arrays):
        x = tree.map_structure(lambda part: part[index], xs)
        new, y = body(tree.pack_sequence_as(carry, flat), x)
        written = [
            array.write(index, part) for array, part in zip(arrays, tree.flatten(y), strict=True)
        ]
        return index + 1, tree.flatten(new), written

    _, flat, arrays = tf.while_loop(
        lambda index, *_: index < length,
        turn,
        (tf.constant(0), flat, arrays),
        maximum_iterations=length,
    )
    stacked = [array.stack() for array in arrays]
    return tree.pack_sequence_as(carry, flat), tree.pack_sequence_as(outputs, stacked)


def gumbel(seed, counter, shape):
    """Draw Gumbel noise, the same for the same seed and counter.

    Args:
        seed, counter: int32 scalars, tensors or numbers.
        shape: a tuple of integers.

    Returns:
        float32 of that shape.
    """
    if on_jax():
        import jax

        return jax.random.gumbel(jax.random.fold_in(jax.random.key(seed), counter), shape)
    import tensorflow as tf

    # A named generator draws the same numbers with and without XLA.
    uniform = tf.random.stateless_uniform(
        shape, tf.stack([seed, counter]), minval=np.finfo("float32").tiny, alg="philox"
    )
    return -tf.math.log(-tf.math.log(uniform))


class Learners:
    """The models and optimizers of S replicas that one program trains.

    Args:
        models: S built `keras.Model`s of one architecture, observations `[B, ...]` to a dict with
            `logits` `[B, A]` and `value` `[B]`.
        optimizers: S optimizers of one kind.
        gradient_clip: largest global norm of a gradient.
    """

    def __init__(self, models, optimizers, gradient_clip):
        self.models, self.optimizers, self.gradient_clip = models, optimizers, gradient_clip
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.build(model.trainable_variables)
        self.state = self._stack([self._values(index) for index in range(len(models))])

    def _values(self, index):
        if not on_jax():
            return {}
        model, optimizer = self.models[index], self.optimizers[index]
        return {
            "trainable": [variable.value for variable in model.trainable_variables],
            "fixed": [variable.value for variable in model.non_trainable_variables],
            "slots": [variable.value for variable in optimizer.variables],
        }

    @staticmethod
    def _stack(values):
        return tree.map_structure(lambda *parts: ops.stack(parts), *values)

    def get(self, index):
        """Return `(weights, slots)` of one replica, two lists of NumPy arrays.

        They are in the order of `model.weights` and `optimizer.variables`.
        """
        self.update_model(index)
        model, optimizer = self.models[index], self.optimizers[index]
        return (
            [ops.convert_to_numpy(variable.value).copy() for variable in model.weights],
            [ops.convert_to_numpy(variable.value).copy() for variable in optimizer.variables],
        )

    def set(self, index, weights, slots):
        """Take over what `get` gave."""
        model, optimizer = self.models[index], self.optimizers[index]
        for variable, value in zip(model.weights, weights, strict=True):
            variable.assign(value)
        for variable, value in zip(optimizer.variables, slots, strict=True):
            variable.assign(value)
        if on_jax():
            new = self._values(index)
            self.state = tree.map_structure(
                lambda old, part: old.at[index].set(part), self.state, new
            )

    def update_model(self, index):
        """Write the state into the variables of one replica's model and optimizer."""
        if not on_jax():
            return
        model, optimizer = self.models[index], self.optimizers[index]
        targets = {
            "trainable": model.trainable_variables,
            "fixed": model.non_trainable_variables,
            "slots": optimizer.variables,
        }
        for name, variables in targets.items():
            for variable, value in zip(variables, self.state[name], strict=True):
                # Off the mesh, if the program runs on several devices.
                variable.assign(np.asarray(value[index]))

    def forward(self, index, state, observations):
        """Call the model of replica `index`, whose state (one replica's) is given."""
        if not on_jax():
            return self.models[index](observations)
        outputs, _ = self.models[index].stateless_call(
            state["trainable"], state["fixed"], observations
        )
        return outputs

    def gradients(self, index, state, loss):
        """Differentiate a loss by the weights of one replica.

        Args:
            index: the replica.
            state: its state.
            loss: a function of `forward(observations)` that gives a scalar and a pytree of what
                else it found.

        Returns:
            The gradients, in the order of `model.trainable_variables`, and that pytree.
        """
        if on_jax():
            import jax

            def total(trainable):
                here = {**state, "trainable": trainable}
                return loss(lambda observations: self.forward(index, here, observations))

            return jax.grad(total, has_aux=True)(state["trainable"])
        import tensorflow as tf

        model = self.models[index]
        with tf.GradientTape() as tape:
            value, found = loss(model)
        return tape.gradient(value, [v.value for v in model.trainable_variables]), found

    def apply(self, index, state, gradients, learning_rate):
        """Clip gradients by their global norm and let the optimizer make its step.

        Args:
            index: the replica.
            state: its state.
            gradients: in the order of `model.trainable_variables`.
            learning_rate: float32 scalar.

        Returns:
            The new state, and the norm before the clip.
        """
        optimizer = self.optimizers[index]
        norm = ops.sqrt(sum(ops.sum(ops.square(gradient)) for gradient in gradients))
        scale = self.gradient_clip / ops.maximum(norm, self.gradient_clip)
        gradients = [gradient * scale for gradient in gradients]
        if not on_jax():
            optimizer.learning_rate.assign(learning_rate)
            optimizer.apply(gradients, self.models[index].trainable_variables)
            return state, norm
        slots = [
            ops.cast(learning_rate, value.dtype) if variable is optimizer.learning_rate else value
            for variable, value in zip(optimizer.variables, state["slots"], strict=True)
        ]
        trainable, slots = optimizer.stateless_apply(slots, gradients, state["trainable"])
        return {"trainable": trainable, "fixed": state["fixed"], "slots": slots}, norm


def compile_replicas(function, count, jit_compile, lay=None):
    """Compile a function of one replica into one of all of them.

    On JAX the replicas are one program by `vmap`; on TensorFlow, where the variables of each are
    objects of their own, they stand one after the other in one graph.

    Args:
        function: `function(index, carry, private, shared) -> (carry, outputs)` of pytrees.
        count: S.
        jit_compile: whether XLA compiles on TensorFlow. JAX always does.
        lay: None, or a function that lays the results over several devices.

    Returns:
        `compiled(carry, private, shared)`, where the leaves of `carry` and `private`, and of the
        results, have S in front.
    """
    if on_jax():
        import jax

        def every(carry, private, shared):
            # One replica is not mapped: XLA knows faster kernels without the extra dimension.
            if count > 1:
                results = jax.vmap(lambda c, p: function(0, c, p, shared))(carry, private)
            else:
                first = tree.map_structure(lambda part: part[0], (carry, private))
                results = tree.map_structure(lambda part: part[None], function(0, *first, shared))
            return results if lay is None else lay(results)

        return jax.jit(every)
    import tensorflow as tf

    def every(carry, private, shared):
        results = [
            function(index, *tree.map_structure(lambda part: part[index], (carry, private)), shared)  # noqa: B023
            for index in range(count)
        ]
        return tree.map_structure(lambda *parts: tf.stack(parts), *results)

    return tf.function(every, jit_compile=jit_compile, autograph=False)


def compilations(compiled):
    """Return how often a function of `compile_replicas` was compiled."""
    return compiled._cache_size() if on_jax() else compiled.experimental_get_tracing_count()


def data_mesh(devices):
    """Return a mesh of that many devices, over which environments are split, or None for one.

    Raises:
        ValueError: more than one device on TensorFlow, or more than there are.
    """
    if devices == 1:
        return None
    if not on_jax():
        raise ValueError(
            f"the compiled trainer uses one device on TensorFlow, devices={devices} was asked for: "
            "start with KERAS_BACKEND=jax for more."
        )
    import jax

    if devices > len(jax.devices()):
        raise ValueError(
            f"devices={devices} were asked for, JAX sees {len(jax.devices())}: {jax.devices()}."
        )
    return jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("data",))


def split(tensors, mesh, axis):
    """Lay a dimension of tensors over a mesh; without a mesh they stay as they are.

    Args:
        tensors: pytree.
        mesh: of `data_mesh`.
        axis: the dimension that is split, or None to copy them to every device.
    """
    if mesh is None:
        return tensors
    import jax

    # Without trailing dimensions, as JAX writes it: another spelling would be compiled for anew.
    spec = jax.sharding.PartitionSpec(*() if axis is None else (None,) * axis + ("data",))
    sharding = jax.sharding.NamedSharding(mesh, spec)

    def place(part):
        if isinstance(part, jax.core.Tracer):
            return jax.lax.with_sharding_constraint(part, sharding)
        return jax.device_put(part, sharding)

    return tree.map_structure(place, tensors)
