"""The authors' recorded episodes, replayed: every observation, reward, end and inventory."""

import pathlib

import numpy as np
import pytest

from tf_relational.envs import BRIDGE, STANDARD, BoxWorldEnv, BoxWorldVectorEnv, Level, Levels
from tf_relational.envs.render import observation
from tf_relational.envs.rules import initial_state, step

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
TASKS = {"standard": (STANDARD, 200, 8658), "bridge": (BRIDGE, 60, 2902)}


@pytest.fixture(scope="module", params=sorted(TASKS))
def recorded(request):
    with np.load(GOLDEN / f"boxworld_traces_{request.param}.npz", allow_pickle=False) as file:
        return request.param, dict(file)


def episodes(data):
    for index in range(len(data["init_board"])):
        level = Level(data["init_board"][index], data["colours"][index], data["decoys"][index])
        steps = slice(*data["step_offset"][index : index + 2])
        frames = data["observations"][slice(*data["obs_offset"][index : index + 2])]
        yield level, steps, frames, int(data["episode_horizon"][index])


def same_keys(ours, recorded):
    return [key for key in ours if key >= 0] == [key for key in recorded if key >= 0]


def test_rules_replay_every_step(recorded):
    name, data = recorded
    levels, spans, frames, horizons = zip(*episodes(data), strict=True)
    levels = Levels.stack(levels)
    state = initial_state(levels)
    count = differing = 0
    for time in range(150):
        active = [i for i, span in enumerate(spans) if span.start + time < span.stop]
        actions = np.zeros(len(levels), int)
        actions[active] = [data["actions"][spans[i].start + time] for i in active]
        state, result = step(state, actions)
        images = observation(state.board, levels.colours, state.position, state.inventory)
        for i in active:
            index = spans[i].start + time
            equal = (
                np.array_equal(images[i], frames[i][time + 1])
                and np.array_equal(state.board[i], data["board"][index])
                and np.array_equal(state.position[i], data["pos"][index])
                and same_keys(state.inventory[i], data["inventory"][index])
                and result.reward[i] == data["rewards"][index]
                and (result.terminated[i] or time + 1 == horizons[i]) == data["dones"][index]
            )
            count += 1
            differing += not equal
    assert (count, differing) == (TASKS[name][2], 0)


def test_single_environment_replays_every_step(recorded):
    name, data = recorded
    config, _, total = TASKS[name]
    environments = {-1: BoxWorldEnv(config), 25: BoxWorldEnv(config, horizon=25)}
    count = differing = 0
    for level, steps, frames, horizon in episodes(data):
        env = environments[horizon]
        first, _ = env.reset(options={"level": level})
        assert np.array_equal(first, frames[0])
        for index in range(steps.start, steps.stop):
            image, reward, terminated, truncated, info = env.step(int(data["actions"][index]))
            equal = (
                np.array_equal(image, frames[index - steps.start + 1])
                and reward == data["rewards"][index]
                and (terminated or truncated) == data["dones"][index]
                and same_keys(env.game.inventory, data["inventory"][index])
                and info["win"] == (reward == 10)
                and (info["bridge_opened"] or info["distractor_opened"]) == (reward == -1)
            )
            count += 1
            differing += not equal
    assert (count, differing) == (total, 0)


def test_vector_environment_replays_all_episodes_side_by_side(recorded):
    name, data = recorded
    config, batch, total = TASKS[name]
    played = list(episodes(data))
    envs = BoxWorldVectorEnv(batch, config)
    first, _ = envs.reset(options={"levels": Levels.stack([level for level, *_ in played])})
    assert np.array_equal(first, [frames[0] for _, _, frames, _ in played])
    count = differing = 0
    for time in range(150):
        active = [i for i, (_, s, _, _) in enumerate(played) if s.start + time < s.stop]
        actions = np.zeros(batch, int)
        actions[active] = [data["actions"][played[i][1].start + time] for i in active]
        images, rewards, terminated, _, infos = envs.step(actions)
        for i in active:
            index = played[i][1].start + time
            image = infos["final_obs"][i] if terminated[i] else images[i]
            last = played[i][3] == time + 1
            equal = (
                np.array_equal(image, played[i][2][time + 1])
                and rewards[i] == data["rewards"][index]
                and (terminated[i] or last) == data["dones"][index]
            )
            count += 1
            differing += not equal
    assert (count, differing) == (total, 0)


def test_recorded_levels_are_described_as_recorded(recorded):
    name, data = recorded
    for index, (level, *_) in enumerate(episodes(data)):
        length = int(data["sol_length"][index])
        assert level.solution_length == length
        if name == "bridge" and len(level.decoys):
            # The authors number path A 1..L and path B L+1..2L, so the tiles name the type.
            x, y = level.decoys[0]
            assert level.puzzle_type == (length, level.board[x, y], level.board[x - 1, y])
        else:
            assert level.puzzle_type is None
