"""The ids in the old gym, where it is installed."""

import numpy as np
import pytest

gym = pytest.importorskip("gym", reason="the old gym is not installed")

from tf_relational.envs import BoxWorldEnv, solve  # noqa: E402


@pytest.mark.parametrize("name", ["tf_relational/BoxWorld-v0", "tf_relational/BridgeBoxWorld-v0"])
def test_gym_plays_the_same_games(name):
    import gymnasium

    env = gym.make(name, horizon=200, render_mode="rgb_array")
    other = gymnasium.make(name, horizon=200).unwrapped
    assert isinstance(other, BoxWorldEnv)
    image, info = env.reset(seed=5)
    expected, other_info = other.reset(seed=5)
    assert env.observation_space.contains(image)
    assert np.array_equal(image, expected) and info == other_info
    for action in solve(other.game.origin).actions:
        result, expected = env.step(action), other.step(action)
        assert np.array_equal(result[0], expected[0]) and result[1:] == expected[1:]
    assert result[1] == 10 and result[4]["win"]
    assert env.render().shape[2] == 3
