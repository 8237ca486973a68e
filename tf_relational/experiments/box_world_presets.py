"""What the laptop and smoke presets of the Box-World experiments change from the paper."""

MODES = {
    "train": "tf_relational.experiments.train:main",
    "evaluate": "tf_relational.experiments.evaluate:main",
    "figures": "tf_relational.experiments.figures:main",
    "export": "tf_relational.experiments.export:main",
}

LAPTOP = {
    "horizon": 50,
    "total_frames": 4_000_000,
    "num_env_runners": 0,
    "num_envs": 32,
    "unroll_length": 20,
    "batch_size": 640,
    "num_minibatches": 4,
    "optimizer": "adam",
    "learning_rate": 3e-4,
    "final_learning_rate": 3e-5,
    "loss_reduction": "mean",
    "gamma": 0.95,
    "vtrace_lambda": 0.85,
    "gradient_clip": 1.0,
    "initialization": "contrast",
    "curriculum": True,
    "curriculum_least_probability": 0.4,
    "evaluation_interval": 250_000,
    "evaluation_step_limit": 120,
}
"""Learns on two cores: a horizon, dense batches, Adam and a start-state curriculum."""

SMOKE = {
    **LAPTOP,
    "total_frames": 1_280,
    "num_envs": 8,
    "unroll_length": 10,
    "batch_size": 80,
    "num_minibatches": 1,
    "jit_compile": False,
    "report_interval": 0.5,
    "checkpoint_interval": 5.0,
    "evaluation_interval": 640,
    "evaluation_episodes": 2,
    "evaluation_step_limit": 10,
}
"""Every part runs and nothing is learned: for tests and for a first look."""
