"""Standard BoxWorld as in *Logic and the 2-Simplicial Transformer* (Clift et al. 2020), for RLlib.

>>> from rllib_configs import boxworld  # doctest: +SKIP
>>> config = boxworld.config(agent="relational", num_env_runners=2)  # doctest: +SKIP
>>> algo = config.environment(env_config={"horizon": 120}).build_algo()  # doctest: +SKIP
"""

from rllib_configs.bridge_boxworld import box_world_config


def config(agent="relational", seed=None, num_env_runners=63, variant="published"):
    """Return the configuration of the standard BoxWorld run (Section 5, Table 1).

    9 x 9 board, solution length 1 to 5, 0 to 4 distractors, no cap on steps. The paper trained the
    relational agent on it, with the same hyperparameters as on bridge BoxWorld.

    Args:
        agent, seed, num_env_runners, variant: as in `rllib_configs.bridge_boxworld.config`.

    Returns:
        A `KerasIMPALAConfig`.
    """
    return box_world_config("tf_relational/BoxWorld-v0", agent, seed, num_env_runners, variant)
