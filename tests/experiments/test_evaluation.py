"""Evaluation against episodes whose end is known beforehand: the exact solver plays them."""

import collections
import zlib

import numpy as np
import pytest

from tf_relational.envs import BRIDGE, BoxWorldConfig, solve
from tf_relational.envs.render import observation
from tf_relational.envs.rules import initial_state, step
from tf_relational.experiments import evaluation

LENGTH_1 = BoxWorldConfig(7, 9, 1, 0, gem_locks=2, bridge_probability=0.5)


def expert(levels):
    """A policy that knows every observation on the way of each level's shortest solution."""
    actions, lengths = {}, []
    for index in range(len(levels)):
        state = initial_state(levels[index : index + 1])
        solution = [int(action) for action in solve(levels[index]).actions]
        lengths.append(len(solution))
        for action in solution:
            image = observation(
                state.board, levels.colours[index : index + 1], state.position, state.inventory
            )
            actions[image[0].tobytes()] = action
            state, _ = step(state, np.array([action]))
    return lambda images: np.array([actions[image.tobytes()] for image in images]), lengths


def test_the_solver_solves_exactly_what_fits_into_the_limit():
    levels, natural = evaluation.fresh_levels(LENGTH_1, 20, seed=1)
    policy, lengths = expert(levels)
    lengths = np.array(lengths)
    limit = int(np.median(lengths))
    for bound in (None, limit):
        episodes = evaluation.play(LENGTH_1, levels, natural, policy, bound)
        most = 10_000 if bound is None else bound
        np.testing.assert_array_equal(episodes.solved, lengths <= most)
        np.testing.assert_array_equal(episodes.length, np.minimum(lengths, most))
    shares = episodes.shares()
    bridge = np.array([row[1] > 0 for row in levels.puzzle_type.tolist()])
    assert shares["all"]["mean"] == np.mean(lengths[:natural] <= limit)
    assert shares["(1, 1, 2)"]["mean"] == np.mean(lengths[bridge] <= limit)
    assert shares["None"]["mean"] == np.mean(lengths[~bridge] <= limit)
    assert list(shares) == ["all", "None", "(1, 1, 2)"]


@pytest.mark.parametrize(
    ("types", "kinds"),
    [
        ([(1, 0, 0)], ["all"]),
        ([(1, 1, 2)], ["all"]),
        ([(1, 0, 0), (2, 0, 0)], ["all", "length 1", "length 2"]),
        ([(1, 0, 0), (1, 1, 2)], ["all", "None", "(1, 1, 2)"]),
        ([(2, 1, 3), (1, 1, 2)], ["all", "(1, 1, 2)", "(2, 1, 3)"]),
        (
            [(1, 0, 0), (2, 0, 0), (1, 1, 2)],
            ["all", "None", "(1, 1, 2)", "length 1", "length 2"],
        ),
    ],
    ids=str,
)
def test_a_kind_is_named_where_it_says_something_new(types, kinds):
    natural = np.array([*types, *types])
    solved = np.arange(len(natural)) % 2 == 0
    shares = evaluation.Episodes(natural, len(natural), solved, solved).shares()
    assert list(shares) == kinds
    assert shares["all"]["episodes"] == 2 * len(types)


def test_puzzles_added_to_an_only_length_count():
    types = np.array([(1, 1, 2), (1, 0, 0), (1, 0, 0)])
    episodes = evaluation.Episodes(types, 2, np.array([1, 0, 1]), np.zeros(3))
    assert episodes.shares()["None"]["episodes"] == 2
    assert episodes.shares()["all"]["episodes"] == 2


def test_episodes_over_several_chunks_stay_in_order(monkeypatch):
    levels, natural = evaluation.fresh_levels(LENGTH_1, 12, seed=2)
    policy, lengths = expert(levels)
    monkeypatch.setattr(evaluation, "_CHUNK", 7)
    episodes = evaluation.play(LENGTH_1, levels, natural, policy, None)
    assert episodes.length.tolist() == lengths


def test_walking_into_the_wall_solves_nothing():
    levels, natural = evaluation.fresh_levels(LENGTH_1, 5, seed=3)
    episodes = evaluation.play(
        LENGTH_1, levels, natural, lambda images: np.ones(len(images), int), 30
    )
    assert not episodes.solved.any()
    assert (episodes.length == 30).all()


def test_a_deterministic_policy_that_has_not_ended_in_time_never_does():
    levels, natural = evaluation.fresh_levels(LENGTH_1, 60, seed=6)

    def policy(images):
        # Another action for every sight, and always the same one for the same sight.
        return np.array([zlib.crc32(image.tobytes()) % 4 for image in images])

    most = evaluation.most_deterministic_steps(LENGTH_1)
    short = evaluation.play(LENGTH_1, levels, natural, policy, most)
    long = evaluation.play(LENGTH_1, levels, natural, policy, 2 * most)
    np.testing.assert_array_equal(short.solved, long.solved)
    np.testing.assert_array_equal(short.length == most, long.length == 2 * most)


def test_chance_alone_solves_every_bridge_free_puzzle_without_a_limit():
    levels, natural = evaluation.fresh_levels(LENGTH_1, 50, seed=4)
    episodes = evaluation.play(LENGTH_1, levels, natural, evaluation.uniform_policy(0), None)
    shares = episodes.shares()
    assert shares["None"]["mean"] == 1.0
    # The recorded share is .548 with a bridge; 50 episodes leave it within this.
    assert 0.3 < shares["(1, 1, 2)"]["mean"] < 0.8


def test_every_puzzle_type_has_its_episodes():
    levels, natural = evaluation.fresh_levels(BRIDGE, 4, seed=0)
    counts = collections.Counter(map(tuple, levels.puzzle_type.tolist()))
    expected = {(a, 0, 0) for a in (1, 2, 3)}
    expected |= {
        (a, b, c) for a in (1, 2, 3) for b in range(1, a + 1) for c in range(a + 1, 2 * a + 1)
    }
    assert set(counts) == expected
    assert min(counts.values()) >= 4
    assert natural < len(levels)


def test_levels_come_from_a_stream_that_training_does_not_use():
    first, _ = evaluation.fresh_levels(LENGTH_1, 50, seed=0)
    again, _ = evaluation.fresh_levels(LENGTH_1, 50, seed=0)
    np.testing.assert_array_equal(first.board, again.board)
    np.testing.assert_array_equal(first.colours, again.colours)
    from tf_relational.envs import generate

    def prints(levels):
        pairs = zip(levels.board, levels.colours, strict=True)
        return {board.tobytes() + colours.tobytes() for board, colours in pairs}

    seen = prints(first)
    for seed in (0, 1, 0xE7A1):
        training = generate(LENGTH_1, 2_000, np.random.default_rng(seed))
        assert not seen & prints(training)
        other, _ = evaluation.fresh_levels(LENGTH_1, 50, seed=seed + 1)
        assert not seen & prints(other)


@pytest.mark.parametrize("greedy", [True, False])
def test_a_model_acts_by_its_logits(greedy):
    import tensorflow as tf

    def model(images):
        # Action 2 has probability 0.7 and the other three 0.1 each, on every observation.
        logits = tf.math.log(tf.constant([[0.1, 0.1, 0.7, 0.1]]))
        return {"logits": tf.tile(logits, [tf.shape(images)[0], 1])}

    policy = evaluation.model_policy(model, greedy, seed=5)
    images = np.zeros((1500, 7, 10, 3), np.uint8)
    counts = np.bincount(policy(images), minlength=4)
    assert counts.sum() == 1500
    if greedy:
        assert counts[2] == 1500
    else:
        # Four standard deviations of a share over 1,500 draws.
        np.testing.assert_allclose(counts / 1500, [0.1, 0.1, 0.7, 0.1], atol=0.05)
