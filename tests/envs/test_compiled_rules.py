"""The compiled rules against the NumPy face, step by step, on TensorFlow and on JAX."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.envs.crowded import crowded_level
from tf_relational.envs import BRIDGE, STANDARD, BoxWorldVectorEnv, Levels, generate
from tf_relational.envs import compiled_rules as compiled
from tf_relational.envs.packed import NO_LIMIT, Layout, pack
from tf_relational.envs.render import observation
from tf_relational.envs.rules import initial_state, step
from tf_relational.envs.start_states import curriculum_levels

ROOT = Path(__file__).resolve().parents[2]


def jit(function):
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False)


def game_loop(layout, pool):
    """`(begin, play)`, compiled: play returns state, outcome, both pictures and the cursor."""
    pool = keras.ops.convert_to_tensor(pool)

    def play(state, actions, cursor):
        after, outcome = compiled.step(layout, state, actions)
        final = compiled.observe(layout, after)
        state, cursor = compiled.restart(layout, after, outcome.done, pool, cursor)
        return state, outcome, compiled.observe(layout, state), final, after, cursor

    def start(count):
        return compiled.begin(layout, pool[:count])

    return start, jit(play)


@pytest.mark.parametrize("config", [STANDARD, BRIDGE], ids=["standard", "bridge"])
def test_compiled_rules_equal_the_vector_env_over_500k_random_steps(config):
    """Levels begin anywhere in a puzzle; auto-reset, statistics and pictures are compared."""
    num_envs, steps, horizon = 2_500, 200, 40
    rng = np.random.default_rng(1)
    far = generate(config, 1_500, rng)
    near = curriculum_levels(generate(config, 3_500, rng), 4, rng)
    levels = Levels.stack([*far, *near])
    layout = Layout.of_config(config)
    types = sorted(set(map(tuple, levels.puzzle_type.tolist())))
    kind = np.array([types.index(tuple(row)) for row in levels.puzzle_type.tolist()])
    start, play = game_loop(layout, pack(levels, layout, kind=kind, horizon=horizon))

    envs = BoxWorldVectorEnv(num_envs, config, horizon=horizon)
    envs.set_levels(levels)
    obs, _ = envs.reset(seed=0)
    state, cursor = start(num_envs), np.int32(num_envs)
    assert np.array_equal(compiled.observe(layout, state), obs)
    counts = dict.fromkeys(("win", "decoy", "key", "truncated"), 0)
    for _ in range(steps):
        actions = rng.integers(0, 4, num_envs).astype("int32")
        obs, rewards, terminated, truncated, infos = envs.step(actions)
        state, outcome, image, final, after, cursor = play(state, actions, cursor)
        done = terminated | truncated
        assert np.array_equal(image, obs)
        assert np.array_equal(outcome.reward, rewards)
        assert np.array_equal(outcome.done, done)
        assert np.array_equal(outcome.truncated, truncated)
        if done.any():
            info = infos["final_info"]
            assert np.array_equal(np.asarray(final)[done], np.stack(infos["final_obs"][done]))
            opened = info["bridge_opened"] | info["distractor_opened"]
            assert np.array_equal(np.asarray(outcome.won)[done], info["win"][done])
            assert np.array_equal(np.asarray(outcome.decoy_opened)[done], opened[done])
            assert np.array_equal(np.asarray(after.steps)[done], info["length"][done])
            returns = np.asarray(after.episode_return)
            assert np.array_equal(returns[done], info["episode_return"][done])
            kinds = np.asarray(after.level)[:, layout.slices["kind"]][:, 0]
            told = [types[index] for index in kinds[done]]
            assert told == list(map(tuple, info["puzzle_type"][done].tolist()))
        counts["win"] += int(np.sum(outcome.won))
        counts["decoy"] += int(np.sum(outcome.decoy_opened))
        counts["key"] += int((rewards == 1).sum())
        counts["truncated"] += int(truncated.sum())
    assert min(counts.values()) > 250, counts


def test_compiled_rules_equal_the_rules_on_crowded_levels():
    rng = np.random.default_rng(5)
    levels = Levels.stack([crowded_level(rng) for _ in range(150)])
    layout = Layout.of_levels(levels)
    start, play = game_loop(layout, pack(levels, layout))
    games, ours = initial_state(levels), start(len(levels))
    running = np.ones(len(levels), bool)
    most_held = opened = 0
    for _ in range(250):
        actions = rng.integers(0, 4, len(levels)).astype("int32")
        games, result = step(games, actions)
        _, outcome, _, image, ours, _ = play(ours, actions, np.int32(0))
        expected = observation(games.board, levels.colours, games.position, games.inventory)
        assert np.array_equal(np.asarray(outcome.reward)[running], result.reward[running])
        assert np.array_equal(np.asarray(outcome.won)[running], result.won[running])
        decoys = result.distractor_opened[running]
        assert np.array_equal(np.asarray(outcome.decoy_opened)[running], decoys)
        assert np.array_equal(np.asarray(image)[running], expected[running])
        opened += int((result.opened[running] >= 0).all(axis=1).sum())
        most_held = max(most_held, int((np.asarray(ours.inventory) >= 0).sum(axis=1).max()))
        running &= ~result.terminated
    assert most_held > 7 and opened > 300 and running.sum() < 100


def test_rows_say_what_the_levels_are():
    rng = np.random.default_rng(0)
    levels = generate(BRIDGE, 50, rng)
    layout = Layout.of_config(BRIDGE)
    rows = pack(levels, layout, kind=3, curriculum=np.arange(50))
    assert rows.shape == (50, layout.row) and rows.dtype == np.int32
    place = layout.slices
    assert (rows[:, place["horizon"]] == NO_LIMIT).all() and (rows[:, place["kind"]] == 3).all()
    assert rows[:, place["curriculum"]][:, 0].tolist() == list(range(50))
    assert ((rows[:, place["decoy"]] == 1).sum(axis=1) == (levels.puzzle_type[:, 1] > 0)).all()


def test_levels_that_do_not_fit_are_refused():
    levels = generate(BRIDGE, 20, np.random.default_rng(0))
    layout = Layout.of_config(BRIDGE)
    with pytest.raises(ValueError, match=r"the levels need Layout\(rows=7, columns=9, objects="):
        pack(levels, Layout(layout.rows, layout.columns, 3, 2))
    with pytest.raises(ValueError, match="got Layout"):
        pack(levels, Layout.of_config(STANDARD))


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="runs on JAX already")
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_the_same_holds_on_jax():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "5 passed, 1 skipped" in done.stdout
