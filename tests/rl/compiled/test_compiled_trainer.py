"""The whole program: exact resume, replicas, and what it plays against the NumPy environments."""

import keras
import numpy as np
import pytest

from tf_relational.rl import checkpoints

on_jax = keras.backend.backend() == "jax"


def state_of(trainer, index=0):
    """Everything that has to come back, as flat lists of arrays and plain data."""
    part = trainer.snapshot(index)
    return [*part.weights, *part.slots, *part.games.values(), part.rows], part.state


def assert_same(one, other, tolerance=0.0):
    assert one[1] == other[1]
    for a, b in zip(one[0], other[0], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def restored(trainer, folders):
    snapshots = [trainer.snapshot(index) for index in range(len(folders))]
    for snapshot, folder in zip(snapshots, folders, strict=True):
        checkpoints.restore(snapshot, folder)
    trainer.restore(snapshots)
    return trainer


def test_resume_is_exact(make_trainer, tmp_path):
    from tf_relational.rl.compiled import CheckpointWriter

    straight = make_trainer(seeds=(3, 5))
    for _ in range(5):
        straight.train()
    folders = [tmp_path / "3", tmp_path / "5"]
    with CheckpointWriter() as writer:
        parts = [(straight.snapshot(n), folder, {"n": n}) for n, folder in enumerate(folders)]
        writer.save(parts, keep=2)
        # Training goes on while the files are written.
        before = [state_of(straight, n) for n in range(2)]
        results = [straight.train() for _ in range(5)]
    manifests = [checkpoints.read_manifest(checkpoints.latest(folder)) for folder in folders]
    assert [manifest["extra"]["n"] for manifest in manifests] == [0, 1]

    again = restored(make_trainer(seeds=(3, 5)), folders)
    for index in range(2):
        assert_same(state_of(again, index), before[index])
    repeated = [again.train() for _ in range(5)]
    for index in range(2):
        assert_same(state_of(again, index), state_of(straight, index))
    assert straight.curricula[0].difficulty > 1
    assert straight.compilations == again.compilations == 1
    for ours, theirs in zip(repeated, results, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            del one["throughput"], other["throughput"]
            np.testing.assert_equal(one, other)


def test_replicas_equal_single_runs(make_trainer):
    together, alone = make_trainer(seeds=(3, 5)), make_trainer(seeds=(5,))
    for trainer in (together, alone):
        for _ in range(2):
            trainer.train()
    # One program for all multiplies matrices in another order on JAX.
    assert_same(state_of(together, 1), state_of(alone), 1e-5 if on_jax else 0.0)
    first, second = (together.model(index).get_weights()[0] for index in range(2))
    assert np.abs(first - second).max() > 0.01


def test_what_is_played_is_what_the_numpy_environment_plays(make_trainer, level_config):
    """The steps of an unroll, replayed action by action, with statistics and log-probabilities."""
    from tf_relational.envs import BoxWorldVectorEnv
    from tf_relational.envs.generator import generate
    from tf_relational.envs.packed import pack
    from tf_relational.rl.rllib.episode_statistics import EpisodeStatistics

    steps_played, envs_played = 60, 8
    levels = generate(level_config, 64, np.random.default_rng(1))
    trainer = make_trainer(
        unroll_length=steps_played, num_minibatches=1, updates_per_call=1, curriculum=None,
        pool_size=64,
    )  # fmt: skip
    pool = trainer.pools[0]
    kinds = [trainer.kinds.index(tuple(row)) for row in levels.puzzle_type.tolist()]
    pool.rows = pack(levels, pool.layout, kind=kinds, horizon=level_config.horizon)
    pool.cursor = 0
    trainer._games[0] = trainer._first_games(pool)
    pool.rows = pack(levels, pool.layout, kind=kinds, horizon=level_config.horizon)
    trainer._place()
    steps, last, told = unrolled(trainer)

    envs = BoxWorldVectorEnv(envs_played, level_config)
    envs.set_levels(levels)
    observations, _ = envs.reset(seed=0)
    statistics = EpisodeStatistics(envs_played)
    model = trainer.model(0)
    for t in range(steps_played):
        assert np.array_equal(steps.observations[t], observations)
        logits = keras.ops.convert_to_numpy(model(observations)["logits"])
        log_policy = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        chosen = np.take_along_axis(log_policy, steps.actions[t][:, None], axis=1)[:, 0]
        np.testing.assert_allclose(steps.log_probs[t], chosen, atol=1e-5)
        observations, rewards, terminated, truncated, infos = envs.step(steps.actions[t])
        done = terminated | truncated
        assert np.array_equal(steps.rewards[t], rewards)
        assert np.array_equal(steps.done[t], done)
        statistics.record(rewards, done, np.ones(envs_played, bool), infos, same_step=True)
    assert np.array_equal(last, observations)
    sums = {"/".join(key[1:]): value for key, value in statistics.take().items()}
    assert told["starts"] == told["episodes"] == sums["episodes"] > 8
    for name in ("return", "length", "solved"):
        assert told[name] == sums[name], name
    assert told["decoy_opened"] == sums["bridge_opened"]
    for number, kind in enumerate(trainer.kinds):
        expected = "by_type/({},{},{})/".format(*kind)
        assert told["episodes_by_kind"][number] == sums[expected + "episodes"]
        assert told["solved_by_kind"][number] == sums[expected + "solved"]


def unrolled(trainer):
    """One unroll of replica 0: its `Steps`, the last observation and the statistics."""
    from tf_relational.rl.compiled import backend
    from tf_relational.rl.compiled.program import Program

    program = Program(
        trainer.settings, trainer.layout, len(trainer.kinds), trainer.learners, trainer.mesh
    )

    def play(index, carry, private, shared):
        _, steps, last = program.unroll(index, carry, private)
        return steps, last, program.statistics(steps, private["difficulty"])

    private = {
        "pool": trainer.pools[0].rows[None],
        "seed": np.array([7], np.int32),
        "difficulty": np.zeros(1, np.int32),
    }
    results = backend.compile_replicas(play, 1, False)(trainer._carry, private, {})
    return keras.tree.map_structure(lambda part: np.asarray(part)[0], results)


def test_a_checkpoint_of_the_other_engine_is_refused(make_trainer, tmp_path):
    import json

    trainer = make_trainer()
    path = checkpoints.save(trainer.snapshot(0), tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "engine": "rllib"}))
    with pytest.raises(checkpoints.CheckpointError, match="of the engine 'rllib', not of 'compile"):
        checkpoints.restore(trainer.snapshot(0), path)


def test_snapshots_of_different_moments_are_refused(make_trainer):
    trainer = make_trainer(seeds=(1, 2))
    early, late = trainer.snapshot(0), trainer.snapshot(1)
    late.training_iteration = 1
    with pytest.raises(ValueError, match="all of one moment; received 2 with"):
        trainer.restore([early, late])
    with pytest.raises(ValueError, match="one snapshot for each of 2 replicas"):
        trainer.restore([early])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_envs": 9}, "multiple of num_minibatches x devices = 2 x 1; received 9"),
        ({"unroll_length": 0}, "unroll_length is at least 1; received 0"),
        ({"pool_size": 4}, "pool_size is at least num_envs=8; received 4"),
        ({"seeds": (1, 1)}, r"different whole numbers from 0 on; received \[1, 1\]"),
        pytest.param(
            {"devices": 2}, "one device on TensorFlow, devices=2 was asked for",
            marks=pytest.mark.skipif(on_jax, reason="JAX takes several devices"),
        ),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(make_trainer, changes, words):
    with pytest.raises(ValueError, match=words):
        make_trainer(**changes)


@pytest.mark.skipif(not on_jax, reason="several devices need JAX")
def test_two_devices_train_as_one_does(make_trainer):
    """Environments are split over the devices; the numbers differ by the order of sums alone."""
    import jax

    if len(jax.devices()) < 2:
        pytest.skip("needs XLA_FLAGS=--xla_force_host_platform_device_count=2")
    one, two = make_trainer(seeds=(3, 5)), make_trainer(seeds=(3, 5), devices=2)
    for trainer in (one, two):
        for _ in range(3):
            trainer.train()
    assert len(two._carry.games.cell.sharding.device_set) == 2
    assert not two._carry.games.cell.sharding.is_fully_replicated
    assert two.compilations == 1
    for index in range(2):
        assert_same(state_of(two, index), state_of(one, index), 1e-4)


@pytest.mark.skipif(not on_jax, reason="several devices need JAX")
def test_more_devices_than_there_are_is_refused(make_trainer):
    with pytest.raises(ValueError, match="devices=64 were asked for, JAX sees"):
        make_trainer(num_envs=128, devices=64)
