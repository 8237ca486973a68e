"""What generated levels look like, and how often."""

import dataclasses

import numpy as np
import pytest

from tf_relational.envs import BRIDGE, STANDARD, BoxWorldConfig, generate
from tf_relational.envs.generator import palette

COUNT = 6000


@pytest.fixture(scope="module")
def bridge_levels():
    return generate(BRIDGE, COUNT, np.random.default_rng(0))


@pytest.fixture(scope="module")
def standard_levels():
    return generate(STANDARD, COUNT, np.random.default_rng(0))


def assert_uniform(values, choices):
    """Each choice as often as chance lets it, within five standard deviations; nothing else."""
    found, counts = np.unique(np.asarray(values), return_counts=True)
    assert found.tolist() == sorted(choices)
    expected = len(values) / len(choices)
    deviation = np.sqrt(expected * (1 - 1 / len(choices)))
    assert np.abs(counts - expected).max() <= 5 * deviation, dict(zip(found, counts, strict=True))


def gem_tiles(levels):
    """``(x, y)`` of the upper gem tile of each level."""
    flat = (levels.board == 0).reshape(len(levels), -1).argmax(axis=1)
    return np.divmod(flat, levels.board.shape[2])


def test_bridge_in_half_of_the_levels(bridge_levels):
    bridged = bridge_levels.puzzle_type[:, 1] > 0
    assert_uniform(bridged, [False, True])
    assert np.array_equal(bridged, (bridge_levels.decoys[:, 0, 0] >= 0))


def test_solution_length_is_uniform(bridge_levels, standard_levels):
    assert_uniform(bridge_levels.solution_length, [1, 2, 3])
    assert_uniform(standard_levels.solution_length, [1, 2, 3, 4, 5])


def test_bridge_ends_are_uniform_on_their_paths(bridge_levels):
    length, source, target = bridge_levels.puzzle_type.T
    for a in (1, 2, 3):
        bridged = (length == a) & (source > 0)
        assert_uniform(source[bridged], range(1, a + 1))
        assert_uniform(target[bridged], range(a + 1, 2 * a + 1))


def test_gem_with_two_locks_keeps_off_the_last_slots(bridge_levels):
    x, y = gem_tiles(bridge_levels)
    assert_uniform(x * 10 + y, [11, 13, 41, 43])
    every = np.arange(COUNT)
    board = bridge_levels.board
    assert (board[every, x, y + 1] == 0).all()
    assert (board[every, x, y + 2] == -1).all() and (board[every, x + 1, y + 2] == -1).all()
    assert (board[every, x + 1, y] == 1).all()
    assert np.array_equal(board[every, x + 1, y + 1], bridge_levels.solution_length + 1)


def test_gem_with_one_lock_stands_in_any_slot(standard_levels):
    x, y = gem_tiles(standard_levels)
    assert_uniform(x * 10 + y, [10 * a + b for a in (1, 4, 7) for b in (1, 3, 5, 7)])


def test_distractors_are_uniform_in_number_and_origin(standard_levels):
    count = (standard_levels.decoys[:, :, 0] >= 0).sum(axis=1)
    assert_uniform(count, range(5))
    for length in (1, 3, 5):
        of_length = np.flatnonzero(standard_levels.solution_length == length)
        game, place = np.nonzero(standard_levels.decoys[of_length, :, 0] >= 0)
        x, y = standard_levels.decoys[of_length][game, place].T
        assert_uniform(standard_levels.board[of_length[game], x, y], range(1, length + 1))


@pytest.mark.parametrize("config", [STANDARD, BRIDGE], ids=["standard", "bridge"])
def test_paths_are_chains_of_colours(config):
    for level in generate(config, 300, np.random.default_rng(1)):
        length = level.solution_length
        decoys = {tuple(decoy) for decoy in level.decoys.tolist()}
        path = sorted((key, lock) for x, y, key, lock in level.boxes if (x + 1, y) not in decoys)
        loose = sorted(key for *_, key in level.loose_keys)
        if config is STANDARD:
            assert path == [(key, key + 1) for key in range(length)]
            assert loose == [length]
        else:
            ends = [(0, 1), (0, length + 1)]
            inner = [(k, k + 1) for k in range(1, 2 * length) if k != length]
            assert path == ends + inner
            assert loose == [length, 2 * length]


def test_branches_chain_on_new_colours():
    config = BoxWorldConfig(
        rows=13, columns=13, solution_length=(1, 4), distractors=(0, 3), distractor_length=(1, 4)
    )
    levels = generate(config, 2000, np.random.default_rng(2))
    branch_lengths = []
    for level in levels:
        decoys = [tuple(decoy) for decoy in level.decoys.tolist()]
        boxes = [(int(level.board[x, y]), int(level.board[x - 1, y])) for x, y in decoys]
        fresh = list(range(level.solution_length + 1, level.solution_length + 1 + len(boxes)))
        assert [key for _, key in boxes] == fresh
        starts = [i for i, (lock, _) in enumerate(boxes) if lock <= level.solution_length]
        assert len(starts) <= 3 and (not boxes or starts[0] == 0)
        branch_lengths += np.diff([*starts, len(boxes)]).tolist()
        for index, (lock, key) in enumerate(boxes):
            assert index in starts or lock == key - 1
    assert_uniform(branch_lengths, [1, 2, 3, 4])


@pytest.mark.parametrize("config", [STANDARD, BRIDGE], ids=["standard", "bridge"])
def test_items_stand_in_their_slots_only(config):
    board = generate(config, 500, np.random.default_rng(3)).board
    used = (board >= 0).any(axis=0)
    columns, rows = used.any(axis=1), used.any(axis=0)
    assert np.flatnonzero(columns).tolist() == [1, 2, 4, 5, 7, 8]
    last = config.rows - 2
    assert np.flatnonzero(rows).min() == 1 and np.flatnonzero(rows).max() == last


def test_colours_are_a_permutation_of_the_palette(bridge_levels):
    colours = bridge_levels.colours
    assert (colours[:, 0] == 255).all()
    expected = sorted(map(tuple, palette(20).tolist()))
    assert len(set(expected)) == 20
    for row in colours[:50, 1:].tolist():
        assert sorted(map(tuple, row)) == expected
    index = (colours[:, 1] == palette(20)[7]).all(axis=1)
    assert abs(index.mean() - 1 / 20) < 0.015


@pytest.mark.parametrize("config", [STANDARD, BRIDGE], ids=["standard", "bridge"])
def test_a_seed_determines_the_levels(config):
    one = generate(config, 50, np.random.default_rng(9))
    two = generate(config, 50, np.random.default_rng(9))
    other = generate(config, 50, np.random.default_rng(10))
    for field in dataclasses.fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(two, field.name))
    assert not np.array_equal(one.board, other.board)


def test_refuses_an_empty_batch():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        generate(BRIDGE, 0, np.random.default_rng(0))
