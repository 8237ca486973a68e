import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tf_relational.rl import checkpoints


@pytest.fixture
def make_algo(cartpole):
    algos = []

    def make(**training):
        config = cartpole.copy(copy_frozen=False).environment("tf_relational/BridgeBoxWorld-v0")
        config.environment(env_config={"horizon": 15, "solution_length": 1})
        config.training(
            keras_model=flat_model(),
            keras_model_kwargs={},
            curriculum={"window": 3, "threshold": 0.0},
            **training,
        )
        algos.append(config.build_algo())
        return algos[-1]

    yield make
    for algo in algos:
        algo.stop()


def flat_model():
    """A builder that the new process makes for itself as well, from this function's source."""

    def build(observation_space, action_space):
        import keras

        x = keras.Input(observation_space.shape, dtype="uint8", name="obs")
        hidden = keras.layers.Flatten()(keras.layers.Rescaling(1 / 255)(x))
        hidden = keras.layers.Dense(8, activation="tanh")(hidden)
        logits = keras.layers.Dense(int(action_space.n))(hidden)
        value = keras.layers.Reshape(())(keras.layers.Dense(1)(hidden))
        return keras.Model(x, {"logits": logits, "value": value})

    return build


def snapshot(algo):
    """Everything a checkpoint has to bring back, and what the next update makes of it."""
    learner = algo.learner_group._learner
    return {
        "weights": [w.copy() for w in algo.model.get_weights()],
        "slots": [np.array(v.numpy()) for v in learner._optimizer.variables],
        "counters": {
            "frames": algo.frames(),
            "iteration": algo.training_iteration,
            "updates": learner._weights_seq_no,
            "curriculum": algo.curriculum.get_state(),
        },
    }


def fixed_rollout():
    from tf_relational.rl.rllib import Rollout

    rng = np.random.default_rng(0)
    zeros = np.zeros((5, 4), "float32")
    return Rollout(
        observations=rng.integers(0, 255, (6, 4, 7, 10, 3)).astype("uint8"),
        actions=rng.integers(4, size=(5, 4)).astype("int32"),
        log_probs=zeros - 1.4,
        rewards=rng.normal(size=(5, 4)).astype("float32"),
        ends=zeros,
        mask=zeros + 1,
        weights_seq_no=0,
    )


IN_A_NEW_PROCESS = """
import json, os, sys
os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")
os.environ["RAY_AUTH_MODE"] = "disabled"
import numpy as np
import ray
sys.path.insert(0, {tests!r})
from test_checkpoints import fixed_rollout, snapshot
from tf_relational.rl import checkpoints
from ray.rllib.algorithms.algorithm import Algorithm

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
algo = Algorithm.from_checkpoint({path!r})          # the configuration is in the checkpoint
manifest = checkpoints.restore(algo, {path!r})
state = snapshot(algo)
algo.learner_group._learner.update(episodes=[fixed_rollout()])
after = snapshot(algo)
trained = algo.train()
np.savez({out!r}, *state["weights"], *state["slots"], *after["weights"], *after["slots"])
print("RESULT" + json.dumps({{"counters": state["counters"], "manifest": manifest,
    "frames": trained["frames"], "iteration": trained["training_iteration"]}}))
algo.stop()
"""


def test_a_new_process_goes_on_where_the_old_one_was(make_algo, tmp_path):
    algo = make_algo(optimizer_name="rmsprop_tf1", optimizer_kwargs={"momentum": 0.5})
    for _ in range(20):
        algo.train()
    path = checkpoints.save(algo, tmp_path / "checkpoints", extra={"note": [1, 2]})
    state = snapshot(algo)
    assert state["counters"]["curriculum"]["difficulty"] > 1
    algo.learner_group._learner.update(episodes=[fixed_rollout()])
    after = snapshot(algo)
    assert (after["weights"][0] != state["weights"][0]).any()

    out = tmp_path / "arrays.npz"
    here = pathlib.Path(__file__).parent
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            IN_A_NEW_PROCESS.format(tests=str(here), path=str(path), out=str(out)),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(here.parents[1])},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    result = json.loads(run.stdout.split("RESULT")[1].splitlines()[0])
    assert result["counters"] == json.loads(json.dumps(state["counters"]))
    assert result["manifest"]["extra"] == {"note": [1, 2]}
    assert result["manifest"]["env_steps_sampled"] == state["counters"]["frames"]["sampled"] == 400
    assert result["frames"]["sampled"] == 420 and result["iteration"] == 21
    arrays = list(np.load(out).values())
    expected = [*state["weights"], *state["slots"], *after["weights"], *after["slots"]]
    for ours, theirs in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_going_back_in_the_same_process_and_the_bare_model(make_algo, tmp_path):
    import keras

    algo = make_algo()
    algo.train()
    path = checkpoints.save(algo, tmp_path)
    state = snapshot(algo)
    for _ in range(3):
        algo.train()
    checkpoints.restore(algo, tmp_path)
    again = snapshot(algo)
    assert again["counters"] == state["counters"]
    for x, y in zip(
        state["weights"] + state["slots"], again["weights"] + again["slots"], strict=True
    ):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(algo.env_runner.module.model.get_weights(), state["weights"], strict=True):
        np.testing.assert_array_equal(x, y)
    bare = keras.models.load_model(path / "agent.keras")
    observations = fixed_rollout().observations[0]
    np.testing.assert_allclose(
        bare(observations)["logits"], algo.model(observations)["logits"], rtol=1e-6
    )


def test_only_the_newest_are_kept_and_half_ones_are_not_seen(make_algo, tmp_path):
    algo = make_algo()
    assert checkpoints.latest(tmp_path / "nothing") is None
    for _ in range(4):
        algo.train()
        checkpoints.save(algo, tmp_path, keep=2)
    checkpoints.save(algo, tmp_path, keep=2)  # the same iteration again
    (tmp_path / "000009").mkdir()  # a copy that was broken off, without its manifest
    (tmp_path / ".000008.tmp").mkdir()  # a save that was killed
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == [".000008.tmp", "000003", "000004", "000009"]
    assert checkpoints.latest(tmp_path) == (tmp_path / "000004").resolve()
    algo.train()
    checkpoints.save(algo, tmp_path, keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000004", "000005", "000009"]
    with pytest.raises(ValueError, match="at least 1; received 0"):
        checkpoints.save(algo, tmp_path, keep=0)


def test_truncated_and_foreign_checkpoints_are_refused_and_touch_nothing(make_algo, tmp_path):
    algo = make_algo()
    algo.train()
    path = checkpoints.save(algo, tmp_path / "good")
    algo.train()
    before = snapshot(algo)

    def refused(words, where):
        with pytest.raises(checkpoints.CheckpointError, match=words):
            checkpoints.restore(algo, where)
        now = snapshot(algo)
        assert now["counters"] == before["counters"]
        for x, y in zip(
            before["weights"] + before["slots"], now["weights"] + now["slots"], strict=True
        ):
            np.testing.assert_array_equal(x, y)

    refused("there is no checkpoint at", tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    refused("is not a checkpoint of tf_relational: it has no manifest.json", tmp_path / "empty")

    state = max(path.rglob("*.pkl"), key=lambda p: p.stat().st_size)
    whole = state.read_bytes()
    state.write_bytes(whole[:-7])
    refused(rf"truncated or altered: .*{state.name} has {len(whole) - 7} bytes, expected", path)
    state.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused("do not match its checksum", path)
    state.unlink()
    refused(rf"incomplete: .*{state.name} is missing", path)
    state.write_bytes(whole)

    manifest = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(manifest[:100])
    refused("manifest.json is not JSON", path)
    (path / "manifest.json").write_text('{"format": "something else"}')
    refused("is not a checkpoint of tf_relational", path)
    (path / "manifest.json").write_text(manifest.replace('"version": 1', '"version": 7'))
    refused("has version 7; this program reads version 1", path)
    (path / "manifest.json").write_text(manifest.replace('"files"', '"file"'))
    refused(r"lacks \['files'\] in its manifest.json", path)
    (path / "manifest.json").write_text(manifest)

    other = make_algo(optimizer_name="adam", optimizer_kwargs={})
    with pytest.raises(
        checkpoints.CheckpointError, match="of another optimizer: it holds 'rmsprop_tf1' .*'adam'"
    ):
        checkpoints.restore(other, path)
    assert checkpoints.restore(algo, path)["iteration"] == 1
