import numpy as np
import pytest


@pytest.fixture
def linear():
    """Policy and value are linear in the observation, so that gradients can be written down."""

    def build(observation_space, action_space):
        import keras

        x = keras.Input(observation_space.shape, name="obs")
        logits = keras.layers.Dense(int(action_space.n), use_bias=False)(x)
        value = keras.layers.Reshape(())(keras.layers.Dense(1, use_bias=False)(x))
        return keras.Model(x, {"logits": logits, "value": value})

    return build


@pytest.fixture
def make_learner(cluster, cartpole, linear):
    import gymnasium as gym

    def make(**training):
        config = cartpole.copy(copy_frozen=False).training(
            keras_model=linear, keras_model_kwargs={}, **training
        )
        learner = config.build_learner(env=gym.make_vec("CartPole-v1", num_envs=4))
        return learner

    return make


def rollout(seed=0, length=5, width=4, scale=1.0, seq_no=0):
    from tf_relational.rl.rllib import Rollout

    rng = np.random.default_rng(seed)
    shape = (length, width)
    mask, ends = np.ones(shape, "float32"), np.zeros(shape, "float32")
    ends[1, 0], mask[2, 0] = 1, 0
    return Rollout(
        observations=scale * rng.normal(size=(length + 1, width, 4)).astype("float32"),
        actions=rng.integers(2, size=shape).astype("int32"),
        log_probs=np.log(rng.uniform(0.2, 0.9, size=shape)).astype("float32"),
        rewards=rng.normal(size=shape).astype("float32"),
        ends=ends,
        mask=mask,
        weights_seq_no=seq_no,
    )


def slow_gradients(r, policy, value, gamma, entropy, value_coefficient, columns=slice(None)):
    """Gradients of the summed loss of a linear actor-critic, step by step."""
    policy_gradient, value_gradient = np.zeros_like(policy), np.zeros_like(value)
    length, width = r.actions.shape
    for i in range(width)[columns]:
        v = (r.observations[:, i] @ value)[:, 0]
        following_target = v[length]
        for t in reversed(range(length)):
            x, action = r.observations[t, i], r.actions[t, i]
            if not r.mask[t, i]:
                following_target = v[t]
                continue
            logits = x @ policy
            pi = np.exp(logits - logits.max())
            pi /= pi.sum()
            rho = min(1.0, pi[action] / np.exp(r.log_probs[t, i]))
            discount = gamma * (1 - r.ends[t, i])
            advantage = rho * (r.rewards[t, i] + discount * following_target - v[t])
            delta = rho * (r.rewards[t, i] + discount * v[t + 1] - v[t])
            target = v[t] + delta + discount * rho * (following_target - v[t + 1])
            h = -(pi * np.log(pi)).sum()
            slope = advantage * (pi - np.eye(2)[action]) + entropy * pi * (np.log(pi) + h)
            policy_gradient += np.outer(x, slope)
            value_gradient += value_coefficient * (v[t] - target) * x[:, None]
            following_target = target
    return policy_gradient, value_gradient


def slow_update(weights, slots, gradients, clip=40.0, rate=2e-4, rho=0.99, epsilon=0.1):
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    gradients = [g * min(1.0, clip / norm) for g in gradients]
    slots = [rho * s + (1 - rho) * g * g for s, g in zip(slots, gradients, strict=True)]
    weights = [
        w - rate * g / np.sqrt(s + epsilon)
        for w, s, g in zip(weights, slots, gradients, strict=True)
    ]
    return weights, slots, norm


def weights_of(learner):
    """The policy's and the value's kernel."""
    kernels = learner.module["default_policy"].model.get_weights()
    return sorted((k.astype("float64") for k in kernels), key=lambda k: -k.shape[1])


@pytest.mark.parametrize("scale, clipped", [(1.0, False), (30.0, True)])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_updates_equal_the_published_algorithm(make_learner, scale, clipped, jit_compile):
    learner = make_learner(jit_compile=jit_compile)
    weights, slots = weights_of(learner), [np.ones((4, 2)), np.ones((4, 1))]
    start = [w.copy() for w in weights]
    for seed in range(3):
        r = rollout(seed, scale=scale, seq_no=seed)
        gradients = slow_gradients(r, *weights, 0.99, 5e-3, 0.5)
        weights, slots, norm = slow_update(weights, slots, gradients)
        assert (norm > 40) == clipped
        result = learner.update(episodes=[r])
        assert result["default_policy"]["gradient_norm"].peek() == pytest.approx(norm, rel=1e-3)
        assert result["default_policy"]["policy_lag"].peek() == 0
    for ours, expected, first in zip(weights_of(learner), weights, start, strict=True):
        np.testing.assert_allclose(ours - first, expected - first, rtol=2e-3, atol=2e-7)


def test_minibatches_are_successive_updates_on_groups_of_environments(make_learner):
    learner = make_learner(num_minibatches=2)
    weights, slots = weights_of(learner), [np.ones((4, 2)), np.ones((4, 1))]
    r = rollout()
    for columns in (slice(0, 2), slice(2, 4)):
        gradients = slow_gradients(r, *weights, 0.99, 5e-3, 0.5, columns)
        weights, slots, _ = slow_update(weights, slots, gradients)
    learner.update(episodes=[r])
    for ours, expected in zip(weights_of(learner), weights, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-7)


def test_rollouts_are_joined_and_lost_ones_do_not_matter(make_learner):
    whole, parts, short = (make_learner() for _ in range(3))
    a, b = rollout(0, width=2, seq_no=0), rollout(1, width=2, seq_no=0)
    from tf_relational.rl.rllib import Rollout

    whole.update(episodes=[Rollout.concatenate([a, b], 4)])
    parts.update(episodes=[a, b])
    for x, y in zip(weights_of(whole), weights_of(parts), strict=True):
        np.testing.assert_array_equal(x, y)
    # A runner died: two environments are missing, and only the others are learned from.
    weights = weights_of(short)
    gradients = slow_gradients(a, *weights, 0.99, 5e-3, 0.5)
    weights, _, _ = slow_update(weights, [1.0, 1.0], gradients)
    result = short.update(episodes=[a])
    for ours, expected in zip(weights_of(short), weights, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-7)
    assert result["__all_modules__"]["num_env_steps_trained"].peek() == a.env_steps() == 9
    # All of them died: nothing happens.
    before = weights_of(short)
    short.update(episodes=[])
    for x, y in zip(weights_of(short), before, strict=True):
        np.testing.assert_array_equal(x, y)


def test_schedules_follow_the_environment_steps(make_learner):
    learner = make_learner(
        lr=[[0, 1e-3], [1000, 0.0]], entropy_coeff=[[0, 0.1], [500, 0.0], [1000, 0.2]]
    )
    seen = []
    for steps in (0, 500, 1000, 5000):
        result = learner.update(
            episodes=[rollout()], timesteps={"num_env_steps_sampled_lifetime": steps}
        )["default_policy"]
        seen.append((result["entropy_coeff"].peek(), result["learning_rate"].peek()))
    np.testing.assert_allclose(
        seen, [(0.1, 1e-3), (0.0, 5e-4), (0.2, 0.0), (0.2, 0.0)], rtol=1e-6, atol=1e-12
    )


def test_state_gives_the_same_next_update(make_learner):
    one, other = make_learner(optimizer_name="adam", optimizer_kwargs={}), None
    for seed in range(3):
        one.update(episodes=[rollout(seed)])
    other = make_learner(optimizer_name="adam", optimizer_kwargs={})
    other.update(episodes=[rollout(9)])
    state = one.get_state()
    other.set_state(state)
    for learner in (one, other):
        learner.update(episodes=[rollout(4)])
    for x, y in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_array_equal(x, y)
    assert one._weights_seq_no == other._weights_seq_no == 4
    # Going back to older weights works as well.
    one.set_state(state)
    assert one._weights_seq_no == 3
    assert (weights_of(one)[0] != weights_of(other)[0]).any()


def test_weights_of_another_model_are_refused(make_learner):
    module = make_learner().module["default_policy"]
    before = module.model.get_weights()
    with pytest.raises(ValueError, match="do not fit the model"):
        module.set_state({"weights": before[:1]})
    np.testing.assert_array_equal(module.model.get_weights()[0], before[0])
