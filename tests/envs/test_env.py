"""The gymnasium environment: its contract, seeds, options, infos, pictures and errors."""

import copy
import itertools
import json
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tf_relational.envs import BRIDGE, STANDARD, BoxWorldEnv, BoxWorldVectorEnv, generate, solve

IDS = ["tf_relational/BoxWorld-v0", "tf_relational/BridgeBoxWorld-v0"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("settings", [{}, {"horizon": 120, "solution_length": 1}])
@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
def test_check_env_has_nothing_to_say(name, settings, render_mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(name, render_mode=render_mode, **settings)
        check_env(env.unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_spec_goes_through_json_and_pickle(name):
    spec = gymnasium.make(name, horizon=7).spec
    for again in (
        gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()),
        pickle.loads(pickle.dumps(spec)),
    ):
        config = gymnasium.make(again).unwrapped.config
        assert config == gymnasium.make(name, horizon=7).unwrapped.config
        assert config.horizon == 7
    json.dumps(spec.kwargs)


def test_ids_stand_for_the_papers_tasks():
    assert [gymnasium.make(name).unwrapped.config for name in IDS] == [STANDARD, BRIDGE]
    envs = gymnasium.make_vec(IDS[1], num_envs=3, horizon=5, autoreset_mode="NEXT_STEP")
    assert isinstance(envs, BoxWorldVectorEnv) and envs.config.horizon == 5
    assert envs.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP


def rollout(env, steps, seed):
    rng = np.random.default_rng(seed)
    frames = [env.reset()[0]]
    for _ in range(steps):
        image, reward, terminated, truncated, info = env.step(int(rng.integers(4)))
        frames += [image, np.array([reward, terminated, truncated, *info["puzzle_type"]])]
        if terminated or truncated:
            frames.append(env.reset()[0])
    return frames


def assert_same(one, two):
    for a, b in itertools.zip_longest(one, two):
        assert np.array_equal(a, b)


def test_two_instances_with_one_seed_agree():
    frames = []
    for _ in range(2):
        env = BoxWorldEnv(BRIDGE, horizon=20)
        env.reset(seed=4)
        frames.append(rollout(env, 600, seed=1))
    assert_same(*frames)
    env.reset(seed=5)
    assert not np.array_equal(env.reset()[0], frames[0][0])


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_the_middle_goes_on_alike(clone):
    env = BoxWorldEnv(STANDARD, horizon=30)
    env.reset(seed=2)
    for action in (2, 3, 3, 2):
        env.step(action)
    other = clone(env)
    assert_same(
        [env.step(2)[0], *rollout(env, 200, 3)], [other.step(2)[0], *rollout(other, 200, 3)]
    )


@pytest.mark.parametrize("config", [STANDARD, BRIDGE])
def test_info_tells_the_game(config):
    env = BoxWorldEnv(config)
    for seed in range(10):
        env.reset(seed=seed)
        level = env.game.origin
        kind = level.puzzle_type or (level.solution_length, 0, 0)
        keys = 0
        for count, action in enumerate(solve(level).actions, start=1):
            _, reward, terminated, truncated, info = env.step(action)
            keys += reward == 1
            assert info == {
                "puzzle_type": kind,
                "win": terminated,
                "bridge_opened": False,
                "distractor_opened": False,
                "length": count,
                "episode_return": keys + 10 * terminated,
            }
        assert info["win"] and not truncated and reward == 10
        assert keys == level.solution_length * config.gem_locks
        assert env.game.opened == list(solve(level).opened)


def test_horizon_truncates_and_never_hides_an_end():
    env = BoxWorldEnv(BRIDGE, horizon=3)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    env = BoxWorldEnv(BRIDGE)
    env.reset(seed=0)
    level = env.game.origin
    actions = solve(level).actions
    env = BoxWorldEnv(BRIDGE, horizon=len(actions))
    env.reset(options={"level": level})
    for action in actions:
        _, reward, terminated, truncated, _ = env.step(action)
    assert (reward, terminated, truncated) == (10, True, False)


def test_a_given_level_is_played_and_leaves_the_sequence_alone():
    level = generate(BRIDGE, 1, np.random.default_rng(8))[0]
    env, other = BoxWorldEnv(BRIDGE), BoxWorldEnv(BRIDGE)
    other.reset(seed=6)
    env.reset(seed=6)
    env.reset(options={"level": level})
    assert env.game.origin is level
    assert np.array_equal(env.reset()[0], other.reset()[0])


def test_a_game_in_the_middle_is_a_level():
    env = BoxWorldEnv(BRIDGE)
    env.reset(seed=1)
    actions = solve(env.game.level).actions
    for action in actions[: len(actions) // 2]:
        image = env.step(action)[0]
    middle = env.game.level
    assert len(solve(middle)) == len(actions) - len(actions) // 2
    again, info = env.reset(options={"level": middle})
    assert np.array_equal(image, again)
    assert info["puzzle_type"] == (middle.puzzle_type or (middle.solution_length, 0, 0))


def test_render():
    env = BoxWorldEnv(BRIDGE, render_mode="rgb_array")
    image, _ = env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (7 * 32, 10 * 32, 3) and picture.dtype == np.uint8
    assert np.array_equal(picture[16::32, 16::32], image)
    env = BoxWorldEnv(BRIDGE, render_mode="ansi")
    env.reset(seed=0)
    assert env.render().startswith("@ . .") and "holding: nothing" in env.render()
    env = BoxWorldEnv(BRIDGE)
    env.reset()
    assert env.render() is None


def test_errors_say_what_was_given_and_what_is_allowed():
    env = BoxWorldEnv(BRIDGE)
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset before step"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="0, 1, 2 or 3, got 4"):
        env.step(4)
    with pytest.raises(ValueError, match=r"option is level, got \['board'\]"):
        env.reset(options={"board": 1})
    with pytest.raises(ValueError, match="is a Level, got <class 'int'>"):
        env.reset(options={"level": 3})
    small = generate(STANDARD, 1, np.random.default_rng(0))[0]
    with pytest.raises(ValueError, match="has 7 rows, 9 columns .* got levels with 9 rows"):
        env.reset(options={"level": small})
    with pytest.raises(ValueError, match="'rgb_array', 'ansi'; got 'human'"):
        BoxWorldEnv(render_mode="human")
    with pytest.raises(TypeError, match="unknown setting row; allowed: bridge_probability"):
        BoxWorldEnv(row=3)
