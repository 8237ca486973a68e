"""Bridge BoxWorld as in *Logic and the 2-Simplicial Transformer* (Clift et al. 2020), for RLlib.

>>> from rllib_configs import bridge_boxworld  # doctest: +SKIP
>>> config = bridge_boxworld.config(agent="simplicial", num_env_runners=2)  # doctest: +SKIP
>>> config.environment(env_config={"horizon": 120})  # any field of BoxWorldConfig  # doctest: +SKIP
>>> algo = config.build_algo()  # doctest: +SKIP
>>> algo.train()["env_runners"]["fraction_solved"]  # doctest: +SKIP

or in Tune:

>>> from ray import tune  # doctest: +SKIP
>>> config = bridge_boxworld.config(num_env_runners=2).training(  # doctest: +SKIP
...     lr=tune.grid_search([1e-4, 2e-4]))
>>> tune.Tuner(config.algo_class, param_space=config).fit()  # doctest: +SKIP
"""

from tf_relational.rl.rllib import KerasIMPALAConfig


def config(agent="simplicial", seed=None, num_env_runners=63, variant="published"):
    """Return the configuration of the paper's training runs (Section 5.1, Table 1).

    What only the authors' published notebook states is marked "notebook".

    Args:
        agent: `"simplicial"` or `"relational"`, or a callable (see `KerasIMPALAConfig`).
        seed: of the weights, the levels and the actions; None for a new one each time.
        num_env_runners: processes that act, each on a core of its own; with fewer cores Ray waits
            without end. Notebook: 63.
        variant: `"published"` for the agents and RMSProp as the authors' code has them, `"paper"`
            for the text of Equations 4 and 18 and Appendix E (`docs/fidelity.md`, rows L1, L3 and
            L5). A callable agent has to know its own.

    Returns:
        A `KerasIMPALAConfig` (an RLlib `IMPALAConfig`), to be changed by RLlib's own methods.
    """
    return box_world_config(
        "tf_relational/BridgeBoxWorld-v0", agent, seed, num_env_runners, variant
    )


def box_world_config(env, agent, seed, num_env_runners, variant):
    """Return what the paper's two tasks have in common; see `config`."""
    return (
        KerasIMPALAConfig()
        # Section 5: bridge in half of the episodes, solution length 1 to 3 on a 7 x 9 board, "no
        # cap on timesteps per episode": the id's defaults.
        .environment(env)
        .env_runners(
            num_env_runners=num_env_runners,
            num_envs_per_env_runner=1,  # notebook: RLlib's default
            rollout_fragment_length=40,  # Table 1, unroll length
        )
        .learners(num_learners=0)  # notebook: the learner in the driver's process
        .training(
            keras_model=agent,
            keras_model_kwargs={"variant": variant} if isinstance(agent, str) else {},
            train_batch_size_per_learner=1280,  # Table 1, batch size: 32 unrolls
            num_minibatches=1,  # notebook
            gamma=0.99,  # Table 1, discount factor
            lr=2e-4,  # Table 1, learning rate; constant
            optimizer_name="rmsprop_tf1",  # Section 5, in the form of RLlib at that time
            optimizer_kwargs={
                "rho": 0.99,  # Table 1, RMSProp decay
                "momentum": 0.0,  # Table 1, RMSProp momentum
                "epsilon": 0.1,  # Table 1, RMSProp epsilon; Appendix E
                "variant": variant,
            },
            entropy_coeff=5e-3,  # Table 1, IMPALA entropy; constant
            vf_loss_coeff=0.5,  # notebook
            grad_clip=40.0,  # notebook: global norm
            vtrace_clip_rho_threshold=1.0,  # notebook
            vtrace_clip_pg_rho_threshold=1.0,  # notebook
            loss_reduction="sum",  # RLlib at that time
        )
        .debugging(seed=seed)
    )
