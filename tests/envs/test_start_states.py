"""Start states of the curriculum: legal, solvable, and near what they should be near."""

import dataclasses

import numpy as np
import pytest

from tf_relational.envs import BRIDGE, STANDARD, curriculum_levels, generate, solve

SHORT = dataclasses.replace(BRIDGE, solution_length=(1, 1))


def count_loose(levels):
    return np.array([len(level.loose_keys) for level in levels])


def test_two_locks_of_length_one_begin_with_none_one_or_two_keys():
    rng = np.random.default_rng(0)
    levels = generate(SHORT, 3000, rng)
    near = curriculum_levels(levels, 3, rng)
    held = (near.start_inventory >= 0).sum(axis=1)
    assert np.abs(np.bincount(held) / 3000 - 1 / 3).max() < 0.05
    assert np.array_equal(count_loose(near[:200]), 2 - held[:200])
    assert np.array_equal(near.colours, levels.colours)
    assert np.array_equal(near.decoys, levels.decoys)


@pytest.mark.parametrize("config", [STANDARD, BRIDGE], ids=["standard", "bridge"])
def test_every_start_is_solvable_and_part_of_its_puzzle(config):
    rng = np.random.default_rng(1)
    levels = generate(config, 150, rng)
    near = curriculum_levels(levels, 5, rng)
    progress = []
    for before, after in zip(levels, near, strict=True):
        solution = solve(after)
        assert solution is not None
        assert after.board[after.start.position] == -1
        gone = (before.board >= 0) & (after.board < 0)
        assert np.array_equal(after.board[~gone], before.board[~gone])
        # What is held and what is still to come add up to what the puzzle needs.
        keys = before.solution_length * config.gem_locks + 1
        taken = keys - len(solution.opened)
        assert 0 <= taken < keys
        progress.append(taken / (keys - 1))
        assert len(after.start.inventory) <= config.gem_locks
    assert min(progress) == 0 and max(progress) == 1 and 0.4 < np.mean(progress) < 0.6


@pytest.mark.parametrize("difficulty", [1, 2, 6])
def test_player_is_at_most_difficulty_steps_from_a_target(difficulty):
    rng = np.random.default_rng(2)
    near = curriculum_levels(generate(SHORT, 300, rng), difficulty, rng)
    distances, near_decoys = [], 0
    for level in near:
        held = set(level.start.inventory)
        decoys = [(x + 1, y) for x, y, key, lock in level.boxes if key != 0 and lock in held]
        targets = [(x, y) for x, y, _ in level.loose_keys] + decoys
        gem_locks = [(x + 1, y, lock) for x, y, key, lock in level.boxes if key == 0]
        if {lock for *_, lock in gem_locks} <= held:
            targets += [(x, y) for x, y, _ in gem_locks]
        x, y = level.start.position
        distances.append(min(abs(x - a) + abs(y - b) for a, b in targets))
        near_decoys += any(abs(x - a) + abs(y - b) <= difficulty for a, b in decoys)
    # A bridge can be opened in a third of the half of the levels that have one.
    assert near_decoys > 10
    assert min(distances) >= 1 and max(distances) <= difficulty
    assert max(distances) == difficulty or difficulty > 4


def test_a_seed_determines_the_starts():
    levels = generate(BRIDGE, 50, np.random.default_rng(0))
    one, two = (curriculum_levels(levels, 4, np.random.default_rng(7)) for _ in range(2))
    for field in dataclasses.fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(two, field.name))


def test_refuses_no_steps():
    levels = generate(BRIDGE, 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="difficulty is at least 1, got 0"):
        curriculum_levels(levels, 0, np.random.default_rng(0))
