"""The batched environment as a gymnasium vector environment."""

import dataclasses
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tf_relational.envs import (
    BRIDGE,
    STANDARD,
    BoxWorldEnv,
    BoxWorldVectorEnv,
    Levels,
    generate,
    solve,
)

MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]


def play(envs, steps, seed):
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(steps):
        results.append(envs.step(rng.integers(0, 4, envs.num_envs)))
    return results


def assert_same(one, two):
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        for x, y in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(x, y)
        assert_same_infos(a[4], b[4])


def assert_same_infos(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        if isinstance(value, dict):
            assert_same_infos(value, two[key])
        elif value.dtype == object:
            for x, y in zip(value, two[key], strict=True):
                assert np.array_equal(x, y)
        else:
            assert np.array_equal(value, two[key])


def test_spaces_and_types():
    envs = gymnasium.make_vec("tf_relational/BridgeBoxWorld-v0", num_envs=5)
    assert envs.single_observation_space.shape == (7, 10, 3)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    image, infos = envs.reset(seed=0)
    assert image in envs.observation_space and infos == {}
    image, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    assert image in envs.observation_space and image.dtype == np.uint8
    assert (rewards.dtype, terminated.dtype, truncated.dtype) == (float, bool, bool)
    assert rewards.shape == terminated.shape == truncated.shape == (5,) and infos == {}
    envs.close()


@pytest.mark.parametrize("mode", MODES)
def test_results_are_those_of_gymnasiums_own_vector_env(mode):
    """The same games, one by one under gymnasium's SyncVectorEnv: images, ends and infos."""
    config = dataclasses.replace(BRIDGE, solution_length=1, horizon=30)
    levels = generate(config, 40, np.random.default_rng(0))
    envs = BoxWorldVectorEnv(1, config, autoreset_mode=mode)
    envs.set_levels(levels)
    envs.reset(seed=0)

    class InTurn(BoxWorldEnv):
        count = 0

        def reset(self, **_):
            level = levels[InTurn.count % len(levels)]
            InTurn.count += 1
            return super().reset(options={"level": level})

    reference = SyncVectorEnv([lambda: InTurn(config)], autoreset_mode=mode)
    reference.reset()
    rng = np.random.default_rng(1)
    ends = 0
    for _ in range(900):
        actions = rng.integers(0, 4, 1)
        image, rewards, terminated, truncated, infos = envs.step(actions)
        expected = reference.step(actions)
        assert np.array_equal(image, expected[0])
        assert np.array_equal(rewards, expected[1])
        assert np.array_equal(terminated, expected[2])
        assert np.array_equal(truncated, expected[3])
        if terminated[0] or truncated[0]:
            ends += 1
            final, other = infos, expected[4]
            if mode == AutoresetMode.SAME_STEP:
                assert infos["_final_info"][0] and infos["_final_obs"][0]
                assert np.array_equal(infos["final_obs"][0], expected[4]["final_obs"][0])
                final, other = infos["final_info"], expected[4]["final_info"]
            assert tuple(final["puzzle_type"][0]) == other["puzzle_type"][0]
            for key in ("win", "bridge_opened", "distractor_opened", "length", "episode_return"):
                assert final[key][0] == other[key][0]
                assert final[key].dtype == other[key].dtype
                assert final[f"_{key}"][0]
            assert not final["curriculum"][0]
        else:
            assert infos == {}
    assert ends >= 25


@pytest.mark.parametrize("mode", MODES)
def test_seeds_determine_everything(mode):
    runs = []
    for seed in (3, 3, 4):
        envs = BoxWorldVectorEnv(6, BRIDGE, autoreset_mode=mode, horizon=25)
        first, _ = envs.reset(seed=seed)
        runs.append([(first, 0, 0, 0, {}), *play(envs, 300, seed=0)])
    assert_same(runs[0], runs[1])
    assert not np.array_equal(runs[0][0][0], runs[2][0][0])
    again, _ = envs.reset(seed=3)
    assert np.array_equal(again, runs[0][0][0])
    later, _ = envs.reset()
    assert not np.array_equal(later, again)


@pytest.mark.parametrize("mode", MODES)
def test_a_pickled_copy_goes_on_alike(mode):
    envs = BoxWorldVectorEnv(6, BRIDGE, autoreset_mode=mode, horizon=25)
    envs.set_curriculum(0.5, 3, 10)
    envs.reset(seed=1)
    play(envs, 40, seed=5)
    assert_same(play(pickle.loads(pickle.dumps(envs)), 200, 6), play(envs, 200, 6))


def test_observations_are_never_written_to_again():
    envs = BoxWorldVectorEnv(4, BRIDGE)
    envs.reset(seed=0)
    kept = play(envs, 50, seed=0)
    copies = [result[0].copy() for result in kept]
    play(envs, 50, seed=1)
    assert all(np.array_equal(a[0], b) for a, b in zip(kept, copies, strict=True))


def test_given_levels_are_played_in_turn():
    levels = generate(BRIDGE, 3, np.random.default_rng(2))
    envs = BoxWorldVectorEnv(2, BRIDGE, horizon=1)
    envs.set_levels(levels)
    envs.reset()
    seen = [envs.levels.board]
    for _ in range(2):
        envs.step(np.zeros(2, int))
        seen.append(envs.levels.board)
    assert np.array_equal(np.concatenate(seen), levels.board[[0, 1, 2, 0, 1, 2]])
    envs.set_levels(None)
    envs.step(np.zeros(2, int))
    assert not any(np.array_equal(board, envs.levels.board[0]) for board in levels.board)


def test_options_give_the_first_levels_only():
    levels = generate(BRIDGE, 2, np.random.default_rng(3))
    envs = BoxWorldVectorEnv(2, BRIDGE, horizon=1)
    one, _ = envs.reset(seed=0, options={"level": levels[0]})
    assert np.array_equal(one[0], one[1])
    both, _ = envs.reset(seed=0, options={"levels": levels})
    assert np.array_equal(both[0], one[0]) and not np.array_equal(both[1], one[0])
    after, *_ = envs.step(np.zeros(2, int))
    fresh, _ = envs.reset(seed=0)
    assert np.array_equal(after, fresh)


def test_levels_are_the_games_as_they_stand():
    envs = BoxWorldVectorEnv(8, BRIDGE, horizon=400)
    image, _ = envs.reset(seed=0)
    for _ in range(40):
        actions = [solve(level).actions[0] for level in envs.levels]
        image, *_ = envs.step(np.array(actions))
        other = BoxWorldVectorEnv(8, BRIDGE)
        assert np.array_equal(other.reset(options={"levels": envs.levels})[0], image)


def test_the_solvers_moves_win_every_game():
    envs = BoxWorldVectorEnv(20, BRIDGE)
    envs.reset(seed=0)
    levels = envs.levels
    plans = [list(solve(level).actions) for level in levels]
    lengths = [len(plan) for plan in plans]
    wins = {}
    for _ in range(max(lengths)):
        actions = np.array([plan.pop(0) if plan else 0 for plan in plans])
        *_, infos = envs.step(actions)
        for index in np.flatnonzero(infos.get("_final_info", [])):
            if index not in wins:
                final = infos["final_info"]
                wins[index] = final["win"][index], final["length"][index]
                expected = levels[int(index)].solution_length * 2 + 10
                assert final["episode_return"][index] == expected
                assert np.array_equal(final["puzzle_type"][index], levels.puzzle_type[index])
    assert wins == {index: (True, length) for index, length in enumerate(lengths)}


def test_curriculum_episodes_are_marked_and_shorter():
    envs = BoxWorldVectorEnv(64, BRIDGE, horizon=50)
    envs.set_curriculum(probability=0.5, difficulty=2, horizon=9)
    envs.reset(seed=0)
    marked, lengths = [], []
    for *_, infos in play(envs, 300, seed=0):
        if infos:
            final, done = infos["final_info"], infos["_final_info"]
            marked += final["curriculum"][done].tolist()
            lengths += final["length"][done].tolist()
            assert (final["length"][done & final["curriculum"]] <= 9).all()
    marked, lengths = np.array(marked), np.array(lengths)
    assert lengths[marked].max() == 9 and lengths[~marked].max() == 50
    envs.set_curriculum(probability=0.0, difficulty=2, horizon=9)
    envs.reset(seed=0)
    assert all(
        not infos["final_info"]["curriculum"].any()
        for *_, infos in play(envs, 120, seed=0)
        if infos
    )


def test_half_of_the_begun_episodes_are_curriculum_ones():
    envs = BoxWorldVectorEnv(2000, BRIDGE, horizon=1)
    envs.set_curriculum(probability=0.3, difficulty=2, horizon=1)
    envs.reset(seed=0)
    *_, infos = envs.step(np.zeros(2000, int))
    assert abs(infos["final_info"]["curriculum"].mean() - 0.3) < 0.05


def test_fraction_a_random_policy_solves_within_120_steps():
    """Solution length 1, bridge in half of the levels: .084 in trials elsewhere."""
    envs = BoxWorldVectorEnv(4000, BRIDGE, solution_length=1, horizon=120)
    envs.reset(seed=0)
    first = np.full(4000, -1)
    for *_, infos in play(envs, 120, seed=0):
        if infos:
            new = infos["_final_info"] & (first < 0)
            first[new] = infos["final_info"]["win"][new]
    assert abs(first.mean() - 0.084) < 0.015


def test_render_gives_a_picture_each():
    envs = BoxWorldVectorEnv(2, STANDARD, render_mode="rgb_array")
    envs.reset(seed=0)
    assert [picture.shape for picture in envs.render()] == [(9 * 32, 10 * 32, 3)] * 2


def test_errors_say_what_was_given_and_what_is_allowed():
    envs = BoxWorldVectorEnv(2, BRIDGE)
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset before step"):
        envs.step(np.zeros(2, int))
    envs.reset(seed=0)
    for actions in ([0, 4], [0, -1], [0], [[0, 1]], [0.0, 1.0]):
        with pytest.raises(ValueError, match="2 integers from 0 to 3, got"):
            envs.step(np.array(actions))
    levels = generate(BRIDGE, 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs 2 levels, got 3"):
        envs.reset(options={"levels": levels})
    with pytest.raises(ValueError, match=r"options are level or levels, got \['seed'\]"):
        envs.reset(options={"seed": 1})
    with pytest.raises(ValueError, match="got levels with 9 rows"):
        envs.set_levels(generate(STANDARD, 1, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="probability lies between 0 and 1, got 2"):
        envs.set_curriculum(2, 1, 20)
    with pytest.raises(ValueError, match="at least 1, got 0 and 20"):
        envs.set_curriculum(0.5, 0, 20)
    with pytest.raises(ValueError, match="SAME_STEP or NEXT_STEP, got 'DISABLED'"):
        BoxWorldVectorEnv(2, autoreset_mode="DISABLED")
    with pytest.raises(ValueError, match="num_envs is at least 1, got 0"):
        BoxWorldVectorEnv(0)
    held = dataclasses.replace(levels, start_inventory=np.ones((3, 8), np.int8))
    with pytest.raises(ValueError, match="at most 7 keys"):
        envs.set_levels(held)
    assert isinstance(levels, Levels)
