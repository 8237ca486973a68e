"""The names of "Logic and the 2-Simplicial Transformer"'s weights, and where they go.

Each function takes the weights, the sizes the authors recorded with them (`cfg`) and constructor
options, and gives a built layer and a dict from the authors' names to its variables.
"""

from tf_relational.layers.relational_attention import RelationalAttention
from tf_relational.layers.simplicial_attention import SimplicialAttention
from tf_relational.models.relational_agent import RelationalAgent
from tf_relational.models.simplicial_agent import SimplicialAgent


def relational_attention(weights, sizes, options):
    features, _ = weights.shape("qkv_weights", 2)
    options = {**_attention_sizes(sizes), **options}
    layer = RelationalAttention(**options)
    layer.build((None, None, features))
    return layer, {"qkv_weights": layer.qkv_weights}


def simplicial_attention(weights, sizes, options):
    features, _ = weights.shape("qkkv_weights", 2)
    options = {
        "simplicial_dim": weights.shape("B_weight", 3)[0],
        **_attention_sizes(sizes),
        **options,
    }
    layer = SimplicialAttention(**options)
    layer.build((None, None, features))
    return layer, {"qkkv_weights": layer.qkkv_weights, "B_weight": layer.B_weight}


def relational_agent(weights, sizes, options):
    return _agent(RelationalAgent, weights, sizes, options)


def simplicial_agent(weights, sizes, options):
    options = {
        "simplicial_dim": weights.shape("block.attention2.B_weight", 3)[0],
        "num_virtual": weights.shape("virtual_entities.embeddings", 2)[0],
        **options,
    }
    agent, variables = _agent(SimplicialAgent, weights, sizes, options)
    core = agent.core
    variables["virtual_entities.embeddings"] = core.virtual_entities
    variables["block.attention2.qkkv_weights"] = core.attention2.qkkv_weights
    variables["block.attention2.B_weight"] = core.attention2.B_weight
    _add_norms(variables, "ln_simp", core.norms_simplicial)
    return agent, variables


def _agent(agent_class, weights, sizes, options):
    features, _ = weights.shape("block.attention1.qkv_weights", 2)
    hidden = sorted(name for name in weights if name.startswith("fc") and name.endswith("kernel"))
    blocks = {name.split(".")[0] for name in weights if name.endswith(".ln_in.gain")}
    channels = weights.shape("conv1.kernel", 4)[2]
    recorded = {}
    if "cfg.transformer_num_heads" in sizes:
        recorded["num_heads"] = int(sizes["cfg.transformer_num_heads"])
    options = {
        "num_actions": weights.shape("policy.kernel", 2)[1],
        "model_dim": features,
        "iterations": len(blocks),
        "conv_filters": tuple(weights.shape(f"conv{i}.kernel", 4)[3] for i in (1, 2)),
        "hidden_units": tuple(weights.shape(name, 2)[1] for name in hidden),
        **recorded,
        **options,
    }
    agent = agent_class(**options)
    agent.build((None, None, None, channels))

    core = agent.core
    layers = {
        "block.dense1": core.dense1,
        "block.dense2": core.dense2,
        "policy": agent.policy,
        "value": agent.value,
    }
    layers |= {f"conv{i}": layer for i, layer in enumerate(agent.convolutions, start=1)}
    layers |= {f"fc{i}": layer for i, layer in enumerate(agent.hidden, start=1)}
    variables = {
        "entity_proj.kernel": agent.entity_projection.kernel,
        "block.attention1.qkv_weights": core.attention1.qkv_weights,
    }
    for name, layer in layers.items():
        variables[f"{name}.kernel"] = layer.kernel
        variables[f"{name}.bias"] = layer.bias
    _add_norms(variables, "ln_in", core.norms_in)
    _add_norms(variables, "ln_out", core.norms_out)
    return agent, variables


def _add_norms(variables, name, norms):
    for iteration, norm in enumerate(norms):
        variables[f"block{iteration}.{name}.gain"] = norm.gamma
        variables[f"block{iteration}.{name}.bias"] = norm.beta


def _attention_sizes(sizes):
    """What `cfg` = [N, M, D, simplicial dim, heads] tells of one attention layer."""
    if "cfg" not in sizes:
        return {}
    _, virtual, _, _, heads = (int(size) for size in sizes["cfg"])
    return {"num_virtual": virtual, "num_heads": heads}
