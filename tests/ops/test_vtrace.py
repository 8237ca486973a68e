import keras
import numpy as np
import pytest

from tf_relational.ops.vtrace import vtrace


def slow_vtrace(
    log_pi,
    log_mu,
    rewards,
    discounts,
    values,
    bootstrap,
    mask=None,
    clip_rho=1.0,
    clip_c=1.0,
    clip_pg_rho=1.0,
    lambda_=1.0,
):
    """Equation 1 of the IMPALA paper as the sum it is, one environment and one step at a time."""
    length, batch = values.shape
    mask = np.ones_like(values) if mask is None else mask
    targets, advantages = np.zeros_like(values), np.zeros_like(values)
    for b in range(batch):
        v = [*values[:, b], bootstrap[b]]
        ratio = [np.exp(log_pi[t, b] - log_mu[t, b]) for t in range(length)]
        rho = [min(r, np.inf if clip_rho is None else clip_rho) for r in ratio]
        c = [lambda_ * min(r, np.inf if clip_c is None else clip_c) for r in ratio]
        for s in range(length):
            total, factor = v[s], 1.0
            for t in range(s, length):
                if not mask[t, b]:
                    break  # a reset row is no transition: the trajectory ends before it
                total += factor * rho[t] * (rewards[t, b] + discounts[t, b] * v[t + 1] - v[t])
                factor *= discounts[t, b] * c[t]
            targets[s, b] = total
        for s in range(length):
            following = targets[s + 1, b] if s + 1 < length else bootstrap[b]
            clipped = min(ratio[s], np.inf if clip_pg_rho is None else clip_pg_rho)
            delta = rewards[s, b] + discounts[s, b] * following - v[s]
            advantages[s, b] = mask[s, b] * clipped * delta
    return targets, advantages


def batch(seed=0, length=7, width=5):
    rng = np.random.default_rng(seed)
    shape = (length, width)
    log_mu = rng.normal(size=shape) - 1
    log_pi = log_mu + rng.normal(size=shape)  # ratios from far below to far above 1
    discounts = np.where(rng.random(shape) < 0.2, 0.0, 0.9)
    return [
        a.astype("float32")
        for a in (
            log_pi, log_mu, rng.normal(size=shape), discounts, rng.normal(size=shape),
            rng.normal(size=width),
        )
    ]  # fmt: skip


def check(result, expected):
    np.testing.assert_allclose(np.asarray(result.targets), expected[0], rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(np.asarray(result.advantages), expected[1], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"clip_rho": 2.0, "clip_c": 0.5, "clip_pg_rho": 1.5},
        {"clip_rho": None, "clip_c": None, "clip_pg_rho": None},
        {"lambda_": 0.8},
        {"lambda_": 0.0, "clip_rho": 0.7},
    ],
)
def test_equals_the_definition_with_weights_on_both_sides_of_the_clips(options):
    arrays = batch()
    weights = np.exp(arrays[0] - arrays[1])
    assert (weights < 0.5).any() and (weights > 2.0).any()
    result = vtrace(*arrays, **options)
    check(result, slow_vtrace(*arrays, **options))
    np.testing.assert_allclose(np.asarray(result.importance_weights), weights, rtol=1e-5)


def masked_batch():
    """Resets after a termination (row 2) and after a time limit that is bootstrapped (row 4)."""
    arrays = batch(seed=1)
    mask = np.ones_like(arrays[2])
    mask[2, 0] = mask[4, 1] = 0
    arrays[3][:] = 0.9
    arrays[3][1, 0] = 0.0
    arrays[2][2, 0] = arrays[2][4, 1] = 1e3  # whatever stands in a reset row must not matter
    arrays[0][4, 1], arrays[1][4, 1] = 0.0, -np.inf
    return arrays, mask


def test_reset_rows_are_no_transitions():
    arrays, mask = masked_batch()
    result = vtrace(*arrays, mask=mask)
    with np.errstate(all="ignore"):
        arrays[1][4, 1] = 0.0
        expected = slow_vtrace(*arrays, mask=mask)
    assert np.isfinite(np.asarray(result.targets)).all()
    check(result, expected)
    assert (np.asarray(result.advantages)[mask == 0] == 0).all()
    assert (np.asarray(result.importance_weights)[mask == 0] == 0).all()
    # The row before the bootstrapped reset sees the value of the reset row, and no more.
    arrays[2][5:, 1] += 100.0
    again = vtrace(*arrays, mask=mask)
    np.testing.assert_array_equal(
        np.asarray(again.targets)[:5, 1], np.asarray(result.targets)[:5, 1]
    )


def test_equal_policies_give_n_step_returns():
    _, log_mu, rewards, discounts, values, bootstrap = batch(seed=2)
    returns, following = np.zeros_like(rewards), bootstrap
    for t in reversed(range(len(rewards))):
        following = rewards[t] + discounts[t] * following
        returns[t] = following
    result = vtrace(log_mu, log_mu, rewards, discounts, values, bootstrap)
    np.testing.assert_allclose(np.asarray(result.targets), returns, rtol=2e-5, atol=2e-5)


def test_no_gradient_flows_and_it_compiles():
    import tensorflow as tf

    arrays = [tf.constant(a) for a in batch(seed=3)]

    @tf.function(jit_compile=True)
    def gradient(*arrays):
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            result = vtrace(*arrays)
            total = tf.reduce_sum(result.targets) + tf.reduce_sum(result.advantages)
        return tape.gradient(total, arrays), result

    gradients, result = gradient(*arrays)
    assert all(g is None or not tf.reduce_any(g != 0) for g in gradients)
    check(result, slow_vtrace(*[a.numpy() for a in arrays]))


def test_shapes_that_do_not_fit_are_named():
    arrays = batch()
    with pytest.raises(
        ValueError, match=r"`rewards` must have the shape \[T, B\].*\(7, 5\).*\(6, 5\)"
    ):
        vtrace(arrays[0], arrays[1], arrays[2][1:], *arrays[3:])
    with pytest.raises(
        ValueError, match=r"`bootstrap_value` must have shape \[B\].*\(5,\).*\(4,\)"
    ):
        vtrace(*arrays[:5], arrays[5][1:])


def test_backend_is_kerass():
    assert keras.ops.is_tensor(vtrace(*batch()).targets)
