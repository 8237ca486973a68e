"""The event-driven games against the rules of rules.py, step by step."""

import dataclasses

import numpy as np
import pytest

from tests.envs.crowded import crowded_level
from tf_relational.envs import BRIDGE, STANDARD, BoxWorldVectorEnv, Game, Levels
from tf_relational.envs.render import observation
from tf_relational.envs.rules import initial_state, step


@pytest.mark.parametrize("config", [STANDARD, BRIDGE], ids=["standard", "bridge"])
@pytest.mark.parametrize("mode", ["SAME_STEP", "NEXT_STEP"])
def test_vector_env_equals_rules_over_many_random_steps(config, mode):
    """Four cases of 300k steps; episodes begin anywhere, so that every event is met often."""
    num_envs, steps = 1500, 200
    config = dataclasses.replace(config, horizon=60)
    envs = BoxWorldVectorEnv(num_envs, config, autoreset_mode=mode)
    envs.set_curriculum(0.7, difficulty=4, horizon=40)
    obs, _ = envs.reset(seed=1)
    rng = np.random.default_rng(2)
    same_step = mode == "SAME_STEP"
    length = np.zeros(num_envs, int)
    total = np.zeros(num_envs)
    done = np.zeros(num_envs, bool)
    counts = dict.fromkeys(("win", "decoy", "key", "truncated"), 0)
    for _ in range(steps):
        before, colours = envs.state, envs.levels.colours
        fresh = done & (not same_step)
        actions = rng.integers(0, 4, num_envs)
        obs, rewards, terminated, truncated, infos = envs.step(actions)
        after, result = step(before, actions)
        length, total = np.where(fresh, 0, length + 1), np.where(fresh, 0, total + result.reward)

        assert np.array_equal(rewards, np.where(fresh, 0, result.reward))
        assert np.array_equal(terminated, result.terminated & ~fresh)
        done = terminated | truncated
        played = ~fresh & ~(done & same_step)
        expected = observation(after.board, colours, after.position, after.inventory)
        assert np.array_equal(obs[played], expected[played])
        assert np.array_equal(envs.state.board[played], after.board[played])
        assert np.array_equal(envs.state.inventory[played], after.inventory[played])
        if done.any():
            final = infos["final_info"] if same_step else infos
            assert np.array_equal(final["_win"], done)
            opened = final["bridge_opened"] | final["distractor_opened"]
            assert np.array_equal(final["win"][done], result.won[done])
            assert np.array_equal(opened[done], result.distractor_opened[done])
            assert np.array_equal(final["length"][done], length[done])
            assert np.array_equal(final["episode_return"][done], total[done])
            limit = np.where(final["curriculum"], 40, 60)
            assert np.array_equal((length >= limit) & ~terminated & done, truncated)
            if same_step:
                assert np.array_equal(np.stack(infos["final_obs"][done]), expected[done])
                length[done], total[done] = 0, 0
        counts["win"] += int(result.won[~fresh].sum())
        counts["decoy"] += int(result.distractor_opened[~fresh].sum())
        counts["key"] += int((rewards == 1).sum())
        counts["truncated"] += int(truncated.sum())
    assert min(counts.values()) > 100, counts


def test_all_forms_agree_on_crowded_levels():
    rng = np.random.default_rng(5)
    levels = Levels.stack([crowded_level(rng) for _ in range(150)])
    config = dataclasses.replace(BRIDGE, horizon=1000)
    envs = BoxWorldVectorEnv(len(levels), config)
    envs.reset(seed=0, options={"levels": levels})
    games = [Game(level) for level in levels]
    state = initial_state(levels)
    running = np.ones(len(levels), bool)
    most_held = opened = 0
    for _ in range(250):
        actions = rng.integers(0, 4, len(levels))
        state, result = step(state, actions)
        images, rewards, terminated, _, infos = envs.step(actions)
        expected = observation(state.board, levels.colours, state.position, state.inventory)
        for index in np.flatnonzero(running):
            game = games[index]
            assert game.step(int(actions[index])) == result.reward[index] == rewards[index]
            assert (game.won, game.distractor_opened) == (
                result.won[index],
                result.distractor_opened[index],
            )
            image = infos["final_obs"][index] if terminated[index] else images[index]
            assert np.array_equal(image, expected[index])
            assert np.array_equal(game.observation(), expected[index])
            assert np.array_equal(game.board, state.board[index])
            assert game.position == tuple(state.position[index].tolist())
            held = state.inventory[index]
            assert game.inventory == held[held >= 0].tolist()
            most_held = max(most_held, len(game.inventory))
            if (result.opened[index] >= 0).all():
                assert game.opened[-1] == tuple(result.opened[index].tolist())
                opened += 1
        running &= ~result.terminated
    assert most_held > 7 and opened > 300 and running.sum() < 100
