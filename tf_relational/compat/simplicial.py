"""The weights of "Logic and the 2-Simplicial Transformer" by the authors' names.

For each kind one function makes the built layer from the weights, the sizes the authors recorded
with them (`cfg`) and constructor options; another gives a layer's variables by name.
"""

from tf_relational.layers.relational_attention import RelationalAttention
from tf_relational.layers.simplicial_attention import SimplicialAttention
from tf_relational.models.relational_agent import RelationalAgent
from tf_relational.models.simplicial_agent import SimplicialAgent


def make_relational_attention(weights, sizes, options):
    features, _ = weights.shape("qkv_weights", 2)
    layer = RelationalAttention(**{**_attention_sizes(sizes), **options})
    layer.build((None, None, features))
    return layer


def relational_attention_variables(layer):
    return {"qkv_weights": layer.qkv_weights}


def make_simplicial_attention(weights, sizes, options):
    features, _ = weights.shape("qkkv_weights", 2)
    size = weights.shape("B_weight", 3)[0]
    layer = SimplicialAttention(size, **{**_attention_sizes(sizes), **options})
    layer.build((None, None, features))
    return layer


def simplicial_attention_variables(layer):
    return {"qkkv_weights": layer.qkkv_weights, "B_weight": layer.B_weight}


def make_relational_agent(weights, sizes, options):
    return _make_agent(RelationalAgent, weights, sizes, options)


def make_simplicial_agent(weights, sizes, options):
    own = {
        "simplicial_dim": weights.shape("block.attention2.B_weight", 3)[0],
        "num_virtual": weights.shape("virtual_entities.embeddings", 2)[0],
    }
    return _make_agent(SimplicialAgent, weights, sizes, {**own, **options})


def agent_variables(agent):
    core = agent.core
    layers = {
        "block.dense1": core.dense1,
        "block.dense2": core.dense2,
        "policy": agent.policy,
        "value": agent.value,
    }
    layers |= {f"conv{i}": layer for i, layer in enumerate(agent.convolutions, start=1)}
    layers |= {f"fc{i}": layer for i, layer in enumerate(agent.hidden, start=1)}
    variables = {"entity_proj.kernel": agent.entity_projection.kernel}
    for name, layer in layers.items():
        variables[f"{name}.kernel"] = layer.kernel
        variables[f"{name}.bias"] = layer.bias
    norms = {"ln_in": core.norms_in, "ln_out": core.norms_out}
    attentions = {"attention1": relational_attention_variables(core.attention1)}
    if isinstance(agent, SimplicialAgent):
        norms["ln_simp"] = core.norms_simplicial
        attentions["attention2"] = simplicial_attention_variables(core.attention2)
        variables["virtual_entities.embeddings"] = core.virtual_entities
    for name, layers in norms.items():
        for iteration, layer in enumerate(layers):
            variables[f"block{iteration}.{name}.gain"] = layer.gamma
            variables[f"block{iteration}.{name}.bias"] = layer.beta
    for name, weights in attentions.items():
        variables |= {f"block.{name}.{key}": variable for key, variable in weights.items()}
    return variables


def _make_agent(agent_class, weights, sizes, options):
    features, _ = weights.shape("block.attention1.qkv_weights", 2)
    hidden = [name for name in weights if name.startswith("fc") and name.endswith(".kernel")]
    blocks = {name.split(".")[0] for name in weights if name.endswith(".ln_in.gain")}
    told = {
        "num_actions": weights.shape("policy.kernel", 2)[1],
        "model_dim": features,
        "iterations": len(blocks),
        "conv_filters": tuple(weights.shape(f"conv{i}.kernel", 4)[3] for i in (1, 2)),
        "hidden_units": tuple(weights.shape(name, 2)[1] for name in sorted(hidden)),
    }
    if "cfg.transformer_num_heads" in sizes:
        told["num_heads"] = int(sizes["cfg.transformer_num_heads"])
    agent = agent_class(**{**told, **options})
    agent.build((None, None, None, 3))
    return agent


def _attention_sizes(sizes):
    """What `cfg` = [N, M, D, simplicial dim, heads] tells of one attention layer."""
    if "cfg" not in sizes:
        return {}
    _, virtual, _, _, heads = (int(size) for size in sizes["cfg"])
    return {"num_virtual": virtual, "num_heads": heads}
