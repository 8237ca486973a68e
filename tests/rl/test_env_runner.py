import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode


class Counting(gym.vector.VectorEnv):
    """Environment `i` has episodes of `i + 2` steps; observation = (environment, step, episode).

    The reward is the number of the step. Odd environments end by a time limit, even ones terminate.
    """

    def __init__(self, num_envs, mode=AutoresetMode.SAME_STEP, fail_at=()):
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": mode}
        self.single_observation_space = gym.spaces.Box(-1, 1000, (3,), np.float32)
        self.single_action_space = gym.spaces.Discrete(2)
        batch = gym.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self.fail_at = list(fail_at)
        self.calls = 0
        self.settings = []

    def reset(self, seed=None, options=None):
        self.seed = seed
        self.t = np.zeros(self.num_envs, int)
        self.episode = np.zeros(self.num_envs, int)
        self.done = np.zeros(self.num_envs, bool)
        return self.observe(), {}

    def observe(self):
        i = np.arange(self.num_envs)
        return np.stack([i, self.t, self.episode], axis=1).astype(np.float32)

    def step(self, actions):
        self.calls += 1
        if self.calls in self.fail_at:
            raise RuntimeError("the game crashed")
        i = np.arange(self.num_envs)
        resetting = self.done.copy()
        self.t = np.where(resetting, 0, self.t + 1)
        self.episode += resetting
        rewards = np.where(resetting, 99.0, self.t).astype(float)
        self.done = self.t == i + 2
        terminated, truncated = self.done & (i % 2 == 0), self.done & (i % 2 == 1)
        report = {"win": i % 2 == 0, "curriculum": i == 3}
        infos = {}
        if self.done.any():
            infos = report
            if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
                final = np.full(self.num_envs, None, object)
                observations = self.observe()
                for index in np.flatnonzero(self.done):
                    final[index] = observations[index]
                infos = {"final_info": report, "final_obs": final}
                self.t = np.where(self.done, 0, self.t)
                self.episode += self.done
                self.done = np.zeros(self.num_envs, bool)
        return self.observe(), rewards, terminated, truncated, infos

    def set_curriculum(self, probability, difficulty, horizon):
        self.settings.append((probability, difficulty, horizon))


@pytest.fixture
def make_runner(cartpole):
    from tf_relational.rl.rllib import KerasEnvRunner

    def make(num_envs=4, mode=AutoresetMode.SAME_STEP, fail_at=(), worker_index=0, **training):
        made = []

        def create(context):
            # Only the first environment fails.
            made.append(Counting(context["num_envs"], mode, () if made else fail_at))
            return made[-1]

        config = (
            cartpole.copy(copy_frozen=False)
            .env_runners(num_envs_per_env_runner=num_envs)
            .training(train_batch_size_per_learner=5 * num_envs, **training)
        )
        config.env = create
        return KerasEnvRunner(config=config, worker_index=worker_index)

    return make


def test_same_step_rollout(make_runner):
    (rollout,) = make_runner()._sample(num_timesteps=20, explore=True)
    assert rollout.observations.shape == (6, 4, 3)
    assert rollout.observations.dtype == np.float32
    assert rollout.env_steps() == 20
    # Environment 0: episodes of two steps.
    assert rollout.observations[:, 0, 1].tolist() == [0, 1, 0, 1, 0, 1]
    assert rollout.observations[:, 0, 2].tolist() == [0, 0, 1, 1, 2, 2]
    assert rollout.rewards[:, 0].tolist() == [1, 2, 1, 2, 1]
    assert rollout.ends[:, 0].tolist() == [0, 1, 0, 1, 0]
    # Environment 1 ends by a time limit, which counts as an end.
    assert rollout.ends[:, 1].tolist() == [0, 0, 1, 0, 0]
    assert (rollout.mask == 1).all()


def test_next_step_rollout_masks_the_reset_rows(make_runner):
    runner = make_runner(mode=AutoresetMode.NEXT_STEP)
    (first,) = runner._sample(num_timesteps=20, explore=True)
    (second,) = runner._sample(num_timesteps=20, explore=True)
    observations = np.concatenate([first.observations[:-1], second.observations])
    mask, rewards, ends = (
        np.concatenate([getattr(first, n), getattr(second, n)]) for n in ("mask", "rewards", "ends")
    )
    assert observations[:, 0, 1].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    assert mask[:, 0].tolist() == [1, 1, 0, 1, 1, 0, 1, 1, 0, 1]
    assert rewards[:, 0].tolist() == [1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    assert ends[:, 0].tolist() == [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert first.env_steps() + second.env_steps() == int(mask.sum())


def test_log_probs_and_actions_are_the_modules(make_runner):
    runner = make_runner()
    (rollout,) = runner._sample(num_timesteps=20, explore=True)
    logits = runner.module.model(rollout.observations[:-1].reshape(-1, 3))["logits"].numpy()
    log_policy = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = log_policy[np.arange(20), rollout.actions.ravel()]
    np.testing.assert_allclose(rollout.log_probs.ravel(), chosen, rtol=1e-4, atol=1e-5)
    actions, log_probs, _ = runner.module.act(rollout.observations[0], (0, 0), greedy=True)
    assert actions.tolist() == logits[:4].argmax(-1).tolist()
    np.testing.assert_allclose(log_probs, log_policy[:4].max(-1), rtol=1e-4)


def test_actions_are_drawn_from_the_policy(make_runner):
    runner = make_runner()
    observations = np.tile(np.array([1, 2, 3], np.float32), (4000, 1))
    logits = runner.module.model(observations[:1])["logits"].numpy()[0]
    share = float(np.exp(logits[1]) / np.exp(logits).sum())
    assert 0.02 < share < 0.98
    actions, _, _ = runner.module.act(observations, (5, 6))
    assert actions.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4000))


def test_bootstrap_at_a_time_limit(make_runner):
    options = {"bootstrap_truncated": True, "gamma": 0.5}
    same = make_runner(**options)
    (rollout,) = same._sample(num_timesteps=20, explore=True)
    final = np.array([[1, 3, 0]], np.float32)
    value = float(same.module.model(final)["value"][0])
    assert rollout.ends[:, 1].tolist() == [0, 0, 1, 0, 0]
    assert rollout.rewards[2, 1] == pytest.approx(3 + 0.5 * value, rel=1e-5)
    assert rollout.rewards[1, 0] == 2  # a termination is not bootstrapped
    # In NEXT_STEP mode the following row holds the last observation, and is masked.
    (rollout,) = make_runner(mode=AutoresetMode.NEXT_STEP, **options)._sample(
        num_timesteps=20, explore=True
    )
    assert rollout.ends[:, 1].tolist() == [0, 0, 0, 0, 0]
    assert rollout.rewards[:, 1].tolist() == [1, 2, 3, 0, 1]
    assert rollout.observations[3, 1].tolist() == [1, 3, 0] and rollout.mask[3, 1] == 0


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_episode_statistics_and_curriculum_kept_apart(make_runner, mode):
    from tf_relational.rl.rllib.episode_statistics import episode_metrics

    runner = make_runner(mode=mode)
    runner._sample(num_timesteps=4 * 12, explore=True)
    sums = {}
    for key, value in runner.statistics.take().items():
        assert key[0] == "sums"
        sums[key[1]] = value
    # In 12 steps, where a reset takes one in NEXT_STEP mode; the last one's are the curriculum's.
    finished = [6, 4, 3, 2] if mode is AutoresetMode.SAME_STEP else [4, 3, 2, 2]
    lengths, returns = [2, 3, 4, 5], [3, 6, 10, 15]
    count = sum(finished[:3])
    metrics = episode_metrics(sums)
    assert metrics["episode_len_mean"] == pytest.approx(np.dot(finished[:3], lengths[:3]) / count)
    assert metrics["episode_return_mean"] == pytest.approx(
        np.dot(finished[:3], returns[:3]) / count
    )
    assert metrics["fraction_solved"] == pytest.approx((finished[0] + finished[2]) / count)
    assert metrics["curriculum_episodes"] == finished[3]
    assert metrics["curriculum_return_mean"] == 15
    assert runner.take_curriculum_report() == (None, [True] * finished[3])
    assert runner.take_curriculum_report() == (None, [])


def test_evaluation_counts_a_fixed_share_of_each_environment(make_runner):
    runner = make_runner(num_envs=3)
    (sampled,) = runner._sample(num_episodes=7, explore=False)
    sums = {key[1]: value for key, value in runner.statistics.take().items()}
    # 3, 2 and 2 episodes of 2, 3 and 4 steps, although the first finishes more meanwhile.
    assert sums["episodes"] == 7 and sums["length"] == 3 * 2 + 2 * 3 + 2 * 4
    assert sampled.env_steps() == 3 * 2 + 2 * 3 + 2 * 4


def test_an_environment_that_raises_is_made_anew(make_runner):
    runner = make_runner(fail_at=(3,))
    (rollout,) = runner._sample(num_timesteps=20, explore=True)
    assert rollout.observations[0, :, 1].tolist() == [0, 0, 0, 0]
    assert rollout.rewards[:, 0].tolist() == [1, 2, 1, 2, 1]
    assert runner.get_metrics()["num_env_step_failures"].peek() == 1


def test_an_environment_that_always_raises_ends_the_run(make_runner, monkeypatch):
    runner = make_runner()
    monkeypatch.setattr(Counting, "step", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match="failed 21 times without finishing"):
        runner._sample(num_timesteps=20, explore=True)


def test_seeds(make_runner):
    def sample(runner):
        (rollout,) = runner._sample(num_timesteps=20, explore=True)
        return rollout.actions.tolist(), runner.env.unwrapped.seed

    first = sample(make_runner())
    assert sample(make_runner()) == first
    assert sample(make_runner(worker_index=1)) != first
    # A runner that replaces another, late in the run, does not play its episodes again.
    late = make_runner()
    late.set_state({"num_env_steps_sampled_lifetime": 1000})
    assert sample(late)[1] != first[1]


def test_curriculum_reaches_the_environment_and_its_replacement(make_runner):
    runner = make_runner(fail_at=(1,))
    runner.set_curriculum(probability=0.5, difficulty=3, horizon=20)
    before = runner.env.unwrapped
    runner._sample(num_timesteps=20, explore=True)
    assert runner.env.unwrapped is not before
    assert runner.env.unwrapped.settings == [(0.5, 3, 20)]


def test_evaluation_is_without_the_curriculum(make_runner):
    runner = make_runner(num_envs=2)
    runner.set_curriculum(probability=0.5, difficulty=3, horizon=20)
    runner._sample(num_episodes=2, explore=True)
    assert runner.env.unwrapped.settings == [(0.5, 3, 20), (0.0, 3, 20), (0.5, 3, 20)]


def test_curriculum_needs_an_environment_that_has_one(cartpole):
    from tf_relational.rl.rllib import KerasEnvRunner

    runner = KerasEnvRunner(config=cartpole, worker_index=0)
    with pytest.raises(ValueError, match="CartPoleVectorEnv has no method set_curriculum"):
        runner.set_curriculum(0.5, 1, 20)
