import pathlib

import keras
import numpy as np
import pytest

from tf_relational.rl.optimizers import TF1RMSProp, make_optimizer

TRACES = np.load(pathlib.Path(__file__).parents[1] / "golden" / "optimizer_traces.npz")


def trajectory(optimizer, gradients, start, dtype="float64"):
    variable = keras.Variable(start, dtype=dtype)
    points = []
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient, dtype)], [variable])
        points.append(np.array(keras.ops.convert_to_numpy(variable)))
    return np.array(points)


def clipped(gradients, norm):
    return [g * min(1.0, norm / np.linalg.norm(g)) for g in gradients]


def test_equals_tensorflow_1():
    expected = TRACES["tf1_rmsprop_impala_lr2e-4_decay.99_mom0_eps.1_clipnorm40"]
    gradients = clipped(TRACES["gradients"], 40.0)
    points = trajectory(TF1RMSProp(), gradients, TRACES["p0"])
    np.testing.assert_allclose(points, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("variant, start", [("published", 1.0), ("paper", 0.0)])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_variants_follow_the_formula(variant, start, momentum):
    rate, rho, epsilon = 0.01, 0.9, 0.1
    x, r, m = TRACES["p0"].copy(), np.full(5, start), np.zeros(5)
    expected = []
    for g in TRACES["gradients"]:
        r = rho * r + (1 - rho) * g * g
        m = momentum * m + rate * g / np.sqrt(r + epsilon)
        x = x - m
        expected.append(x)
    optimizer = TF1RMSProp(rate, rho, momentum, epsilon, variant)
    points = trajectory(optimizer, TRACES["gradients"], TRACES["p0"])
    np.testing.assert_allclose(points, expected, rtol=0, atol=1e-7)


def test_config_round_trip():
    optimizer = TF1RMSProp(0.1, 0.8, 0.5, 0.2, "paper", global_clipnorm=3.0)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert isinstance(again, TF1RMSProp)
    assert again.get_config() == optimizer.get_config()


def test_make_optimizer():
    assert isinstance(make_optimizer(variant="paper"), TF1RMSProp)
    adam = make_optimizer("Adam", 3e-4, epsilon=1e-5)
    assert type(adam) is keras.optimizers.Adam and adam.epsilon == 1e-5
    with pytest.raises(
        ValueError, match=r"unknown optimizer 'adamm'; allowed: rmsprop_tf1, .*adam"
    ):
        make_optimizer("adamm")
    with pytest.raises(ValueError, match=r'"published" or "paper"; received \'tf1\''):
        TF1RMSProp(variant="tf1")
