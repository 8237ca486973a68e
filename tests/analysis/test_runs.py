"""Reading run directories, and the mean and deviation of their curves."""

import json
import math

import numpy as np
import pytest

from tf_relational.analysis.run_groups import group_by_settings, one_of_each_seed
from tf_relational.analysis.runs import (
    NOT_SETTINGS,
    Run,
    curve,
    group_by_agent,
    read_metrics,
    read_run,
    solved_label,
    time_scales,
    type_name,
)


def make_run(agent="relational", seed=0, frames=(100, 200, 300), seconds=None, limit=120, **series):
    seconds = np.full(len(frames), np.nan) if seconds is None else np.array(seconds, float)
    series = {name: np.array(values, float) for name, values in series.items()}
    return Run(agent, seed, limit, 120, np.array(frames, float), seconds, series)


def write(folder, lines, config):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "metrics.jsonl").write_text("\n".join(lines))
    return folder


CONFIG = {"experiment": "bridge_boxworld", "preset": "laptop"}


def test_reading_a_run_skips_what_is_no_number(tmp_path):
    fields = {"agent": "simplicial", "seed": 3, "horizon": 50, "evaluation_step_limit": None}
    lines = [
        '{"frames": 640, "wall_time": 2.0, "step_limit": 120, "fraction_solved": null}',
        '{"frames": 1280, "wall_time": 4.0, "step_limit": 120, "fraction_solved": 0.25}',
        '{"wall_time": 5.0}',
        '{"frames": 1920, "wall_time": 8.0, "step_limit": 120, "fraction_solved": NaN}',
        '{"frames": 2560, "wall_',
    ]
    run = read_run(write(tmp_path / "run", lines, {**CONFIG, "config": fields}))
    assert (run.agent, run.seed, run.step_limit, run.evaluation_step_limit) == (
        "simplicial", 3, 120, None,
    )  # fmt: skip
    assert run.frames.tolist() == [640, 1280, 1920]
    solved = run.series["fraction_solved"]
    assert np.isnan(solved[[0, 2]]).all() and solved[1] == 0.25
    assert run.frames_per_second == 240


def test_a_run_without_a_limit_in_its_metrics_takes_the_horizon(tmp_path):
    folder = write(tmp_path / "run", ['{"frames": 1}'], {"agent": "relational", "horizon": 77})
    run = read_run(folder)
    assert run.step_limit == 77
    assert math.isnan(run.frames_per_second)


def test_runs_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_run(tmp_path)
    folder = write(tmp_path / "run", ['{"loss": 1}', '{"frames": null}'], CONFIG)
    assert read_metrics(folder) == []
    with pytest.raises(ValueError, match="no line with a number of frames"):
        read_run(folder)
    (folder / "metrics.jsonl").unlink()
    assert read_metrics(folder) == []
    assert len(read_run(folder, may_be_empty=True).frames) == 0


def test_mean_and_deviation_over_seeds():
    values = np.array([[0.1, 0.2, 0.9], [0.3, 0.4, 0.5], [0.2, 0.9, 0.7]])
    runs = [make_run(seed=k, fraction_solved=row) for k, row in enumerate(values)]
    x, mean, deviation, each = curve(runs, "fraction_solved")
    np.testing.assert_allclose(x, [100, 200, 300])
    for point in range(3):
        column = values[:, point]
        middle = sum(column) / 3
        spread = math.sqrt(sum((v - middle) ** 2 for v in column) / 3)
        np.testing.assert_allclose([mean[point], deviation[point]], [middle, spread])
    np.testing.assert_allclose(each, values)


def test_one_seed_has_no_deviation_and_points_are_means_of_intervals():
    run = make_run(frames=range(1, 101), fraction_solved=np.arange(100) / 100)
    x, mean, deviation, _ = curve([run], "fraction_solved", points=10)
    assert x.tolist() == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    expected = [np.mean([v / 100 for v in range(k, k + 10)]) for k in range(0, 100, 10)]
    np.testing.assert_allclose(mean, expected)
    assert not deviation.any()


def test_runs_of_different_length_are_averaged_as_far_as_they_go():
    long = make_run(frames=(100, 200, 300, 400), fraction_solved=(0.0, 0.2, 0.4, 0.6))
    short = make_run(seed=1, frames=(100, 200), fraction_solved=(0.4, 0.4))
    _, mean, deviation, each = curve([long, short], "fraction_solved")
    np.testing.assert_allclose(mean, [0.2, 0.3, 0.4, 0.6])
    np.testing.assert_allclose(deviation, [0.2, 0.1, 0.0, 0.0])
    assert np.isnan(each[1, 2:]).all()


def test_a_hole_is_interpolated_and_a_missing_quantity_is_empty():
    hole = make_run(frames=(100, 200, 300), fraction_solved=(0.0, math.nan, 1.0))
    other = make_run(seed=1, frames=(100, 200, 300), fraction_solved=(0.0, 0.5, 1.0))
    _, mean, _, each = curve([hole, other], "fraction_solved")
    np.testing.assert_allclose(mean, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(each[0], [0.0, 0.5, 1.0])
    x, mean, deviation, each = curve([hole], "entropy")
    assert (len(x), len(mean), len(deviation), each.shape) == (0, 0, 0, (1, 0))


def test_few_measurements_stay_where_they_were_made():
    """Evaluations of two seeds at frames of their own: nothing is moved or averaged in time."""
    first = make_run(frames=(250, 510), fraction_solved=(0.2, 0.6))
    second = make_run(seed=1, frames=(250, 500), fraction_solved=(0.4, 0.5))
    x, mean, _, each = curve([first, second], "fraction_solved", points=40)
    assert x.tolist() == [250, 500, 510]
    at_500 = 0.2 + 0.4 * 250 / 260
    np.testing.assert_allclose(each, [[0.2, at_500, 0.6], [0.4, 0.5, np.nan]])
    np.testing.assert_allclose(mean, [0.3, (at_500 + 0.5) / 2, 0.6])


def test_the_time_adjusted_axis_is_the_papers():
    """Appendix C: 19,000 and 14,000 frames/s stretch the simplicial axis by 1.9 / 1.4."""
    runs = [
        make_run("relational", frames=(19_000,), seconds=(1,), fraction_solved=(0.5,)),
        make_run("simplicial", frames=(14_000,), seconds=(1,), fraction_solved=(0.5,)),
    ]
    groups = group_by_agent(runs)
    scales = time_scales(groups)
    assert scales["relational"] == 1.0
    assert scales["simplicial"] == pytest.approx(1.9 / 1.4)
    x, *_ = curve(groups["simplicial"], "fraction_solved", scale=scales["simplicial"])
    assert x[0] == pytest.approx(19_000)
    assert time_scales({"relational": [make_run(fraction_solved=(0, 0, 0))]}) == {}


def test_puzzle_types_are_found_under_every_name():
    names = {
        "fraction_solved": [1],
        "fraction_solved/None": [1],
        "fraction_solved/(3, 2, 5)": [1],
        "fraction_solved/(1, 1, 2)": [1],
        "fraction_solved_by_length/1": [1],
        "fraction_solved/(2,)": [1],
        "evaluation/fraction_solved/(1, 1, 2)": [1],
        "evaluation/fraction_solved/length 1": [1],
        "evaluation/fraction_solved": [1],
    }
    run = make_run(frames=(1,), **names)
    assert run.type_series(evaluated=False) == {
        (1,): "fraction_solved_by_length/1",
        (1, 1, 2): "fraction_solved/(1, 1, 2)",
        (2,): "fraction_solved/(2,)",
        (3, 2, 5): "fraction_solved/(3, 2, 5)",
    }
    assert list(run.type_series(evaluated=True)) == [(1,), (1, 1, 2)]
    assert [type_name(kind) for kind in ((), (1,), (1, 1, 2))] == [
        "no bridge", "length 1, no bridge", "(1, 1, 2)",
    ]  # fmt: skip


def test_bridge_free_puzzles_of_one_length_are_one_kind():
    """Runs of before and after the series of an only length was given up share a panel."""
    old = {"evaluation/fraction_solved/None": [1], "evaluation/fraction_solved/length 2": [1],
           "evaluation/fraction_solved/(2, 1, 3)": [1]}  # fmt: skip
    new = {name: values for name, values in old.items() if "length" not in name}
    for series in (old, new):
        assert make_run(frames=(1,), **series).type_series(evaluated=True) == {
            (): "evaluation/fraction_solved/None",
            (2, 1, 3): "evaluation/fraction_solved/(2, 1, 3)",
        }


def test_labels_name_the_step_limit():
    assert solved_label([make_run()]) == "fraction solved within 120 steps"
    assert solved_label([make_run(limit=None)]) == "fraction solved without a step limit"
    assert solved_label([make_run(limit=None)], evaluated=True).endswith("within 120 steps")
    both = solved_label([make_run(limit=None), make_run(limit=30)])
    assert both == "fraction solved within 30 steps or without a step limit"


def test_groups_are_sorted_by_agent_and_seed():
    runs = [make_run("simplicial", 1), make_run("relational", 2), make_run("simplicial", 0)]
    groups = group_by_agent(runs)
    assert list(groups) == ["relational", "simplicial"]
    assert [run.seed for run in groups["simplicial"]] == [0, 1]


def settings_run(path, preset="laptop", seed=0, frames=10, **fields):
    return Run("relational", seed, 50, 50, np.array([frames]), np.array([1.0]), {}, path,
               "bridge_boxworld", preset, fields)  # fmt: skip


def test_runs_with_different_settings_have_no_mean(tmp_path):
    runs = [settings_run(tmp_path, gamma=gamma) for gamma in (0.9, 0.95)]
    with pytest.raises(ValueError, match="relational agent that differ in gamma"):
        group_by_agent(runs)


def test_settings_are_what_changes_what_is_learned(tmp_path):
    """Fields of intervals and of the evaluations' size are none; `total_frames` if the rate falls
    towards it; and a run of an earlier version did what the defaults say."""
    from tf_relational.experiments.box_world_config import BoxWorldExperimentConfig

    config = BoxWorldExperimentConfig()
    assert all(hasattr(config, name) for name in NOT_SETTINGS)

    def settings(defaults=None, **fields):
        folder = write(tmp_path / "run", ['{"frames": 1}'], {**CONFIG, "config": fields})
        return read_run(folder, defaults).settings

    assert settings(seed=1, agent="simplicial", report_interval=2.0, gamma=0.5) == {"gamma": 0.5}
    assert settings(total_frames=5, final_learning_rate=None) == {"final_learning_rate": None}
    assert settings(total_frames=5, final_learning_rate=0.1)["total_frames"] == 5
    assert settings({"engine": "rllib"}, gamma=0.5) == settings(engine="rllib", gamma=0.5)
    assert settings({"engine": "rllib"}, engine="compiled") == {"engine": "compiled"}


def test_groups_are_named_by_what_tells_them_apart(tmp_path):
    def names(*runs):
        return {name: len(group) for name, group in group_by_settings(runs).items()}

    laptop, smoke = settings_run(tmp_path, gamma=0.9), settings_run(tmp_path, "smoke", gamma=0.5)
    longer = settings_run(tmp_path, gamma=0.9, solution_length=[1, 3])
    assert names(laptop, settings_run(tmp_path, seed=1, gamma=0.9)) == {"": 2}
    assert names(laptop, smoke, laptop) == {"laptop": 2, "smoke": 1}
    assert names(laptop, longer, smoke) == {
        "laptop_solution_length_None": 1, "laptop_solution_length_1-3": 1, "smoke": 1,
    }  # fmt: skip
    assert names(laptop, settings_run(tmp_path, gamma=0.9, horizon=None)) == {"": 2}
    many = settings_run(tmp_path / "2026-01-02" / "seed_3", gamma=0.9, a=1, b=2, c=3, d=4)
    other = settings_run(tmp_path / "2026-01-01", gamma=0.8, a=1, b=2, c=3)
    assert names(many, other, laptop) == {
        "laptop_as_2026-01-02": 1, "laptop_as_2026-01-01": 1, f"laptop_as_{tmp_path.name}": 1,
    }  # fmt: skip


def test_of_a_repeated_seed_the_run_that_got_furthest_is_kept(tmp_path):
    aborted = settings_run(tmp_path / "a", frames=3)
    whole, again = settings_run(tmp_path / "b"), settings_run(tmp_path / "c")
    other = settings_run(tmp_path / "d", seed=1)
    kept, repeated = one_of_each_seed([aborted, whole, other])
    assert [run.path.name for run in kept] == ["b", "d"]
    assert [(run.path.name, better.path.name) for run, better in repeated] == [("a", "b")]
    kept, _ = one_of_each_seed([whole, again])
    assert [run.path.name for run in kept] == ["c"]
