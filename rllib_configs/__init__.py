"""What to run on RLlib: one file a training run, each with a `config(...)` that returns it."""
