"""How agents learn: loss, optimizers, curriculum, checkpoints and the RLlib bridge (`rl.rllib`)."""
