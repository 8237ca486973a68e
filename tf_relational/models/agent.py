"""An actor-critic network that sees a grid as entities."""

import keras
from keras import ops

from tf_relational.layers.coordinates import Coordinates
from tf_relational.layers.registry import build_core
from tf_relational.models.initialization import view_initializers


@keras.saving.register_keras_serializable(package="tf_relational")
class Agent(keras.Model):
    """From a picture of a grid world to action logits and a value, through a relational core.

    The picture is divided by 255 and passed through two 2x2 convolutions (ReLU, no padding), so
    that R rows and C columns become N = (R - 2)(C - 2) cells; each is mapped linearly, without
    bias, to D - 2 features and joined with its two coordinates. The core maps these entities; the
    largest of each feature over the entities goes through dense ReLU layers to the two heads.

    Letters: B batch, R rows, C columns (of the picture: in Box-World the inventory is one of them),
    N entities, D `model_dim`, A actions.

    Args:
        core: a name in `tf_relational.layers.CORES`, a Keras layer or a serialised one. It takes
            entities `[B, N, D]` and gives entities (then pooled) or a vector `[B, D']`.
        num_actions: A.
        model_dim: D, at least 3.
        conv_filters: filters of the two convolutions.
        hidden_units: sizes of the dense layers.
        initialization: "published" or "contrast", the first weights of the convolutions and of the
            entity projection (see `tf_relational.models.initialization`).

    Inputs: `obs`, uint8 `[B, R, C, 3]`, R and C at least 3.

    Outputs: a dict of `logits` `[B, A]` and `value` `[B]`, float32; with `return_attention=True`
    also `attention`, the core's dict from names to tensors.

    Raises:
        ValueError: an observation that is not `[B, R, C, 3]` with R and C at least 3, and what the
            core raises.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Section 4.1; `docs/fidelity.md`, rows L4, Z6, Z7.
    """

    def __init__(
        self,
        core="relational",
        num_actions=4,
        model_dim=64,
        conv_filters=(12, 24),
        hidden_units=(256, 256, 256, 256),
        initialization="published",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.core = build_core(core)
        self.num_actions = num_actions
        self.model_dim = model_dim
        self.conv_filters = tuple(conv_filters)
        self.hidden_units = tuple(hidden_units)
        self.initialization = initialization
        convolutions, projection = view_initializers(initialization)
        if len(self.conv_filters) != 2 or model_dim < 3:
            raise ValueError(
                "conv_filters is a pair and model_dim at least 3; received "
                f"conv_filters={conv_filters!r}, model_dim={model_dim!r}."
            )
        layers, policy = keras.layers, self.dtype_policy
        self.convolutions = [
            layers.Conv2D(
                filters,
                2,
                activation="relu",
                kernel_initializer=initializer,
                dtype=policy,
                name=f"conv{number}",
            )
            for number, (filters, initializer) in enumerate(
                zip(self.conv_filters, convolutions, strict=True), start=1
            )
        ]
        self.entity_projection = layers.Dense(
            model_dim - 2,
            use_bias=False,
            kernel_initializer=projection,
            dtype=policy,
            name="entity_projection",
        )
        self.coordinates = Coordinates(dtype=policy, name="coordinates")
        self.hidden = [
            layers.Dense(units, activation="relu", dtype=policy, name=f"fc{number}")
            for number, units in enumerate(self.hidden_units, start=1)
        ]
        self.policy = layers.Dense(num_actions, dtype=policy, name="policy")
        self.value = layers.Dense(1, dtype=policy, name="value")

    def build(self, input_shape):
        check_observation(input_shape)
        shape = self.picture_shape = tuple(input_shape)
        for layer in self.convolutions:
            layer.build(shape)
            shape = layer.compute_output_shape(shape)
        self.entity_projection.build(shape)
        rows, columns = shape[1:3]
        count = None if rows is None or columns is None else rows * columns
        shape = (shape[0], count, self.model_dim)
        if not self.core.built:  # One that comes from a file is.
            self.core.build(shape)
        shape = self.core.compute_output_shape(shape)
        shape = (shape[0], shape[-1])
        for layer in self.hidden:
            layer.build(shape)
            shape = layer.compute_output_shape(shape)
        self.policy.build(shape)
        self.value.build(shape)

    def call(self, obs, return_attention=False):
        check_observation(obs.shape)
        cells = ops.cast(obs, self.compute_dtype) / 255
        for layer in self.convolutions:
            cells = layer(cells)
        cells = self.coordinates(self.entity_projection(cells))
        shape = ops.shape(cells)
        entities = ops.reshape(cells, (shape[0], shape[1] * shape[2], self.model_dim))
        attention = None
        if return_attention:
            seen, attention = self.core(entities, return_attention=True)
        else:
            seen = self.core(entities)
        hidden = ops.max(seen, axis=1) if len(seen.shape) == 3 else seen
        for layer in self.hidden:
            hidden = layer(hidden)
        outputs = {
            "logits": ops.cast(self.policy(hidden), "float32"),
            "value": ops.cast(self.value(hidden)[:, 0], "float32"),
        }
        if return_attention:
            outputs["attention"] = attention
        return outputs

    def export(self, filepath, format="tf_saved_model", input_signature=None, **kwargs):
        """Keras's `export` with the input named `obs`, uint8, its batch free."""
        if input_signature is None:
            if not self.built:
                raise ValueError("The model has to be built, or called once, before its export.")
            _, rows, columns, channels = self.picture_shape
            input_signature = [
                keras.InputSpec(shape=(None, rows, columns, channels), dtype="uint8", name="obs")
            ]
        super().export(filepath, format=format, input_signature=input_signature, **kwargs)

    def get_config(self):
        config = super().get_config()
        config.update(
            core=keras.saving.serialize_keras_object(self.core),
            num_actions=self.num_actions,
            model_dim=self.model_dim,
            conv_filters=self.conv_filters,
            hidden_units=self.hidden_units,
            initialization=self.initialization,
        )
        return config


def check_observation(shape):
    """Refuse what is not a batch of pictures `[B, R, C, 3]` with R and C at least 3."""
    shape = tuple(shape)
    good = len(shape) == 4 and shape[3] == 3
    if not good or any(size is not None and size < 3 for size in shape[1:3]):
        raise ValueError(
            "An observation is a batch of pictures [batch, rows, columns, 3], rows and columns at "
            f"least 3; received shape {shape}."
        )
