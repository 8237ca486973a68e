"""The weights of "An Explicitly Relational Neural Network Architecture" by the authors' names.

Each kind is a whole network of the Relations Game; its central module alone is the model's `core`.
"""

import math

from tf_relational.layers.registry import build_core
from tf_relational.models.relations_game import RelationsGameModel


def make_predinet(weights, sizes, options):
    _, key_size = weights.shape("get_keys.w", 2)
    size = {
        "num_heads": weights.shape("get_query1.w", 2)[1] // key_size,
        "num_relations": weights.shape("embed_entities.w", 2)[1],
        "key_size": key_size,
    }
    seen = weights.shape("get_query1.w", 2)[0]
    vector = size["num_heads"] * (size["num_relations"] + 4)
    return _make_model("predinet", size, seen, vector, weights, sizes, options)


def make_mlp1(weights, sizes, options):
    seen, units = weights.shape("central_hidden.w", 2)
    return _make_model("mlp1", {"units": units}, seen, units, weights, sizes, options)


def make_mlp2(weights, sizes, options):
    seen, hidden_units = weights.shape("central_hidden.w", 2)
    _, units = weights.shape("central_output.w", 2)
    size = {"hidden_units": hidden_units, "units": units}
    return _make_model("mlp2", size, seen, units, weights, sizes, options)


def make_relation_net(weights, sizes, options):
    _, hidden_units = weights.shape("central_hidden.w", 2)
    _, units = weights.shape("central_output.w", 2)
    size = {"hidden_units": hidden_units, "units": units}
    return _make_model("relation_net", size, None, units, weights, sizes, options)


def make_mha(weights, sizes, options):
    num_heads, _, count = weights.shape("central_output.w", 3)
    features, keys = weights.shape("get_keys.w", 2)
    _, vector = weights.shape("get_values.w", 2)
    size = {
        "num_heads": num_heads,
        "key_size": keys // num_heads,
        "value_size": vector // num_heads,
    }
    return _make_model("mha", size, count * features, vector, weights, sizes, options)


def predinet_variables(model):
    core = model.core
    weights = {
        "get_keys.w": core.key_weights,
        "get_query1.w": core.query1_weights,
        "get_query2.w": core.query2_weights,
        "embed_entities.w": core.relation_weights,
    }
    return {**weights, **_ends(model)}


def mlp1_variables(model):
    return {**_dense("central_hidden", model.core.dense), **_ends(model)}


def mlp2_variables(model):
    core = model.core
    hidden = _dense("central_hidden", core.hidden)
    return {**hidden, **_dense("central_output", core.dense), **_ends(model)}


def relation_net_variables(model):
    core = model.core
    weights = {"central_hidden.w": core.hidden_weights, "central_output.w": core.output_weights}
    return {**weights, **_ends(model)}


def mha_variables(model):
    core = model.core
    weights = {
        "get_keys.w": core.key_weights,
        "get_queries.w": core.query_weights,
        "get_values.w": core.value_weights,
        "central_output.w": core.position_weights,
    }
    return {**weights, **_ends(model)}


def _dense(name, layer):
    return {f"{name}.w": layer.kernel, f"{name}.b": layer.bias}


def _ends(model):
    """The variables before and behind the core."""
    hidden, logits = model.output_mlp.layers
    layers = {"input_module": model.input_cnn, "output_hidden": hidden, "output": logits}
    return {
        key: value for name, layer in layers.items() for key, value in _dense(name, layer).items()
    }


def _make_model(name, core_sizes, seen, vector, weights, sizes, options):
    """The network whose core has `core_sizes`, is told `seen` numbers and gives `vector`.

    `seen`, of all patches together, tells the picture's size; None for a core that takes any.
    """
    kernel_size, _, channels, filters = weights.shape("input_module.w", 4)
    told = {
        "num_classes": weights.shape("output.w", 2)[1],
        "num_tasks": weights.shape("output_hidden.w", 2)[0] - vector,
        "filters": filters,
        "kernel_size": kernel_size,
        "hidden_units": weights.shape("output.w", 2)[0],
    }
    if "cfg.stride" in sizes:
        told["strides"] = int(sizes["cfg.stride"])
    core = build_core(name, **core_sizes, dtype=options.get("dtype"), name="core")
    model = RelationsGameModel(core, **{**told, **options})
    side = None
    if seen is not None:
        patches = math.isqrt(seen // (filters + 2))
        if patches**2 * (filters + 2) != seen:
            raise ValueError(
                f"{name}: its weights are for {seen} numbers, and no square of patches of "
                f"{filters + 2} features each has so many."
            )
        side = (patches - 1) * model.strides + kernel_size
    shapes = {"image": (None, side, side, channels), "task": (None, model.num_tasks)}
    model.build(shapes)
    return model
