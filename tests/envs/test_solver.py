"""The solver against every state that the rules alone can reach."""

import dataclasses

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tf_relational.envs import (
    BRIDGE,
    STANDARD,
    BoxWorldConfig,
    Level,
    Levels,
    Start,
    generate,
    solve,
)
from tf_relational.envs.rules import State, initial_state, step

COLOURS = np.zeros((21, 3), np.uint8)


def explore(state, stop_at_win=True):
    """Play every action in every reachable state, breadth first.

    Returns the length of a shortest win (``None`` without one) and the states right after a decoy
    was opened.
    """
    seen, spoilt, shortest, length = set(), [], None, 0
    while len(state.board):
        length += 1
        actions = np.tile(np.arange(4), len(state.board))
        state = State(*(np.repeat(value, 4, axis=0) for value in vars(state).values()))
        state, result = step(state, actions)
        if result.won.any():
            shortest = shortest or length
            if stop_at_win:
                break
        keep = []
        for index in np.flatnonzero(~result.won):
            name = b"".join(value[index].tobytes() for value in vars(state).values())
            if name in seen:
                continue
            seen.add(name)
            if result.distractor_opened[index]:
                spoilt.append(select(state, [index]))
            else:
                keep.append(index)
        state = select(state, keep)
    return shortest, spoilt


def select(state, index):
    return State(*(value[index] for value in vars(state).values()))


def without_decoys(state):
    return dataclasses.replace(state, decoys=state.decoys[:, :0])


def replay(level, actions):
    """The rewards of a play, and its last state; every step but the last goes on."""
    state, rewards = initial_state(Levels.stack([level])), []
    for index, action in enumerate(actions):
        state, result = step(state, np.array([action]))
        rewards.append(float(result.reward[0]))
        assert result.terminated[0] == (index == len(actions) - 1)
    return rewards, state


@st.composite
def handmade_levels(draw):
    """Small boards with any keys and locks, often unsolvable, begun anywhere."""
    board = np.full((8, 6), -1, np.int8)
    slots = draw(st.permutations([(1, 1), (1, 3), (4, 1), (4, 3), (1, 5), (4, 5)]))
    colours = st.integers(1, 3)
    two_locks = draw(st.booleans())
    (x, y), *others = slots
    if two_locks and y < 5:
        board[x : x + 2, y] = 0, 1
        board[x : x + 2, y + 1] = 0, 2
        others = [slot for slot in others if slot != (x, y + 2)]
    else:
        board[x : x + 2, y] = 0, draw(colours)
    boxes = []
    for x, y in others[: draw(st.integers(0, 4))]:
        board[x, y] = draw(colours)
        if draw(st.booleans()):
            board[x + 1, y] = draw(colours)
            boxes.append((x + 1, y))
    decoys = [box for box in boxes if draw(st.integers(0, 3)) == 0]
    floor = np.argwhere(board < 0)
    position = tuple(floor[draw(st.integers(0, len(floor) - 1))].tolist())
    held = tuple(draw(st.lists(colours, max_size=2)))
    return Level(board, COLOURS[:4], decoys, start=Start(position, held))


@hypothesis.given(handmade_levels())
@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
def test_length_is_that_of_an_exhaustive_search(level):
    shortest, _ = explore(initial_state(Levels.stack([level])))
    solution = solve(level)
    assert (solution and len(solution)) == shortest
    if solution:
        rewards, state = replay(level, solution.actions)
        assert rewards[-1] == 10 and -1 not in rewards
        assert solution.opened[-1] == tuple(state.position[0].tolist())


def test_generated_levels_are_solved_in_the_shortest_way():
    rng = np.random.default_rng(0)
    for config in (
        dataclasses.replace(BRIDGE, solution_length=(1, 2)),
        dataclasses.replace(STANDARD, solution_length=(1, 3), distractors=(0, 2)),
    ):
        for level in generate(config, 6, rng):
            shortest, _ = explore(initial_state(Levels.stack([level])))
            assert len(solve(level)) == shortest


def test_every_opened_decoy_leaves_the_gem_out_of_reach():
    """All orders of play: from no state right after a decoy can the gem still be had."""
    rng = np.random.default_rng(1)
    bridged = dataclasses.replace(BRIDGE, solution_length=(1, 2), bridge_probability=1.0)
    distracted = dataclasses.replace(STANDARD, solution_length=(1, 3), distractors=(1, 3))
    for config in (bridged, distracted):
        for level in generate(config, 4, rng):
            _, spoilt = explore(initial_state(Levels.stack([level])), stop_at_win=False)
            assert spoilt
            for state in spoilt:
                assert solve(without_decoys(state)) is None
            assert explore(without_decoys(spoilt[0])) == (None, [])


def decoy_as_gem(level, decoy):
    """The level whose gem is the key that ``decoy`` holds; the real gem's box cannot be opened."""
    board = level.board.copy()
    for x, y in np.argwhere(board == 0):
        board[x : x + 2, y] = 20
    x, y = decoy
    board[x - 1, y] = 0
    return Level(board, level.colours)


CONFIGS = st.one_of(
    st.builds(
        BoxWorldConfig,
        rows=st.integers(7, 11),
        columns=st.integers(9, 13),
        solution_length=st.integers(1, 3),
        distractors=st.integers(0, 2),
        distractor_length=st.sampled_from([1, 2, (1, 2)]),
    ),
    st.builds(
        BoxWorldConfig,
        rows=st.integers(7, 11),
        columns=st.integers(9, 13),
        solution_length=st.integers(1, 3),
        distractors=st.just(0),
        gem_locks=st.just(2),
        bridge_probability=st.sampled_from([0.0, 0.5, 1.0]),
    ),
)


@hypothesis.given(CONFIGS, st.integers(0, 2**32 - 1))
@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
def test_every_generated_level_is_solvable_and_spoilt_by_its_decoys(config, seed):
    for level in generate(config, 2, np.random.default_rng(seed)):
        rewards, _ = replay(level, solve(level).actions)
        keys = level.solution_length * config.gem_locks
        assert sorted(rewards)[-keys - 1 :] == [1.0] * keys + [10.0]
        assert sum(rewards) == keys + 10
        for decoy in level.decoys.tolist():
            way = solve(decoy_as_gem(level, decoy))
            if way is None:
                # A later box of a distractor branch: its key lies in a box that ends the game.
                continue
            state = initial_state(Levels.stack([level]))
            for action in way.actions:
                state, result = step(state, np.array([action]))
                if result.terminated[0]:
                    break
            assert result.distractor_opened[0] and result.reward[0] == -1
            assert solve(without_decoys(state)) is None


def test_solves_a_game_in_the_middle():
    level = generate(BRIDGE, 1, np.random.default_rng(3))[0]
    actions = solve(level).actions
    state = initial_state(Levels.stack([level]))
    for played, action in enumerate(actions[:-1], start=1):
        state, _ = step(state, np.array([action]))
        assert len(solve(state)) == len(actions) - played
    assert len(solve(step(state, np.array(actions[-1:]))[0])) == 0


def test_refuses_a_batch():
    state = initial_state(generate(BRIDGE, 2, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="one game, got 2"):
        solve(state)
