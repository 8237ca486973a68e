"""Remark B.1's player: what it concludes, how it walks, and what it solves."""

import numpy as np
import pytest

from tf_relational.analysis.boxes import Box, boxes_on_board
from tf_relational.analysis.episode import play, record
from tf_relational.analysis.scripted_player import (
    ScriptedPlayer,
    find_bridges,
    first_move,
    read_observation,
)
from tf_relational.analysis.solve_rates import solve_rate
from tf_relational.envs import BRIDGE, STANDARD, Level, Levels, Start, generate, solve
from tf_relational.envs.render import observation as render
from tf_relational.envs.rules import initial_state


def key(colour):
    return Box(colour, (), (1, 1), ())


def box(content, *needs):
    return Box(content, needs, (1, 1), tuple((2, 1 + n) for n in range(len(needs))))


# Paths 3 -> 2 -> 1 and 6 -> 5 -> 4, both to the gem; a bridge from 2 to 5: type (3, 2, 5).
PATHS = (key(3), box(2, 3), box(1, 2), key(6), box(5, 6), box(4, 5), box(0, 1, 4))
BRIDGE_BOX = box(5, 2)


def test_a_source_and_a_sink_locate_the_bridge():
    assert find_bridges((*PATHS, BRIDGE_BOX), []) == ({BRIDGE_BOX}, set())


def test_no_bridge_no_suspicion():
    assert find_bridges(PATHS, []) == (set(), set())


def test_a_source_alone_leaves_two_suspects():
    # Key 5 was taken and spent: the box that held it is gone, and so is the sink.
    left = (key(3), box(2, 3), box(1, 2), box(0, 1, 4), BRIDGE_BOX)
    assert find_bridges(left, [4]) == (set(), {BRIDGE_BOX, box(1, 2)})


def test_a_sink_alone_leaves_two_suspects():
    left = (box(0, 1, 4), box(4, 5), box(5, 6), BRIDGE_BOX, key(6))
    assert find_bridges(left, [1]) == (set(), {BRIDGE_BOX, box(5, 6)})


def test_loose_and_held_keys_and_the_gem_are_no_bridges():
    bridge = box(2, 1)
    gem = box(0, 1, 2)
    assert find_bridges((gem, key(2), bridge), [1]) == ({bridge}, set())
    assert find_bridges((gem, bridge), [1, 2]) == ({bridge}, set())
    assert find_bridges((bridge,), [2]) == ({bridge}, set())


def test_every_bridge_of_fresh_levels_is_located_at_the_start():
    levels = generate(BRIDGE, 300, np.random.default_rng(3))
    bridges = 0
    for level in (levels[index] for index in range(300)):
        found, suspects = find_bridges(boxes_on_board(level.board), [])
        assert {b.locks[0] for b in found} == {tuple(decoy) for decoy in level.decoys.tolist()}
        assert suspects == set()
        bridges += len(found)
    assert 100 < bridges < 200


def test_an_observation_is_read_as_the_board_it_shows():
    levels = generate(BRIDGE, 20, np.random.default_rng(4))
    for level in (levels[index] for index in range(20)):
        held = (1, 2)
        level = Level(level.board, level.colours, level.decoys, start=Start((3, 2), held))
        state = initial_state(Levels.stack([level]))
        colours = level.colours[None]
        picture = render(state.board, colours, state.position, state.inventory)[0]
        board, position, inventory = read_observation(picture)
        packed = level.colours.astype(int) @ [65536, 256, 1]
        expected = np.where(level.board < 0, -1, packed[level.board])
        expected = np.where(level.board == 0, 0, expected)
        np.testing.assert_array_equal(board, expected)
        assert position == (3, 2)
        assert inventory == [packed[1], packed[2]]


def test_a_picture_without_a_player_is_refused():
    with pytest.raises(ValueError, match="0 player tiles"):
        read_observation(np.full((7, 10, 3), 199, np.uint8))


def test_first_moves():
    board = np.full((5, 3), -1)
    assert first_move(board, (2, 1), {(0, 1)}) == 0
    assert first_move(board, (2, 1), {(2, 0)}) == 1
    assert first_move(board, (2, 1), {(4, 1), (0, 0)}) == 2
    assert first_move(board, (2, 1), set()) is None
    board[3, :] = 4
    assert first_move(board, (2, 1), {(4, 1)}) is None
    board[3, 2] = -1
    assert first_move(board, (2, 1), {(4, 1)}) == 3


def test_its_walk_is_shortest_when_there_is_one_order_to_open_boxes():
    """Standard levels without distractors have one order: the solver's length is the answer."""
    config = STANDARD.__class__(distractors=(0, 0))
    levels = generate(config, 25, np.random.default_rng(6))
    outcomes = play(ScriptedPlayer(), levels, step_limit=300)
    assert outcomes.solved.all() and not outcomes.decoy.any()
    # Only tiles on the way differ: a lock is entered from where the walk comes.
    shortest = [len(solve(levels[index])) for index in range(25)]
    assert (outcomes.length >= shortest).all()
    assert outcomes.length.sum() == sum(shortest)


def test_solve_rate_by_type():
    """It loses only where its own moves can remove the sink before it opens the source."""
    rate = solve_rate(BRIDGE, episodes=160, seed=0, step_limit=200)
    assert rate.episodes == 160
    lost = {kind for kind, (solved, episodes) in rate.by_type.items() if solved < episodes}
    assert lost <= {(2, 2, 4), (3, 2, 5), (3, 2, 6), (3, 3, 5), (3, 3, 6)}
    assert 0.9 < rate.fraction < 1.0
    assert rate.text().startswith(f"all: {rate.solved}/160 = {rate.fraction:.3f} solved within 200")
    few = [solve_rate(BRIDGE, episodes=10, seed=seed, step_limit=200) for seed in (0, 0, 1)]
    assert few[0] == few[1] != few[2]


def test_solve_rate_of_another_policy_and_a_short_limit():
    def stand(observations):
        return np.zeros(len(observations), int)

    rate = solve_rate(BRIDGE, episodes=10, seed=0, step_limit=3, policy=stand)
    assert (rate.solved, rate.episodes, rate.fraction) == (0, 10, 0.0)
    with pytest.raises(ValueError, match="episodes=0"):
        solve_rate(BRIDGE, episodes=0, seed=0, step_limit=3)
    with pytest.raises(ValueError, match="step_limit=0"):
        solve_rate(BRIDGE, episodes=1, seed=0, step_limit=0)


def test_it_answers_zero_when_nothing_can_be_opened():
    picture = np.full((1, 7, 10, 3), 199, np.uint8)
    picture[:, :, -1] = 10
    picture[0, 3, 3] = 127
    picture[0, 1, 1], picture[0, 1, 2] = 255, (200, 0, 0)
    assert ScriptedPlayer()(picture).tolist() == [0]


def test_observations_of_another_kind_are_refused():
    for wrong in (np.zeros((7, 10, 3), np.uint8), np.zeros((1, 7, 10, 3), np.float32)):
        with pytest.raises(ValueError, match="expected uint8"):
            ScriptedPlayer()(wrong)


def test_a_recorded_episode_replays_and_proves():
    levels = generate(BRIDGE, 30, np.random.default_rng(9))
    outcomes = play(ScriptedPlayer(), levels, step_limit=120)
    names = {"proof": "solved", "no proof": "bridge or distractor opened"}
    for index in range(0, 30, 3):
        episode = record(ScriptedPlayer(), levels[index], step_limit=120)
        assert len(episode.actions) == outcomes.length[index] == len(episode.rewards)
        assert len(episode.observations) == len(episode.actions) + 1
        assert (episode.outcome == "solved") == outcomes.solved[index]
        assert names[episode.proof().outcome] == episode.outcome
        chosen = ScriptedPlayer()(episode.observations[:-1])
        np.testing.assert_array_equal(chosen, episode.actions)


def test_an_episode_cut_by_the_limit_says_so():
    level = generate(BRIDGE, 1, np.random.default_rng(0))[0]
    episode = record(ScriptedPlayer(), level, step_limit=2)
    assert episode.outcome == "step limit reached" and len(episode.actions) == 2
    assert episode.proof().outcome == "unfinished"
