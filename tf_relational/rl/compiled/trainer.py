"""The compiled trainer: environments, agent and learner in one program on one device."""

import time

import keras
import numpy as np
from keras import ops, tree

from tf_relational.envs import compiled_rules as rules
from tf_relational.envs.generator import puzzle_types
from tf_relational.envs.pool import Curriculum as Law
from tf_relational.rl.compiled import backend
from tf_relational.rl.compiled.level_pool import LevelPool
from tf_relational.rl.compiled.program import Carry, Program
from tf_relational.rl.compiled.results import Tally
from tf_relational.rl.compiled.snapshot import Snapshot
from tf_relational.rl.curriculum import Curriculum


class CompiledTrainer:
    """Train S agents on Box-World at once, each with its own seed, levels and weights.

    Every call of the program makes `settings.updates_per_call` batches for each replica: E
    environments act for T steps, episodes that end begin again on the next level of a pool, and the
    learner makes its gradient steps with the loss and the optimizers of the RLlib engine. Nothing
    leaves the device meanwhile; afterwards the host replaces the levels that were read and moves
    the curriculum. What is played and learned depends on seed, backend and kind of device alone.

    Args:
        settings: a `Settings`.
        level_config: the `tf_relational.envs.BoxWorldConfig` of the task.
        build_model: makes an agent, a `keras.Model` from uint8 `[B, rows, columns + 1, 3]` to
            `logits` `[B, 4]` and `value` `[B]`.
        build_optimizer: makes its optimizer.
        seeds: S different whole numbers.

    Raises:
        ValueError: a backend or a number of devices that cannot be used; no or equal seeds.

    Example:
        >>> from tf_relational.envs import BRIDGE
        >>> from tf_relational.models import build_agent
        >>> from tf_relational.rl import make_optimizer
        >>> from tf_relational.rl.compiled import Settings
        >>> trainer = CompiledTrainer(
        ...     Settings(num_envs=2, unroll_length=3, jit_compile=False), BRIDGE,
        ...     lambda: build_agent("relational"), make_optimizer, seeds=[0])
        >>> trainer.train()[0]["frames"]["sampled"]
        6
        >>> trainer.close()
    """

    def __init__(self, settings, level_config, build_model, build_optimizer, seeds):
        backend.check_backend()
        seeds = [int(seed) for seed in seeds]
        if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
            raise ValueError(f"seeds are different whole numbers from 0 on; received {seeds}.")
        self.settings, self.level_config, self.seeds = settings, level_config, seeds
        self.mesh = backend.data_mesh(settings.devices)
        self._build_model = build_model
        self._spare = None
        self.kinds = puzzle_types(level_config)
        self.curricula = [
            None if settings.curriculum is None else Curriculum(**settings.curriculum)
            for _ in seeds
        ]
        self.pools = [
            LevelPool(level_config, seed, settings.pool_size, self.kinds, _law(curriculum))
            for seed, curriculum in zip(seeds, self.curricula, strict=True)
        ]
        self.layout = self.pools[0].layout
        models = [self.new_model(seed) for seed in seeds]
        optimizers = [build_optimizer() for _ in seeds]
        self.learners = backend.Learners(models, optimizers, settings.gradient_clip)
        program = Program(settings, self.layout, len(self.kinds), self.learners, self.mesh)
        self._program = backend.compile_replicas(
            program, len(seeds), settings.jit_compile, self._lay if self.mesh else None
        )
        self.tallies = [
            Tally(self.kinds, bridges=level_config.gem_locks == 2, curriculum=curriculum, pool=pool)
            for curriculum, pool in zip(self.curricula, self.pools, strict=True)
        ]
        self.updates = self.training_iteration = 0
        self._games = [self._first_games(pool) for pool in self.pools]
        self._place()

    def new_model(self, seed=0):
        """Build an agent with the first weights of a seed."""
        keras.utils.set_random_seed(seed % 2**32)
        model = self._build_model()
        model(np.zeros((1, *self.level_config.observation_shape), np.uint8))
        return model

    def _first_games(self, pool):
        count = self.settings.num_envs
        games = rules.begin(pool.layout, ops.convert_to_tensor(pool.rows[:count]))
        pool.advance(count)
        return tree.map_structure(ops.convert_to_numpy, games)

    def _lay(self, results):
        """Lay what a call gives over the devices as it takes it, for the next call."""
        carry, told = results
        laid = backend.split(carry._replace(games=()), self.mesh, None)
        games = backend.split(carry.games, self.mesh, 1)
        return laid._replace(games=games), backend.split(told, self.mesh, None)

    def _place(self):
        """Lay games, weights and counters on the device, or over the devices."""
        cursors = np.array([pool.cursor for pool in self.pools], np.int32)
        whole = {"cursor": cursors, "updates": np.full(len(self.seeds), self.updates, np.int32)}
        games = tree.map_structure(lambda *parts: np.stack(parts), *self._games)
        # Tensors from the first call on, as in all later ones: an array would be compiled for anew.
        whole, games = tree.map_structure(ops.convert_to_tensor, (whole, games))
        whole["learner"] = self.learners.state
        self._carry = Carry(
            games=backend.split(games, self.mesh, 1), **backend.split(whole, self.mesh, None)
        )

    # ------------------------------------------------------------------ training

    @property
    def compilations(self):
        """How often the program was compiled; more than once is time lost."""
        return backend.compilations(self._program)

    @property
    def frames(self):
        """Environment steps so far, of each replica."""
        return self.updates * self.settings.frames_per_update

    def train(self, seconds=0.0, frames=None, stop=None):
        """Call the program, at least once, until `seconds` have passed.

        Args:
            seconds: fewest seconds.
            frames: ends before, when this many have been reached.
            stop: an object whose `requested` ends before.

        Returns:
            A result for each replica: a dict like the one of RLlib's `algorithm.train()`, with
            `env_runners`, `learners`, `curriculum`, `frames`, `throughput`, `training_iteration`,
            and `levels`: how many episodes began, `window` of the pool, how many `reused`.
        """
        start, before = time.perf_counter(), self.frames
        while True:
            self._call()
            elapsed = time.perf_counter() - start
            reached = frames is not None and self.frames >= frames
            if elapsed >= seconds or reached or (stop is not None and stop.requested):
                break
        self.training_iteration += 1
        rate = (self.frames - before) / elapsed
        common = {
            "training_iteration": self.training_iteration,
            "frames": {"sampled": self.frames, "trained": self.frames, "dropped": 0},
            "throughput": {"sampled_per_s": rate, "trained_per_s": rate},
        }
        last = {
            "learning_rate": self.settings.at("learning_rate", self.frames),
            "entropy_coeff": self.settings.at("entropy", self.frames),
            "num_updates_lifetime": self.updates,
        }
        return [{**common, **tally.result(last)} for tally in self.tallies]

    def _call(self):
        s = self.settings
        # As in the other engine, a schedule is read where the batch has just been sampled.
        ends = [self.frames + (k + 1) * s.frames_per_update for k in range(s.updates_per_call)]
        shared = {
            name: np.array([s.at(name, end) for end in ends], np.float32)
            for name in ("learning_rate", "entropy")
        }
        private = {
            "pool": np.stack([pool.rows for pool in self.pools]),
            "seed": np.array([seed % 2**31 for seed in self.seeds], np.int32),
            "difficulty": np.array([pool.difficulty for pool in self.pools], np.int32),
        }
        private, shared = backend.split((private, shared), self.mesh, None)
        self._carry, told = self._program(self._carry, private, shared)
        self.learners.state = self._carry.learner
        told = {name: ops.convert_to_numpy(value) for name, value in told.items()}
        self.updates += s.updates_per_call
        for index, tally in enumerate(self.tallies):
            tally.add({name: value[index] for name, value in told.items()})
            if self.curricula[index] is not None:
                self.pools[index].set_curriculum(_law(self.curricula[index]))

    # ------------------------------------------------------------------ replicas and state

    def model(self, index):
        """Return the agent of one replica with its present weights."""
        self.learners.update_model(index)
        return self.learners.models[index]

    def snapshot(self, index):
        """Copy everything that training of one replica goes on from, as a `Snapshot`."""
        weights, slots = self.learners.get(index)
        games = tree.map_structure(
            lambda part: np.array(ops.convert_to_numpy(part)[index]), self._carry.games
        )
        if self._spare is None:
            self._spare = self.new_model()
        pool, rows = self.pools[index].get_state()
        curriculum = self.curricula[index]
        return Snapshot(
            training_iteration=self.training_iteration,
            frames_done=self.frames,
            weights=weights,
            slots=slots,
            games=games._asdict(),
            rows=rows.copy(),
            state={
                "seed": self.seeds[index],
                "backend": keras.backend.backend(),
                "updates": self.updates,
                "training_iteration": self.training_iteration,
                "pool": pool,
                "curriculum": None if curriculum is None else curriculum.get_state(),
                "episodes": self.tallies[index].lifetime,
            },
            model=self._spare,
            optimizer_name=type(self.learners.optimizers[index]).__name__,
        )

    def restore(self, snapshots):
        """Go on from where the given snapshots, one of each replica, were taken.

        Raises:
            ValueError: they are of different moments, or do not fit the settings.
        """
        moments = {(part.state["updates"], part.training_iteration) for part in snapshots}
        if len(moments) != 1 or len(snapshots) != len(self.seeds):
            raise ValueError(
                f"restore needs one snapshot for each of {len(self.seeds)} replicas, all of one "
                f"moment; received {len(snapshots)} with (updates, iterations) {sorted(moments)}."
            )
        for index, part in enumerate(snapshots):
            have = tree.map_structure(np.shape, self._games[index]._asdict())
            given = tree.map_structure(np.shape, part.games)
            if have != given:
                raise ValueError(f"these games have shapes {have}; received {given}.")
            self.learners.set(index, part.weights, part.slots)
            self.pools[index].set_state(part.state["pool"], part.rows)
            if self.curricula[index] is not None:
                self.curricula[index].set_state(part.state["curriculum"])
            self.tallies[index].lifetime = part.state["episodes"]
            self._games[index] = rules.GameState(**part.games)
        (self.updates, self.training_iteration) = moments.pop()
        self._place()

    def close(self):
        """Stop the threads."""
        for pool in self.pools:
            pool.close()


def _law(curriculum):
    return None if curriculum is None else Law(**curriculum.setting())
