"""Layers and models from the authors' weights."""

import numpy as np

from tf_relational.compat import predinet, simplicial

# Each kind: a function from the weights and sizes to a built layer, and one from the layer to its
# variables by the authors' names.
KINDS = {
    "predinet": (predinet.make_predinet, predinet.predinet_variables),
    "mlp1": (predinet.make_mlp1, predinet.mlp1_variables),
    "mlp2": (predinet.make_mlp2, predinet.mlp2_variables),
    "relation_net": (predinet.make_relation_net, predinet.relation_net_variables),
    "mha": (predinet.make_mha, predinet.mha_variables),
    "relational_attention": (
        simplicial.make_relational_attention,
        simplicial.relational_attention_variables,
    ),
    "simplicial_attention": (
        simplicial.make_simplicial_attention,
        simplicial.simplicial_attention_variables,
    ),
    "relational_agent": (simplicial.make_relational_agent, simplicial.agent_variables),
    "simplicial_agent": (simplicial.make_simplicial_agent, simplicial.agent_variables),
}


def load_published(kind, arrays, **options):
    """A layer or model with the authors' weights.

    Args:
        kind: one of `KINDS`. The PrediNet and its baselines come as whole networks of the Relations
            Game; the layer alone is the model's `core`.
        arrays: mapping from the authors' names to arrays, such as an opened `.npz` file; the names
            may begin with `w.`, and then arrays of other names (inputs, outputs) are passed over.
            Half precision is cast to float32. Sizes come from the shapes, and from `cfg` or
            `cfg.*` where a shape does not tell them: for attention the number of heads and of
            virtual entities, for the Relations Game the stride of the convolution.
        options: constructor arguments, such as `num_heads` or `strides` for weights without `cfg`,
            `dtype` or `name`.

    Returns:
        The built layer or model.

    Raises:
        ValueError: an unknown kind; a weight that is missing, is not one of the kind's, or has
            another shape than the others ask for.

    Example:

    >>> import numpy as np
    >>> layer = load_published("relational_attention", {"qkv_weights": np.ones((8, 24))})
    >>> layer(np.ones((1, 5, 8), "float32")).shape
    TensorShape([1, 5, 8])
    """
    make, _ = _functions(kind)
    sizes = {name: np.asarray(arrays[name]) for name in arrays if name.split(".")[0] == "cfg"}
    weights = {name: arrays[name] for name in arrays if name not in sizes}
    if any(name.startswith("w.") for name in weights):
        weights = {name[2:]: array for name, array in weights.items() if name.startswith("w.")}
    weights = {name: np.asarray(array) for name, array in weights.items()}

    layer = make(Weights(kind, weights), sizes, options)
    variables = published_variables(kind, layer)
    missing, extra = sorted(set(variables) - set(weights)), sorted(set(weights) - set(variables))
    if missing or extra:
        raise ValueError(
            f"The arrays do not make a {kind}: missing {missing}, not among its weights {extra}. "
            f"Its weights are {sorted(variables)}."
        )
    for name, variable in variables.items():
        if tuple(variable.shape) != weights[name].shape:
            raise ValueError(
                f"{kind}: {name} has to be of shape {tuple(variable.shape)} beside the other "
                f"arrays; received {weights[name].shape}."
            )
    for name, variable in variables.items():
        variable.assign(weights[name].astype("float32"))
    return layer


def published_variables(kind, layer):
    """A layer's variables by the authors' names.

    Args:
        kind: one of `KINDS`.
        layer: a built layer or model of that kind.

    Returns:
        Dict from the authors' names, without `w.`, to Keras variables.

    Raises:
        ValueError: an unknown kind.
    """
    _, variables = _functions(kind)
    return variables(layer)


def _functions(kind):
    if kind not in KINDS:
        raise ValueError(f"kind is one of {sorted(KINDS)}; received {kind!r}.")
    return KINDS[kind]


class Weights(dict):
    """The authors' weights, some of which are asked for before the rest is known to be there."""

    def __init__(self, kind, weights):
        super().__init__(weights)
        self.kind = kind

    def shape(self, name, rank):
        """The shape of a weight that tells sizes."""
        if name not in self:
            raise ValueError(
                f"The arrays do not make a {self.kind}: missing {name!r}; received {sorted(self)}."
            )
        shape = self[name].shape
        if len(shape) != rank or 0 in shape:
            raise ValueError(f"{self.kind}: {name} has {rank} axes; received shape {shape}.")
        return shape
