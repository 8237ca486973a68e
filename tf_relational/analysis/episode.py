"""Playing Box-World levels with any policy, and what one episode was."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tf_relational.analysis.episode_proof import EpisodeProof, prove_episode
from tf_relational.envs import Level, Levels
from tf_relational.envs.render import observation as render
from tf_relational.envs.rules import State, initial_state, step

Policy = Callable[[np.ndarray], np.ndarray]
"""Maps observations uint8 [B, R, C+1, 3] to actions int [B]."""


@dataclass(frozen=True)
class Episode:
    """One episode of T steps.

    Attributes:
        level: The puzzle.
        observations: uint8 [T+1, R, C+1, 3], the first before any step.
        actions: int64 [T].
        rewards: float32 [T].
        outcome: `"solved"`, `"bridge or distractor opened"` or `"step limit reached"`.
    """

    level: Level
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    outcome: str

    def proof(self) -> EpisodeProof:
        """The episode as a proof in linear logic, see `episode_proof`."""
        return prove_episode(self.level, self.actions)


@dataclass(frozen=True)
class Outcomes:
    """How B episodes ended.

    Attributes:
        solved: bool [B], the gem was reached within the step limit.
        decoy: bool [B], a bridge or distractor was opened.
        length: int64 [B], steps played.
    """

    solved: np.ndarray
    decoy: np.ndarray
    length: np.ndarray


def agent_policy(model, rng: np.random.Generator | None = None) -> Policy:
    """A policy from an agent: samples with `rng`, takes the likeliest action without one."""

    def act(observations):
        import keras

        logits = model(observations)["logits"]
        logits = keras.ops.convert_to_numpy(logits).astype(np.float64)
        if rng is not None:
            # The largest of logits plus Gumbel noise is a sample of their softmax.
            logits = logits + rng.gumbel(size=logits.shape)
        return logits.argmax(axis=-1)

    return act


def play(policy: Policy, levels: Levels, step_limit: int | None) -> Outcomes:
    """Plays each level once, all of them together.

    Args:
        policy: Who plays.
        levels: B puzzles.
        step_limit: Most steps; `None` for no limit, which never ends if the policy gets stuck.

    >>> from tf_relational.analysis.scripted_player import ScriptedPlayer
    >>> from tf_relational.envs import BRIDGE, generate
    >>> levels = generate(BRIDGE, 4, np.random.default_rng(0))
    >>> play(ScriptedPlayer(), levels, step_limit=200).solved.shape
    (4,)
    """
    count = len(levels)
    solved, decoy = np.zeros(count, bool), np.zeros(count, bool)
    length = np.zeros(count, np.int64)
    for games, _, _, result, _ in _steps(policy, levels, step_limit):
        solved[games], decoy[games] = result.won, result.distractor_opened
        length[games] += 1
    return Outcomes(solved, decoy, length)


def record(policy: Policy, level: Level, step_limit: int | None) -> Episode:
    """Plays one level and keeps everything."""
    return record_all(policy, Levels.stack([level]), step_limit)[0]


def record_all(policy: Policy, levels: Levels, step_limit: int | None) -> list[Episode]:
    """Plays each level once, all of them together, and keeps everything."""
    first = _observe(initial_state(levels), levels.colours)
    seen = [[observation] for observation in first]
    actions, rewards = ([[] for _ in range(len(levels))] for _ in range(2))
    outcomes = ["step limit reached"] * len(levels)
    for games, _, chosen, result, state in _steps(policy, levels, step_limit):
        after = _observe(state, levels.colours[games])
        for row, game in enumerate(games):
            seen[game].append(after[row])
            actions[game].append(int(chosen[row]))
            rewards[game].append(result.reward[row])
            if result.terminated[row]:
                outcomes[game] = "solved" if result.won[row] else "bridge or distractor opened"
    return [
        Episode(
            levels[game],
            np.stack(seen[game]),
            np.array(actions[game], np.int64),
            np.array(rewards[game], np.float32),
            outcomes[game],
        )
        for game in range(len(levels))
    ]


def _steps(policy, levels, step_limit) -> Iterator[tuple]:
    """Yields game numbers, observations, actions, results and states of the games not yet over."""
    if step_limit is not None and step_limit < 1:
        raise ValueError(f"received step_limit={step_limit}; allowed: None or at least 1")
    games, state, colours = np.arange(len(levels)), initial_state(levels), levels.colours
    done = 0
    while len(games) and (step_limit is None or done < step_limit):
        observations = _observe(state, colours)
        actions = np.asarray(policy(observations))
        state, result = step(state, actions)
        yield games, observations, actions, result, state
        going = ~result.terminated
        games, colours = games[going], colours[going]
        parts = (state.board, state.position, state.inventory, state.decoys)
        state = State(*(part[going] for part in parts))
        done += 1


def _observe(state, colours):
    return render(state.board, colours, state.position, state.inventory)
