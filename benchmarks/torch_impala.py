"""RLlib's own IMPALA on torch, with a network of the relational agent's size, on the same task.

`benchmarks.agents` starts this with the Python of a throw-away environment that has `ray[rllib]`
and torch and none of ours; only the NumPy environment comes from here. One JSON object: frames per
second of wall time acting (one env runner's `sample`), learning (the learner's update of one
batch), and of the whole loop, trained frames over wall time.

    python -m benchmarks.torch_impala [--seconds 20] [--env-runners 0] [--envs 32] [--unroll 40]
"""

import argparse
import json

import gymnasium
import numpy as np
import ray
import torch
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from torch import nn
from torch.nn import functional

from benchmarks.timing import best, sustained


class Block(nn.Module):
    """The relational agent's Transformer block, as one writes it in torch."""

    def __init__(self, size, heads, iterations):
        super().__init__()
        self.heads, self.iterations = heads, iterations
        self.project = nn.Linear(size, 3 * size, bias=False)
        self.dense = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, size))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2 * iterations))

    def forward(self, entities):
        batch, count, size = entities.shape
        for number in range(self.iterations):
            normed = self.norms[2 * number](entities)
            parts = self.project(normed).view(batch, count, 3, self.heads, -1)
            query, key, value = parts.permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(query, key, value)
            seen = seen.transpose(1, 2).reshape(batch, count, size)
            entities = self.norms[2 * number + 1](entities + self.dense(seen))
        return entities


class Agent(TorchRLModule, ValueFunctionAPI):
    """Convolutions, coordinates, block, the largest of each feature, dense layers, two heads."""

    def setup(self):
        rows, columns, _ = self.observation_space.shape
        self.see = nn.Sequential(nn.Conv2d(3, 12, 2), nn.ReLU(), nn.Conv2d(12, 24, 2), nn.ReLU())
        self.project = nn.Linear(24, 62, bias=False)
        grid = torch.stack(
            torch.meshgrid(
                torch.linspace(-1, 1, rows - 2), torch.linspace(-1, 1, columns - 2), indexing="ij"
            ),
            dim=-1,
        )
        self.register_buffer("grid", grid.reshape(-1, 2))
        self.block = Block(64, heads=2, iterations=2)
        sizes = [64, 256, 256, 256, 256]
        hidden = [(nn.Linear(a, b), nn.ReLU()) for a, b in zip(sizes, sizes[1:], strict=False)]
        self.hidden = nn.Sequential(*(layer for pair in hidden for layer in pair))
        self.policy, self.value = nn.Linear(256, 4), nn.Linear(256, 1)

    def _hidden(self, batch):
        pictures = batch[Columns.OBS].float().div(255).permute(0, 3, 1, 2)
        entities = self.project(self.see(pictures).flatten(2).transpose(1, 2))
        grid = self.grid.expand(entities.shape[0], -1, -1)
        entities = self.block(torch.cat([entities, grid], dim=-1))
        return self.hidden(entities.amax(dim=1))

    def _forward(self, batch, **kwargs):
        hidden = self._hidden(batch)
        return {Columns.ACTION_DIST_INPUTS: self.policy(hidden), Columns.EMBEDDINGS: hidden}

    def compute_values(self, batch, embeddings=None):
        hidden = self._hidden(batch) if embeddings is None else embeddings
        return self.value(hidden).squeeze(-1)


class CountingLearner(IMPALATorchLearner):
    """Counts its updates and keeps the batch of the last one."""

    updates = 0
    batch = None

    def _create_iterator_if_necessary(self, *, training_data, **kwargs):
        self.batch = training_data.batch
        self.updates += 1
        return super()._create_iterator_if_necessary(training_data=training_data, **kwargs)


def make_env(context):
    import tf_relational.envs  # noqa: F401  registers the id

    return gymnasium.make("tf_relational/BridgeBoxWorld-v0")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--env-runners", type=int, default=0)
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--unroll", type=int, default=40)
    options = parser.parse_args()
    ray.init(logging_level="ERROR", log_to_driver=False, include_dashboard=False)
    register_env("bridge", make_env)
    batch = options.envs * options.unroll
    config = (
        IMPALAConfig()
        .environment("bridge")
        .env_runners(
            num_env_runners=options.env_runners,
            num_envs_per_env_runner=options.envs,
            rollout_fragment_length=options.unroll,
        )
        .learners(num_learners=0)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=Agent))
        .training(
            learner_class=CountingLearner, train_batch_size_per_learner=batch, lr=2e-4, gamma=0.99,
            entropy_coeff=5e-3, vf_loss_coeff=0.5, grad_clip=40.0, grad_clip_by="global_norm",
        )
    )  # fmt: skip
    algo = config.build_algo()
    learner = algo.learner_group._learner
    size = sum(np.prod(weight.shape) for weight in learner.module["default_policy"].parameters())
    while learner.updates < 2:
        algo.train()
    whole = sustained(algo.train, lambda: learner.updates * batch, options.seconds)
    learner._learner_thread.request_stop()
    learner._learner_thread.join()
    found = {
        "parameters": int(size),
        "acting": best(
            lambda: algo.env_runner.sample(num_timesteps=batch, random_actions=False),
            batch,
            options.seconds / 4,
        ),
        "learning": best(
            # RLlib's IMPALA learner only puts a batch into its thread's queue; this is the update.
            lambda: Learner.update(learner, batch=learner.batch),
            batch,
            options.seconds / 4,
        ),
        "whole": whole,
    }
    print(json.dumps(found), flush=True)
    algo.stop()


if __name__ == "__main__":
    main()
