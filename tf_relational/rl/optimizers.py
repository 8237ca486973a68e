"""Optimizers of the published agents: RMSProp as TensorFlow 1 computed it, and others by name."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tf_relational")
class TF1RMSProp(keras.optimizers.Optimizer):
    """RMSProp with epsilon inside the root and a mean square that starts at `initial_mean_square`.

    ::

        r <- rho r + (1 - rho) g^2
        m <- momentum m + learning_rate g / sqrt(r + epsilon)
        x <- x - m

    `variant="published"` starts `r` at 1, as TensorFlow 1's `RMSPropOptimizer` did: that is what
    trained the 2-simplicial agents. Until the slot has decayed (its half-life at `rho` 0.99 is 69
    updates) steps are up to `sqrt((1 + epsilon) / epsilon)` shorter than from 0; with epsilon 0.1
    that is 3.3 times. `variant="paper"` starts it at 0, which is how Appendix E reads: its moving
    average of squared gradients has no other term. The root and epsilon are the same in both, and
    the appendix has no momentum; `keras.optimizers.RMSprop` differs from `"published"` only in the
    starting slot.

    Args:
        learning_rate: a number or a Keras schedule. Default: Table 1.
        rho: decay of the mean square. Default: Table 1 ("RMSProp decay").
        momentum: Default: Table 1.
        epsilon: added under the root. Default: Table 1.
        variant: `"published"` or `"paper"`.
        **kwargs: those of `keras.optimizers.Optimizer` (`global_clipnorm`, `name`, ...).

    Raises:
        ValueError: for an unknown `variant`.

    Source: Clift et al. 2020, Table 1 and Appendix E.

    Example:
        >>> optimizer = TF1RMSProp(learning_rate=0.1, epsilon=0.0, rho=0.75)
        >>> x = keras.Variable([1.0])
        >>> optimizer.apply([ops.ones((1,))], [x])  # r stays 1, so x moves by 0.1
        >>> round(float(x[0]), 6)
        0.9
    """

    def __init__(
        self,
        learning_rate=2e-4,
        rho=0.99,
        momentum=0.0,
        epsilon=0.1,
        variant="published",
        name="tf1_rmsprop",
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        if variant not in ("published", "paper"):
            raise ValueError(
                f'TF1RMSProp: `variant` must be "published" or "paper"; received {variant!r}.'
            )
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.variant = variant

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        start = "ones" if self.variant == "published" else "zeros"
        self._mean_squares = [
            self.add_variable_from_reference(v, name="mean_square", initializer=start)
            for v in variables
        ]
        self._momenta = [
            self.add_variable_from_reference(v, name="momentum") if self.momentum else None
            for v in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        learning_rate = ops.cast(learning_rate, variable.dtype)
        gradient = ops.cast(gradient, variable.dtype)
        index = self._get_variable_index(variable)
        mean_square = self._mean_squares[index]
        self.assign_add(mean_square, (1.0 - self.rho) * (ops.square(gradient) - mean_square))
        step = learning_rate * gradient * ops.rsqrt(mean_square + self.epsilon)
        if self.momentum:
            step = self.momentum * self._momenta[index] + step
            self.assign(self._momenta[index], step)
        self.assign_sub(variable, step)

    def get_config(self):
        return {
            **super().get_config(),
            "rho": self.rho,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "variant": self.variant,
        }


def make_optimizer(name="rmsprop_tf1", learning_rate=2e-4, **kwargs):
    """Build an optimizer from its name.

    Args:
        name: `"rmsprop_tf1"` (`TF1RMSProp`, Table 1), or the name of an optimizer in
            `keras.optimizers` in any case: `"adam"`, `"rmsprop"`, `"sgd"`, ...
        learning_rate: a number.
        **kwargs: further arguments of that optimizer, e.g. `variant`, `epsilon`.

    Returns:
        A `keras.optimizers.Optimizer`.

    Raises:
        ValueError: for an unknown name, with the names allowed.

    Example:
        >>> type(make_optimizer("adam", 1e-3)).__name__
        'Adam'
    """
    if str(name).lower() == "rmsprop_tf1":
        return TF1RMSProp(learning_rate=learning_rate, **kwargs)
    known = {
        key.lower(): value
        for key, value in vars(keras.optimizers).items()
        if isinstance(value, type)
        and issubclass(value, keras.optimizers.Optimizer)
        and value is not keras.optimizers.Optimizer
        and key not in ("LossScaleOptimizer",)
    }
    if str(name).lower() not in known:
        raise ValueError(
            f"make_optimizer: unknown optimizer {name!r}; allowed: rmsprop_tf1, "
            f"{', '.join(sorted(known))}."
        )
    return known[str(name).lower()](learning_rate=learning_rate, **kwargs)
