"""The simplicial agent."""

import keras

from tf_relational.layers.registry import build_core
from tf_relational.models.agent import Agent


@keras.saving.register_keras_serializable(package="tf_relational")
class SimplicialAgent(Agent):
    """The agent with 2-simplicial attention.

    An `Agent` whose core is a `SimplicialBlock`; 365,513 parameters with the defaults.

    Args:
        num_actions: A.
        model_dim: D, features of an entity, its two coordinates among them.
        num_heads: heads of the 1-simplicial attention.
        simplicial_dim: size of the 2-simplicial queries, keys and values, all heads together.
        num_simplicial_heads: heads of the 2-simplicial attention.
        num_virtual: M, virtual entities.
        iterations: how often the Transformer block is applied.
        variant: "published" or "paper", of both attentions (see `RelationalAttention` and
            `SimplicialAttention`).
        conv_filters, hidden_units, initialization: as in `Agent`.

    Inputs and outputs: as in `Agent`; the attention dict has `block_<i>/standard` `[B, H, N, N]`,
    `block_<i>/virtual` `[B, H, M, N + M]` and `block_<i>/simplicial`
    `[B, simplicial heads, N, M, M]`.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Section 4; `docs/fidelity.md`, rows L1 to L4, L10.

    Example:

    >>> import numpy as np
    >>> agent = SimplicialAgent()
    >>> outputs = agent(np.zeros((2, 7, 10, 3), "uint8"), return_attention=True)
    >>> outputs["logits"].shape, outputs["value"].shape, agent.count_params()
    (TensorShape([2, 4]), TensorShape([2]), 365513)
    >>> outputs["attention"]["block_1/simplicial"].shape
    TensorShape([2, 1, 40, 2, 2])
    """

    def __init__(
        self,
        num_actions=4,
        model_dim=64,
        num_heads=2,
        simplicial_dim=48,
        num_simplicial_heads=1,
        num_virtual=2,
        iterations=2,
        variant="published",
        conv_filters=(12, 24),
        hidden_units=(256, 256, 256, 256),
        initialization="published",
        **kwargs,
    ):
        core = build_core(
            "simplicial",
            num_heads=num_heads,
            simplicial_dim=simplicial_dim,
            num_simplicial_heads=num_simplicial_heads,
            num_virtual=num_virtual,
            iterations=iterations,
            variant=variant,
            dtype=kwargs.get("dtype"),
            name="core",
        )
        super().__init__(
            core, num_actions, model_dim, conv_filters, hidden_units, initialization, **kwargs
        )

    def get_config(self):
        config = super().get_config()
        del config["core"]
        config.update(
            num_heads=self.core.num_heads,
            simplicial_dim=self.core.simplicial_dim,
            num_simplicial_heads=self.core.num_simplicial_heads,
            num_virtual=self.core.num_virtual,
            iterations=self.core.iterations,
            variant=self.core.variant,
        )
        return config
