"""The network of the Relations Game: input CNN, central module, output MLP."""

import keras
from keras import ops

from tf_relational.layers.coordinates import Coordinates
from tf_relational.layers.entity_layer import check_positive, check_variant
from tf_relational.layers.predinet_initializers import bias_initializer, dense, kernel_initializer
from tf_relational.layers.registry import build_core


@keras.saving.register_keras_serializable(package="tf_relational")
class RelationsGameModel(keras.Model):
    """From a picture of objects and a task to the logits of an answer, through any core.

    One convolution (ReLU, no padding) makes N patches of F features; each is joined with its
    column and row, so that D = F + 2. The core maps these entities to one vector (of a core that
    gives entities, the largest of each feature over them). The task, one-hot, is joined to that
    vector, and a dense ReLU layer and a linear one give the logits.

    The parts are `input_cnn`, `core` and `output_mlp`, each a layer, for training schemes that
    freeze one (`model.core.trainable = False`) or begin it anew
    (`model.output_mlp.set_weights(fresh.output_mlp.get_weights())`). `call` is `classify` of `core`
    of `entities`.

    Letters: B batch, R rows and C columns of pixels, N patches, F filters, T tasks, A answers.

    Args:
        core: a name in `tf_relational.layers.CORES`, with that layer's defaults, which are those of
            Table S2; or a Keras layer from entities `[B, N, D]` to a vector or to entities; or a
            serialised one.
        num_classes: A, 4 for 'colour / shape' and 2 for the other tasks.
        num_tasks: T; 0 for a network that is told no task.
        filters: F.
        kernel_size, strides: of the convolution, in pixels.
        hidden_units: of the output MLP's hidden layer.
        variant: "published" joins the task also where there is one only, and the logits are linear,
            as in the authors' code; "paper" joins it where there are several, and applies the
            ReLU of Table S2 to both layers of the output MLP.

    Inputs: a dict of

    * `image` `[B, R, C, channels]`: integers from 0 to 255, which are divided by 256; or floating
      point numbers as the authors' network takes them, divided already.
    * `task`: one-hot `[B, T]`, or numbers `[B]` from 0. Not needed where it is not joined.

    Outputs: a dict of `logits` `[B, A]`, float32; with `return_attention=True` also `attention`,
    the core's dict from names to tensors.

    Raises:
        ValueError: inputs that are no such dict, a picture smaller than the convolution's window,
            a task of another shape, and what the core raises.

    Source: Shanahan, Nikiforou, Creswell, Kaplanis, Barrett and Garnelo, "An Explicitly Relational
    Neural Network Architecture", Section 4, Table S2; `docs/fidelity.md`, rows P1 to P3, P6, P8.

    Example:

    >>> import numpy as np
    >>> model = RelationsGameModel()
    >>> images = np.zeros((2, 36, 36, 3), "uint8")
    >>> model({"image": images, "task": np.array([0, 4])})["logits"].shape, model.count_params()
    (TensorShape([2, 2]), 890530)
    """

    def __init__(
        self,
        core="predinet",
        num_classes=2,
        num_tasks=5,
        filters=32,
        kernel_size=12,
        strides=6,
        hidden_units=8,
        variant="published",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(
            num_classes=num_classes,
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            hidden_units=hidden_units,
        )
        if num_tasks:
            check_positive(num_tasks=num_tasks)
        policy = self.dtype_policy
        named = isinstance(core, str)
        self.core = build_core(core, dtype=policy, name="core") if named else build_core(core)
        self.num_classes = num_classes
        self.num_tasks = num_tasks
        self.filters = filters
        self.kernel_size = kernel_size
        self.strides = strides
        self.hidden_units = hidden_units
        self.variant = check_variant(variant)
        self.takes_task = num_tasks > (1 if variant == "paper" else 0)
        self.input_cnn = keras.layers.Conv2D(
            filters,
            kernel_size,
            strides,
            activation="relu",
            kernel_initializer=kernel_initializer(),
            bias_initializer=bias_initializer(),
            dtype=policy,
            name="input_cnn",
        )
        self.coordinates = Coordinates(
            "columns_first", (0, 1), endpoint=False, dtype=policy, name="coordinates"
        )
        sizes = {"hidden": (hidden_units, "relu"), "logits": (num_classes, None)}
        if variant == "paper":
            sizes["logits"] = (num_classes, "relu")
        self.output_mlp = keras.Sequential(
            [
                dense(
                    units,
                    kernel_initializer(),
                    bias_initializer(),
                    activation=activation,
                    dtype=policy,
                    name=name,
                )
                for name, (units, activation) in sizes.items()
            ],
            name="output_mlp",
        )

    def build(self, input_shape):
        shape = self.image_shape = self._check_image(self._check_names(input_shape)["image"])
        self.input_cnn.build(shape)
        _, rows, columns, _ = self.input_cnn.compute_output_shape(shape)
        count = None if rows is None or columns is None else rows * columns
        shape = (shape[0], count, self.filters + 2)
        if not self.core.built:  # One that comes from a file is.
            self.core.build(shape)
        shape = self.core.compute_output_shape(shape)
        self.output_mlp.build((None, shape[-1] + self.num_tasks * self.takes_task))

    def call(self, inputs, return_attention=False):
        inputs = self._check_names(inputs)
        entities = self.entities(inputs["image"])
        attention = None
        if return_attention:
            seen, attention = self.core(entities, return_attention=True)
        else:
            seen = self.core(entities)
        outputs = {"logits": self.classify(seen, inputs.get("task"))}
        if return_attention:
            outputs["attention"] = attention
        return outputs

    def entities(self, image):
        """What the core sees, the paper's L: `[B, N, F + 2]` from `image` as in `call`."""
        self._check_image(image.shape)
        floating = keras.backend.is_float_dtype(keras.backend.standardize_dtype(image.dtype))
        image = ops.cast(image, self.compute_dtype)
        cells = self.coordinates(self.input_cnn(image if floating else image / 256))
        shape = ops.shape(cells)
        return ops.reshape(cells, (-1, shape[1] * shape[2], self.filters + 2))

    def classify(self, seen, task=None):
        """Logits `[B, A]` from the core's output, a vector or entities, and the task."""
        if len(seen.shape) == 3:
            seen = ops.max(seen, axis=1)
        if self.takes_task:
            task = self._one_hot(task)
            seen = ops.concatenate([seen, ops.cast(task, seen.dtype)], axis=-1)
        return ops.cast(self.output_mlp(seen), "float32")

    def export(self, filepath, format="tf_saved_model", input_signature=None, **kwargs):
        """Keras's `export`; the inputs are `image`, uint8, and `task`, one-hot, the batch free."""
        if input_signature is None:
            if not self.built:
                raise ValueError("The model has to be built, or called once, before its export.")
            shape = (None, *self.image_shape[1:])
            inputs = {"image": keras.InputSpec(shape=shape, dtype="uint8", name="image")}
            if self.takes_task:
                shape = (None, self.num_tasks)
                inputs["task"] = keras.InputSpec(shape=shape, dtype="float32", name="task")
            input_signature = [inputs]
        super().export(filepath, format=format, input_signature=input_signature, **kwargs)

    def _check_names(self, inputs):
        needed = ["image", "task"] if self.takes_task else ["image"]
        if not isinstance(inputs, dict) or any(name not in inputs for name in needed):
            given = sorted(inputs) if isinstance(inputs, dict) else type(inputs).__name__
            raise ValueError(f"The inputs are a dict of {needed}; received {given}.")
        return inputs

    def _check_image(self, shape):
        shape = tuple(shape)
        sides = shape[1:3]
        if len(shape) != 4 or any(s is not None and s < self.kernel_size for s in sides):
            raise ValueError(
                "An image is [batch, rows, columns, channels], rows and columns at least "
                f"{self.kernel_size}; received shape {shape}."
            )
        return shape

    def _one_hot(self, task):
        if task is not None and len(task.shape) == 1:
            return ops.one_hot(ops.cast(task, "int32"), self.num_tasks, dtype=self.compute_dtype)
        if task is None or tuple(task.shape[1:]) != (self.num_tasks,):
            given = None if task is None else f"shape {tuple(task.shape)}"
            raise ValueError(
                f"A task is one-hot [batch, {self.num_tasks}] or numbers [batch]; received {given}."
            )
        return task

    def get_config(self):
        config = super().get_config()
        config.update(
            core=keras.saving.serialize_keras_object(self.core),
            num_classes=self.num_classes,
            num_tasks=self.num_tasks,
            filters=self.filters,
            kernel_size=self.kernel_size,
            strides=self.strides,
            hidden_units=self.hidden_units,
            variant=self.variant,
        )
        return config
