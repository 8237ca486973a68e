import numpy as np
import pytest

from tf_relational.rl.loss import impala_loss


def batch(seed=0, length=4, width=3, actions=5):
    rng = np.random.default_rng(seed)
    shape = (length, width)
    mask = np.ones(shape)
    mask[1, 2] = 0
    discounts = np.full(shape, 0.9)
    discounts[0, 2] = 0
    return {
        "logits": rng.normal(size=(*shape, actions)).astype("float32"),
        "values": rng.normal(size=(length + 1, width)).astype("float32"),
        "actions": rng.integers(actions, size=shape).astype("int32"),
        "behaviour_log_probs": (rng.normal(size=shape) - 1.5).astype("float32"),
        "rewards": rng.normal(size=shape).astype("float32"),
        "discounts": discounts.astype("float32"),
        "mask": mask.astype("float32"),
    }


def slow_parts(b):
    """Loss parts as sums over single steps, from the definitions, with clips and lambda 1."""
    length, width, _ = b["logits"].shape
    log_pi = b["logits"] - np.log(np.exp(b["logits"]).sum(-1, keepdims=True))
    policy = value = entropy = 0.0
    gradient = np.zeros_like(log_pi)
    for i in range(width):
        following_target = following_value = b["values"][length, i]
        for t in reversed(range(length)):
            v, action = b["values"][t, i], b["actions"][t, i]
            if not b["mask"][t, i]:
                following_target = following_value = v
                continue
            ratio = np.exp(log_pi[t, i, action] - b["behaviour_log_probs"][t, i])
            rho = min(1.0, ratio)
            gamma, reward = b["discounts"][t, i], b["rewards"][t, i]
            advantage = rho * (reward + gamma * following_target - v)
            target = (
                v
                + rho * (reward + gamma * following_value - v)
                + gamma * rho * (following_target - following_value)
            )
            policy -= advantage * log_pi[t, i, action]
            value += 0.5 * (target - v) ** 2
            pi = np.exp(log_pi[t, i])
            h = -(pi * log_pi[t, i]).sum()
            entropy += h
            one_hot = np.eye(len(pi))[action]
            gradient[t, i] = advantage * (pi - one_hot) + 0.01 * pi * (log_pi[t, i] + h)
            following_target, following_value = target, v
    return policy, value, entropy, gradient


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_parts_equal_the_definition(reduction):
    b = batch()
    policy, value, entropy, _ = slow_parts(b)
    count = b["mask"].sum()
    scale = 1.0 if reduction == "sum" else 1.0 / count
    parts = impala_loss(**b, value_coefficient=0.5, entropy_coefficient=0.01, reduction=reduction)
    parts = {name: float(part) for name, part in parts.items()}
    assert parts["policy_loss"] == pytest.approx(scale * policy, rel=1e-4)
    assert parts["value_loss"] == pytest.approx(scale * value, rel=1e-4)
    assert parts["entropy"] == pytest.approx(entropy / count, rel=1e-4)
    total = scale * (policy + 0.5 * value - 0.01 * entropy)
    assert parts["total_loss"] == pytest.approx(total, rel=1e-4)


def test_gradient_of_the_policy_is_the_closed_form():
    import tensorflow as tf

    b = batch(seed=1)
    logits = tf.constant(b.pop("logits"))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = impala_loss(logits, **b, entropy_coefficient=0.01)["total_loss"]
    expected = slow_parts({**b, "logits": logits.numpy()})[3]
    np.testing.assert_allclose(tape.gradient(loss, logits), expected, rtol=1e-3, atol=1e-5)


def test_gradient_of_the_value_is_that_of_the_error():
    import tensorflow as tf

    b = batch(seed=2)
    values = tf.constant(b.pop("values"))
    with tf.GradientTape() as tape:
        tape.watch(values)
        loss = impala_loss(b.pop("logits"), values, **b, value_coefficient=0.5)["total_loss"]
    gradient = tape.gradient(loss, values).numpy()
    assert (gradient[-1] == 0).all() and gradient[1, 2] == 0
    assert (gradient[:-1][b["mask"] == 1] != 0).all()


def test_unknown_reduction():
    with pytest.raises(ValueError, match='"sum" or "mean"; received \'median\''):
        impala_loss(**batch(), reduction="median")
