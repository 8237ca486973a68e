"""The relational agent."""

import keras

from tf_relational.layers.registry import build_core
from tf_relational.models.agent import Agent


@keras.saving.register_keras_serializable(package="tf_relational")
class RelationalAgent(Agent):
    """The baseline agent of the simplicial paper, after Zambaldi et al.'s relational agent.

    An `Agent` whose core is a `RelationalBlock`; 239,241 parameters with the defaults.

    Args:
        num_actions: A.
        model_dim: D, features of an entity, its two coordinates among them.
        num_heads: heads of the attention.
        iterations: how often the Transformer block is applied.
        variant: "published" or "paper", of the attention (see `RelationalAttention`).
        conv_filters, hidden_units, initialization: as in `Agent`.

    Inputs and outputs: as in `Agent`; the attention dict has `block_<i>/standard` `[B, H, N, N]`.

    Source: Clift, Doryn, Murfet and Wallbridge, "Logic and the 2-Simplicial Transformer",
    Section 4; `docs/fidelity.md`, rows L1, L2, L4.

    Example:

    >>> import numpy as np
    >>> agent = RelationalAgent()
    >>> outputs = agent(np.zeros((2, 7, 10, 3), "uint8"))
    >>> outputs["logits"].shape, outputs["value"].shape, agent.count_params()
    (TensorShape([2, 4]), TensorShape([2]), 239241)
    """

    def __init__(
        self,
        num_actions=4,
        model_dim=64,
        num_heads=2,
        iterations=2,
        variant="published",
        conv_filters=(12, 24),
        hidden_units=(256, 256, 256, 256),
        initialization="published",
        **kwargs,
    ):
        core = build_core(
            "relational",
            num_heads=num_heads,
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
            iterations=self.core.iterations,
            variant=self.core.variant,
        )
        return config
