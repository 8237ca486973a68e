"""One update as a pure program: act, step, statistics, learn. Only `keras.ops`."""

from typing import Any, NamedTuple

import keras
from keras import ops

from tf_relational.envs import compiled_rules as rules
from tf_relational.envs.rules import MOVES
from tf_relational.rl.compiled.backend import gumbel, loop, on_accelerator, split
from tf_relational.rl.loss import impala_loss
from tf_relational.rl.slices import slice_width

ACTIONS = len(MOVES)

LEARNER_METRICS = (
    "total_loss",
    "policy_loss",
    "value_loss",
    "entropy",
    "importance_weight_mean",
    "importance_weight_max",
    "explained_variance",
    "gradient_norm",
)
"""What an update reports of each of its gradient steps, in this order."""


class Carry(NamedTuple):
    """What one update hands to the next."""

    learner: Any
    """State of `Learners`, one replica's."""
    games: rules.GameState
    """E games."""
    cursor: Any
    """int32 scalar: the next row of the pool."""
    updates: Any
    """int32 scalar: updates so far, the counter of the random numbers."""


class Steps(NamedTuple):
    """T steps of E environments, every field `[T, E, ...]`."""

    observations: Any
    actions: Any
    log_probs: Any
    rewards: Any
    done: Any
    won: Any
    decoy_opened: Any
    length: Any
    episode_return: Any
    kind: Any
    curriculum: Any


class Program:
    """The update of one replica.

    Args:
        settings: a `Settings`.
        layout: the `tf_relational.envs.packed.Layout` of the pool's rows.
        num_kinds: how many puzzle types the rows number.
        learners: a `Learners`.
        mesh: of `backend.data_mesh`.
    """

    def __init__(self, settings, layout, num_kinds, learners, mesh=None):
        self.settings, self.layout, self.num_kinds = settings, layout, num_kinds
        self.learners, self.mesh = learners, mesh

    def __call__(self, index, carry, private, shared):
        """Make several updates.

        Args:
            index: the replica.
            carry: a `Carry`.
            private: dict of the replica's own `pool` `[L, W]`, `seed` and `difficulty`, int32
                scalars.
            shared: dict of `learning_rate` and `entropy`, float32 `[U]`, one for each update.

        Returns:
            The carry after U updates, and a dict of statistics `[U, ...]`: see `statistics`, and
            `learner` `[U, minibatches, len(LEARNER_METRICS)]`.
        """
        s = self.settings

        def update(carry, coefficients):
            carry, steps, last = self.unroll(index, carry, private)
            told = self.statistics(steps, private["difficulty"])
            learner, metrics = self.learn(index, carry.learner, steps, last, coefficients)
            return carry._replace(learner=learner, updates=carry.updates + 1), {
                **told,
                "learner": metrics,
            }

        specs = {
            **self._statistics_specs(),
            "learner": keras.KerasTensor((s.num_minibatches, len(LEARNER_METRICS)), "float32"),
        }
        return loop(update, carry, shared, s.updates_per_call, specs)

    # ------------------------------------------------------------------ acting

    def unroll(self, index, carry, private):
        """Act for T steps.

        Returns:
            The carry, the `Steps`, and the observation after them.
        """
        s, layout, place = self.settings, self.layout, self.layout.slices
        first = carry.updates * s.unroll_length

        def act(state, t):
            games, cursor = state
            seen = rules.observe(layout, games)
            outputs = self.learners.forward(index, carry.learner, seen)
            log_policy = ops.log_softmax(ops.cast(outputs["logits"], "float32"))
            noise = gumbel(private["seed"], first + t, tuple(log_policy.shape))
            # argmax(log pi + Gumbel noise) is a draw from pi.
            actions = ops.cast(ops.argmax(log_policy + noise, axis=-1), "int32")
            chosen = ops.one_hot(actions, log_policy.shape[-1], dtype="bool")
            log_probs = ops.sum(ops.where(chosen, log_policy, 0.0), axis=-1)
            after, outcome = rules.step(layout, games, actions)
            games, cursor = rules.restart(layout, after, outcome.done, private["pool"], cursor)
            row = Steps(
                observations=seen,
                actions=actions,
                log_probs=log_probs,
                rewards=outcome.reward,
                done=outcome.done,
                won=outcome.won,
                decoy_opened=outcome.decoy_opened,
                length=after.steps,
                episode_return=after.episode_return,
                kind=after.level[:, place["kind"]][:, 0],
                curriculum=after.level[:, place["curriculum"]][:, 0],
            )
            return (split(games, self.mesh, 0), cursor), row

        times = ops.arange(s.unroll_length, dtype="int32")
        (games, cursor), steps = loop(
            act, (carry.games, carry.cursor), times, s.unroll_length, self._steps_specs()
        )
        last = rules.observe(layout, games)
        return carry._replace(games=games, cursor=cursor), steps, last

    def _steps_specs(self):
        envs = self.settings.num_envs
        pictures = (envs, self.layout.rows, self.layout.width, 3)
        whole, truth, number = (
            keras.KerasTensor((envs,), dtype) for dtype in ("int32", "bool", "float32")
        )
        return Steps(
            observations=keras.KerasTensor(pictures, "uint8"),
            actions=whole,
            log_probs=number,
            rewards=number,
            done=truth,
            won=truth,
            decoy_opened=truth,
            length=whole,
            episode_return=number,
            kind=whole,
            curriculum=whole,
        )

    # ------------------------------------------------------------------ statistics

    def statistics(self, steps, difficulty):
        """Count the episodes that ended, apart from and within a start-state curriculum.

        Args:
            steps: `Steps`.
            difficulty: int32 scalar, the curriculum's present one; 0 without.

        Returns:
            A dict: int32 `starts` (levels taken from the pool), `episodes`, `length`, `solved`,
            `decoy_opened`, `curriculum_episodes`; float32 `return`, `curriculum_return`; int32
            `episodes_by_kind` and `solved_by_kind`, `[kinds]`; and uint8 `outcomes` `[T, E]`: 1 and
            2 where a curriculum episode of that difficulty failed and succeeded (a positive
            return), or `[0, 0]` without a curriculum.
        """
        from_curriculum = steps.done & (steps.curriculum > 0)
        real = steps.done & (steps.curriculum == 0)

        def count(where, values=1):
            return ops.sum(ops.where(where, values, 0))

        kinds = ops.arange(self.num_kinds, dtype="int32")
        of_kind = (steps.kind[..., None] == kinds) & real[..., None]
        told = {
            "starts": count(steps.done),
            "episodes": count(real),
            "length": count(real, steps.length),
            "solved": count(real & steps.won),
            "decoy_opened": count(real & steps.decoy_opened),
            "curriculum_episodes": count(from_curriculum),
            "return": count(real, steps.episode_return),
            "curriculum_return": count(from_curriculum, steps.episode_return),
            "episodes_by_kind": ops.sum(ops.cast(of_kind, "int32"), axis=(0, 1)),
            "solved_by_kind": ops.sum(
                ops.cast(of_kind & steps.won[..., None], "int32"), axis=(0, 1)
            ),
        }
        current = steps.done & (steps.curriculum == difficulty) & (difficulty > 0)
        outcomes = ops.where(current, ops.where(steps.episode_return > 0, 2, 1), 0)
        rows, width = self._outcomes_shape()
        told["outcomes"] = ops.cast(outcomes[:rows, :width], "uint8")
        specs = self._statistics_specs()
        return {name: ops.cast(value, specs[name].dtype) for name, value in told.items()}

    def _outcomes_shape(self):
        s = self.settings
        return (s.unroll_length, s.num_envs) if s.curriculum is not None else (0, 0)

    def _statistics_specs(self):
        whole = ("starts", "episodes", "length", "solved", "decoy_opened", "curriculum_episodes")
        kinds = keras.KerasTensor((self.num_kinds,), "int32")
        return {
            **{name: keras.KerasTensor((), "int32") for name in whole},
            **{name: keras.KerasTensor((), "float32") for name in ("return", "curriculum_return")},
            "episodes_by_kind": kinds,
            "solved_by_kind": kinds,
            "outcomes": keras.KerasTensor(self._outcomes_shape(), "uint8"),
        }

    # ------------------------------------------------------------------ learning

    def learn(self, index, state, steps, last, coefficients):
        """Make the gradient steps of one batch, one for each group of environments.

        Environment e is in group `e % num_minibatches`: were a group a run of neighbours, it would
        lie on one device of several.

        Args:
            index: the replica.
            state: the learner's.
            steps: `Steps`.
            last: the observation after them, `[E, rows, columns + 1, 3]`.
            coefficients: dict of `learning_rate` and `entropy`, float32 scalars.

        Returns:
            The new state and `[minibatches, len(LEARNER_METRICS)]`.
        """
        groups = self.settings.num_minibatches
        batch = {
            "observations": ops.concatenate([steps.observations, last[None]], axis=0),
            "actions": steps.actions,
            "log_probs": steps.log_probs,
            "rewards": steps.rewards,
            "ends": ops.cast(steps.done, "float32"),
        }

        def group(value):
            """`[T, E, ...]` as `[groups, T, E / groups, ...]`."""
            shape = tuple(value.shape)
            parts = ops.reshape(value, (shape[0], shape[1] // groups, groups, *shape[2:]))
            return ops.moveaxis(parts, 2, 0)

        def step(state, part):
            part = split(part, self.mesh, 1)
            gradients, outputs = self.gradients(index, state, part, coefficients["entropy"])
            told = self.loss(outputs, part, coefficients["entropy"])
            state, norm = self.learners.apply(
                index, state, gradients, coefficients["learning_rate"]
            )
            told = {**told, "gradient_norm": norm}
            return state, ops.stack([ops.cast(told[name], "float32") for name in LEARNER_METRICS])

        specs = keras.KerasTensor((len(LEARNER_METRICS),), "float32")
        parts = {name: group(value) for name, value in batch.items()}
        return loop(step, state, parts, groups, specs)

    def gradients(self, index, state, batch, entropy):
        """Differentiate the loss of a batch, on a CPU in slices that fit a core's cache.

        The loss is a sum or a mean over environments, and so is its gradient.

        Args:
            index: the replica.
            state: the learner's.
            batch: as in `loss`.
            entropy: as in `loss`.

        Returns:
            The gradients, and the outputs that `loss` takes.
        """
        length, width = batch["actions"].shape
        # A slice of neighbours would lie on one of several devices alone.
        whole = self.mesh or on_accelerator()
        size = width if whole else slice_width(length, width)
        count = width // size
        share = 1.0 / count if self.settings.loss_reduction == "mean" else 1.0

        def of(part):
            def value(forward):
                outputs = self.outputs(forward, part["observations"])
                return share * self.loss(outputs, part, entropy)["total_loss"], outputs

            return self.learners.gradients(index, state, value)

        if count == 1:
            return of(batch)

        def add(sums, part):
            gradients, outputs = of(part)
            return [one + other for one, other in zip(sums, gradients, strict=True)], outputs

        def slices(value):
            shape = tuple(value.shape)
            return ops.moveaxis(ops.reshape(value, (shape[0], count, size, *shape[2:])), 1, 0)

        def whole(value):
            shape = tuple(value.shape)
            return ops.reshape(ops.moveaxis(value, 0, 1), (shape[1], width, *shape[3:]))

        specs = {
            "logits": keras.KerasTensor((length + 1, size, ACTIONS), "float32"),
            "value": keras.KerasTensor((length + 1, size), "float32"),
        }
        zeros = [
            ops.zeros(variable.shape, variable.dtype)
            for variable in self.learners.models[index].trainable_variables
        ]
        parts = {name: slices(value) for name, value in batch.items()}
        sums, outputs = loop(add, zeros, parts, count, specs)
        return sums, {name: whole(value) for name, value in outputs.items()}

    def outputs(self, forward, seen):
        """Call the network on observations `[T, B, ...]`: `logits` `[T, B, A]`, `value` `[T, B]`.

        Args:
            forward: from `[B', ...]` to `logits` and `value`.
            seen: the observations.
        """
        length, width = seen.shape[:2]
        # Environments first: the dimension that is split over devices stays the outermost.
        flat = ops.reshape(ops.swapaxes(seen, 0, 1), (width * length, *seen.shape[2:]))
        found = forward(flat)
        logits = ops.reshape(ops.cast(found["logits"], "float32"), (width, length, ACTIONS))
        values = ops.reshape(ops.cast(found["value"], "float32"), (width, length))
        return {"logits": ops.swapaxes(logits, 0, 1), "value": ops.swapaxes(values, 0, 1)}

    def loss(self, outputs, batch, entropy):
        """Compute `impala_loss` of a batch, as a dict of its parts.

        Args:
            outputs: `logits` `[T + 1, B, A]` and `value` `[T + 1, B]`.
            batch: dict of `observations` `[T + 1, B, ...]`; `actions`, `log_probs`, `rewards` and
                `ends` `[T, B]`.
            entropy: coefficient of the entropy bonus.
        """
        s = self.settings
        return impala_loss(
            outputs["logits"][:-1],
            outputs["value"],
            batch["actions"],
            batch["log_probs"],
            batch["rewards"],
            s.gamma * (1.0 - batch["ends"]),
            value_coefficient=s.value_coefficient,
            entropy_coefficient=entropy,
            reduction=s.loss_reduction,
            lambda_=s.vtrace_lambda,
        )
