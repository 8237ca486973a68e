"""What stands in the pictures: drawn data against the data given, and files that can be read."""

import json

import numpy as np
import pytest
from PIL import Image

from tf_relational import analysis
from tf_relational.analysis import (
    attention_figures,
    canvas,
    curves,
    evaluation_figure,
    make_figures,
)
from tf_relational.analysis.attention import attention_of, simplicial_columns, virtual_on_board
from tf_relational.analysis.episode import record
from tf_relational.analysis.figures import NothingToDraw, figures_of_model, last_model, task_of
from tf_relational.analysis.gif import TILE, attention_panels, episode_gif
from tf_relational.analysis.runs import read_run
from tf_relational.analysis.scripted_player import ScriptedPlayer
from tf_relational.envs import BRIDGE, STANDARD, generate


@pytest.fixture(scope="module")
def episode():
    level = generate(BRIDGE, 1, np.random.default_rng(2))[0]
    return record(ScriptedPlayer(), level, step_limit=12)


@pytest.fixture(scope="module")
def agents():
    from tf_relational.models import build_agent

    built = {name: build_agent(name) for name in ("relational", "simplicial")}
    for agent in built.values():
        agent(np.zeros((1, 7, 10, 3), np.uint8))
    return built


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved, to look inside, with their titles and captions."""
    kept = []

    def save(figure, path, title, caption):
        kept.append((figure, title, caption))
        return canvas.save(figure, path, title, caption)

    monkeypatch.setattr(attention_figures, "save", save)
    monkeypatch.setattr(curves, "save", save)
    monkeypatch.setattr(evaluation_figure, "save", save)
    return kept


def images(figure):
    return [np.asarray(image.get_array()) for axes in figure.axes for image in axes.get_images()]


def run_folder(root, agent, seed, scale=1.0, preset="laptop", **more):
    folder = root / f"{agent}{seed}{'' if preset == 'laptop' else preset}"
    folder.mkdir()
    fields = {"agent": agent, "seed": seed, "horizon": 120, "evaluation_step_limit": 60,
              "rows": 7, "columns": 9, "solution_length": [1, 1], **more}  # fmt: skip
    config = {"experiment": "bridge_boxworld", "preset": preset, "config": fields}
    (folder / "config.json").write_text(json.dumps(config))
    with (folder / "metrics.jsonl").open("w") as file:
        for step in range(1, 11):
            share = min(1.0, 0.1 * step * scale)
            line = {"frames": 100 * step, "wall_time": step * scale, "step_limit": 120,
                    "fraction_solved": share, "fraction_solved/(1, 1, 2)": share / 2,
                    "fraction_solved_by_length/1": share}  # fmt: skip
            file.write(json.dumps(line) + "\n")
    return folder


def lines_of(axes):
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_the_mean_curve_shows_the_mean_the_limit_and_the_references(tmp_path, drawn):
    runs = [read_run(run_folder(tmp_path, "simplicial", k, s)) for k, s in ((0, 1.0), (1, 0.5))]
    path = curves.draw_mean_curves(runs, tmp_path / "a" / "mean.png", references={"random": 0.084})
    figure, title, caption = drawn[0]
    (axes,) = figure.axes
    assert axes.get_ylabel() == "fraction solved within 120 steps"
    assert axes.get_xlabel() == "environment frames"
    lines = lines_of(axes)
    expected = [0.1 * step * 0.75 for step in range(1, 11)]
    np.testing.assert_allclose(lines["simplicial (2 seeds)"][:, 1], expected)
    np.testing.assert_allclose(lines["random: 0.084"][:, 1], 0.084)
    assert "standard deviation" in caption
    assert len(axes.collections) == 1
    with Image.open(path) as image:
        assert image.format == "PNG" and image.width == 7.5 * canvas.DOTS_PER_INCH
        assert np.asarray(image).std() > 10


def test_one_seed_has_no_band(tmp_path, drawn):
    run = read_run(run_folder(tmp_path, "relational", 0))
    curves.draw_mean_curves([run], tmp_path / "mean.png")
    figure, _, caption = drawn[0]
    assert not figure.axes[0].collections and "deviation" not in caption
    assert list(lines_of(figure.axes[0])) == ["relational (1 seed)"]


def test_the_time_adjusted_curve_stretches_the_slower_agent(tmp_path, drawn):
    runs = [
        read_run(run_folder(tmp_path, "relational", 0, 1.0)),
        read_run(run_folder(tmp_path, "simplicial", 0, 2.0)),
    ]
    curves.draw_mean_curves(runs, tmp_path / "time.png", time_adjusted=True)
    lines = lines_of(drawn[0][0].axes[0])
    fast = lines["relational (1 seed), frames x 1.00"]
    slow = lines["simplicial (1 seed), frames x 2.00"]
    np.testing.assert_allclose(slow[:, 0], 2 * fast[:, 0])
    assert "equal wall time" in drawn[0][0].axes[0].get_xlabel()


def test_a_time_adjusted_curve_needs_times(tmp_path):
    folder = run_folder(tmp_path, "relational", 0)
    (folder / "metrics.jsonl").write_text('{"frames": 1, "fraction_solved": 0.5}')
    with pytest.raises(ValueError, match="without wall time"):
        curves.draw_mean_curves([read_run(folder)], tmp_path / "x.png", time_adjusted=True)


def test_every_seed_has_its_line(tmp_path, drawn):
    runs = [read_run(run_folder(tmp_path, "simplicial", k, 1 / (k + 1))) for k in range(3)]
    curves.draw_single_curves(runs, tmp_path / "single.png")
    lines = lines_of(drawn[0][0].axes[0])
    for k in range(3):
        expected = [0.1 * step / (k + 1) for step in range(1, 11)]
        np.testing.assert_allclose(lines[f"simplicial, seed {k}"][:, 1], expected)


def test_every_puzzle_type_has_its_panel(tmp_path, drawn):
    runs = [read_run(run_folder(tmp_path, a, 0)) for a in ("relational", "simplicial")]
    curves.draw_type_curves(runs, tmp_path / "types.png")
    figure, _, caption = drawn[0]
    panels = {axes.get_title(): lines_of(axes) for axes in figure.axes}
    assert list(panels) == ["length 1, no bridge", "(1, 1, 2)"]
    expected = [0.05 * step for step in range(1, 11)]
    for agent in ("relational", "simplicial"):
        np.testing.assert_allclose(panels["(1, 1, 2)"][agent][:, 1], expected)
    assert caption.startswith("Training episodes")
    with pytest.raises(ValueError, match="none tells"):
        curves.draw_type_curves([], tmp_path / "none.png")


def evaluation(limit=120):
    def shares(mean):
        entry = {"mean": mean, "low": mean / 2, "high": (1 + mean) / 2, "episodes": 100}
        return {"fraction_solved": {"all": entry, "(1, 1, 2)": {**entry, "mean": 0.75 * mean}}}

    played = {"sampled": shares(0.9), "scripted": shares(1.0), "random": shares(0.08)}
    return {"step_limit": limit, "frames": 1000, **played}


def test_a_mark_without_the_limit_is_told_on_the_axis(tmp_path, drawn):
    found = evaluation(limit=10)
    found["random_without_limit"] = found["random"]
    evaluation_figure.draw_evaluation(found, tmp_path / "e.png")
    assert drawn[0][0].axes[0].get_xlabel() == (
        'fraction solved within 10 steps (but for "uniform random, no step limit")'
    )


def test_an_evaluation_is_drawn_with_its_intervals(tmp_path, drawn):
    path = evaluation_figure.draw_evaluation(evaluation(), tmp_path / "e.png", "Here.")
    figure, _, caption = drawn[0]
    (axes,) = figure.axes
    assert axes.get_xlabel() == "fraction solved within 120 steps"
    shown = {}
    for container in axes.containers:
        (line, _, (bars,)) = container.lines
        shown[container.get_label()] = line.get_xdata().tolist()
        ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
        if container.get_label() == "agent, sampled":
            np.testing.assert_allclose(ends, [[0.45, 0.95], [0.45, 0.95]])
    assert shown == {
        "agent, sampled": [0.9, 0.675],
        "scripted player": [1.0, 0.75],
        "uniform random": [0.08, 0.06],
    }
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["all\n100 episodes", "(1, 1, 2)\n100 episodes"]
    assert caption.endswith("Here.")
    with Image.open(path) as image:
        image.verify()
    with pytest.raises(ValueError, match="expected one of"):
        evaluation_figure.draw_evaluation({"step_limit": 3}, tmp_path / "e.png")


def test_an_evaluated_run_has_its_yardsticks_in_the_curve(tmp_path, drawn):
    folder = run_folder(tmp_path, "relational", 0)
    (folder / "evaluation.json").write_text(json.dumps(evaluation()))
    other = run_folder(tmp_path, "relational", 1)
    (other / "evaluation.json").write_text(json.dumps(evaluation(limit=None)))
    files = make_figures([other, folder], tmp_path / "figures")
    labels = list(lines_of(drawn[0][0].axes[0]))
    assert labels[1:] == ["scripted player: 1.000", "uniform random: 0.080"]
    names = [path.relative_to(tmp_path / "figures").as_posix() for path in files]
    assert names[-2:] == ["relational_seed1/evaluation.png", "relational_seed0/evaluation.png"]


def test_without_a_limit_the_curve_tells_what_chance_solves(tmp_path, drawn):
    folder = run_folder(tmp_path, "relational", 0)
    lines = (folder / "metrics.jsonl").read_text()
    lines = lines.replace('"step_limit": 120', '"step_limit": null')
    (folder / "metrics.jsonl").write_text(lines)
    found = evaluation()
    entry = {"mean": 0.77, "low": 0.7, "high": 0.8, "episodes": 9}
    unlimited = dict.fromkeys(found["random"]["fraction_solved"], entry)
    found["random_without_limit"] = {"fraction_solved": unlimited}
    (folder / "evaluation.json").write_text(json.dumps(found))
    make_figures([folder], tmp_path / "figures")
    (axes,) = drawn[0][0].axes
    assert list(lines_of(axes))[1:] == ["uniform random, no step limit: 0.770"]
    assert axes.get_ylabel() == "fraction solved without a step limit"


def test_evaluations_have_a_curve_of_their_own_limit(tmp_path, drawn):
    folder = run_folder(tmp_path, "relational", 0)
    with (folder / "metrics.jsonl").open("a") as file:
        for frames, share in ((1100, 0.25), (1200, 0.5)):
            line = {"frames": frames, "evaluation/fraction_solved": share}
            file.write(json.dumps(line) + "\n")
    (folder / "evaluation.json").write_text(json.dumps(evaluation(limit=60)))
    files = make_figures([folder], tmp_path / "figures")
    place = [path.name for path in files].index("evaluation_curve.png")
    (axes,) = drawn[place][0].axes
    lines = lines_of(axes)
    assert axes.get_ylabel() == "fraction solved within 60 steps"
    np.testing.assert_allclose(lines["relational (1 seed)"], [[1100, 0.25], [1200, 0.5]])
    assert "scripted player: 1.000" in lines
    assert "scripted player: 1.000" not in lines_of(drawn[0][0].axes[0])


def test_evaluations_of_every_kept_model_have_their_intervals(tmp_path, drawn):
    found = {**evaluation(), "curve": [
        {"frames": 10, "sampled": evaluation()["sampled"]},
        {"frames": 20, "sampled": evaluation()["random"]},
    ]}  # fmt: skip
    path = evaluation_figure.draw_evaluations_by_type(found, tmp_path / "e.png")
    figure, _, _ = drawn[0]
    panel = figure.axes[1]
    assert panel.get_title() == "(1, 1, 2), 100 episodes"
    (container,) = panel.containers
    line, _, (bars,) = container.lines
    np.testing.assert_allclose(line.get_xydata(), [[10, 0.675], [20, 0.06]])
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.45, 0.95], [0.04, 0.54]])
    with Image.open(path) as image:
        image.verify()
    with pytest.raises(ValueError, match="a curve is needed"):
        evaluation_figure.draw_evaluations_by_type(evaluation(), tmp_path / "e.png")


def test_the_standard_attention_is_drawn_as_it_is(agents, episode, tmp_path, drawn):
    observation = episode.observations[3]
    path = attention_figures.draw_standard_attention(
        agents["relational"], observation, tmp_path / "s.png", block=1, description="Untrained."
    )
    attention = attention_of(agents["relational"], observation)["block_1/standard"]
    figure, title, caption = drawn[0]
    board, first, second = (image for image in images(figure)[:3])
    np.testing.assert_array_equal(board, observation)
    np.testing.assert_array_equal(first, attention[0])
    np.testing.assert_array_equal(second, attention[1])
    assert figure.axes[1].get_ylabel() == "query entity i"
    assert figure.axes[1].get_xlabel() == "key entity j"
    assert "block 2" in title and caption.endswith("Untrained.")
    with Image.open(path) as image:
        assert image.format == "PNG" and min(image.size) > 400


def test_the_simplicial_attention_is_drawn_as_it_is(agents, episode, tmp_path, drawn):
    observation = episode.observations[5]
    path = attention_figures.draw_simplicial_attention(
        agents["simplicial"], observation, tmp_path / "s.png", threshold=0.2
    )
    attention = attention_of(agents["simplicial"], observation)
    weights, pixels = virtual_on_board(attention, observation, factor=2.0)
    figure, _, caption = drawn[0]
    shown = [i for i in images(figure) if i.shape[0] > 1]
    np.testing.assert_array_equal(shown[0], observation)
    overlays = [i for i in shown if i.shape == (5, 8, 3)]
    expected = [pixels[h, z] / weights[h, z].max() for z in range(2) for h in range(2)]
    np.testing.assert_allclose(overlays, expected)
    strips = [i for i in shown if i.ndim == 2 and len(i) <= 4]
    np.testing.assert_array_equal(strips[0], attention["block_0/virtual"][0])
    np.testing.assert_array_equal(strips[1], attention["block_0/virtual"][1])
    np.testing.assert_array_equal(strips[2], simplicial_columns(attention)[0])
    assert "sharpened here (logits times 2)" in caption
    with Image.open(path) as image:
        assert image.format == "PNG" and min(image.size) > 800


def test_the_gif_shows_every_observation(agents, episode, tmp_path):
    path = episode_gif(agents["simplicial"], episode, tmp_path / "e.gif", "untrained")
    with Image.open(path) as gif:
        assert gif.n_frames == len(episode.observations)
        for number in (0, 4, gif.n_frames - 1):
            gif.seek(number)
            frame = np.asarray(gif.convert("RGB")).astype(int)
            rows, columns = episode.observations.shape[1:3]
            middle = 12 + TILE // 2
            tiles = frame[middle : middle + rows * TILE : TILE][:rows]
            tiles = tiles[:, middle : middle + columns * TILE : TILE][:, :columns]
            assert abs(tiles - episode.observations[number]).max() < 16


def test_the_panels_beside_the_board(agents, episode):
    observation = episode.observations[2]
    attention = attention_of(agents["relational"], observation)
    panels = attention_panels(attention, observation)
    assert [title for title, _ in panels] == [
        "1-simplicial, block 1, head 1", "1-simplicial, block 1, head 2",
    ]  # fmt: skip
    np.testing.assert_array_equal(panels[1][1], attention["block_0/standard"][1])
    attention = attention_of(agents["simplicial"], observation)
    panels = attention_panels(attention, observation)
    assert [title for title, _ in panels[:2]] == ["virtual 1, head 1", "virtual 1, head 2"]
    weights, pixels = virtual_on_board(attention, observation)
    np.testing.assert_allclose(panels[1][1], pixels[1, 0] / weights[1, 0].max())
    np.testing.assert_array_equal(panels[-1][1], simplicial_columns(attention)[0])


def test_all_figures_of_runs(agents, tmp_path):
    folders = [run_folder(tmp_path, "relational", 0), run_folder(tmp_path, "relational", 1)]
    folders.append(run_folder(tmp_path, "simplicial", 0))
    files = make_figures(folders, tmp_path / "figures")
    names = [path.name for path in files]
    assert names == [
        "training_curve.png",
        "training_curve_relational.png",
        "training_curve_time_adjusted.png",
        "fraction_by_type.png",
    ]
    for path in files:
        with Image.open(path) as image:
            image.verify()
    with pytest.raises(ValueError, match="neither metrics nor a model"):
        make_figures([tmp_path / "nowhere"], tmp_path / "figures")


def curve_labels(drawn):
    return [
        list(lines_of(figure.axes[0])) for figure, title, _ in drawn if title == "Training curves"
    ]


def test_runs_with_different_settings_are_drawn_apart(tmp_path, drawn, capsys):
    """A laptop run and a smoke run of the same seed are no two seeds, and keep their pictures."""
    laptop = run_folder(tmp_path, "relational", 0)
    smoke = run_folder(tmp_path, "relational", 0, 0.5, "smoke", evaluation_step_limit=10)
    for folder in (laptop, smoke):
        limit = 60 if folder == laptop else 10
        (folder / "evaluation.json").write_text(json.dumps(evaluation(limit)))
    files = make_figures([laptop, smoke], tmp_path / "figures")
    assert len(set(files)) == len(files)
    names = [path.relative_to(tmp_path / "figures").as_posix() for path in files]
    assert names == [
        f"{preset}/{name}"
        for preset in ("laptop", "smoke")
        for name in (
            "training_curve.png",
            "fraction_by_type.png",
            "relational_seed0/evaluation.png",
        )
    ]
    assert curve_labels(drawn) == [["relational (1 seed)"]] * 2
    assert [figure.axes[0].get_ylabel() for figure, *_ in drawn[::3]] == [
        "fraction solved within 120 steps"
    ] * 2
    told = capsys.readouterr().out
    assert f"{tmp_path / 'figures' / 'smoke'}: {smoke}" in told


def test_a_repeated_run_is_no_seed_and_overwrites_nothing(tmp_path, drawn, capsys):
    first = run_folder(tmp_path, "relational", 0)
    (tmp_path / "second").mkdir()
    again = run_folder(tmp_path / "second", "relational", 0, 0.5)
    lines = (again / "metrics.jsonl").read_text().splitlines()
    (again / "metrics.jsonl").write_text("\n".join(lines[:3]))
    for folder in (first, again):
        (folder / "evaluation.json").write_text(json.dumps(evaluation()))
    files = make_figures([first, again], tmp_path / "figures")
    assert len(set(files)) == len(files)
    assert curve_labels(drawn)[0][0] == "relational (1 seed)"
    assert f"left out {again}" in capsys.readouterr().out
    curves.draw_mean_curves([read_run(first), read_run(again)], tmp_path / "mean.png")
    assert list(lines_of(drawn[-1][0].axes[0])) == ["relational (1 seed, 2 runs)"]


@pytest.mark.parametrize("text", ["", '{"frames": null}\n{"fram', None])
def test_a_run_that_measured_nothing_is_left_out(tmp_path, drawn, capsys, text):
    good, aborted = (run_folder(tmp_path, "relational", seed) for seed in (0, 1))
    path = aborted / "metrics.jsonl"
    path.unlink() if text is None else path.write_text(text)
    make_figures([aborted, good], tmp_path / "figures")
    assert curve_labels(drawn) == [["relational (1 seed)"]]
    assert f"left out {aborted}: neither metrics nor a model" in capsys.readouterr().out
    with pytest.raises(NothingToDraw, match="neither metrics nor a model"):
        make_figures([aborted], tmp_path / "figures")


def test_one_kind_of_puzzle_has_no_figure_by_type(tmp_path):
    folder = run_folder(tmp_path, "relational", 0)
    text = (folder / "metrics.jsonl").read_text().replace("(1, 1, 2)", "None")
    (folder / "metrics.jsonl").write_text(text)
    assert [path.name for path in make_figures([folder], tmp_path / "figures")] == [
        "training_curve.png"
    ]


def test_the_curve_of_the_kept_models_is_drawn_from_its_own_file(tmp_path, drawn):
    folder = run_folder(tmp_path, "relational", 0)
    (folder / "evaluation.json").write_text(json.dumps(evaluation(limit=50)))
    curve = {"step_limit": 10, "curve": [{"frames": 10, "sampled": evaluation()["sampled"]}]}
    (folder / "evaluation_curve.json").write_text(json.dumps(curve))
    files = make_figures([folder], tmp_path / "figures")
    place = [path.name for path in files].index("evaluation_by_type.png")
    assert drawn[place][0].get_supylabel() == "fraction solved within 10 steps"


def test_figures_of_a_saved_model(agents, tmp_path):
    folder = run_folder(tmp_path, "simplicial", 4)
    (folder / "metrics.jsonl").unlink()
    kept = folder / "checkpoints" / "agents"
    kept.mkdir(parents=True)
    agents["simplicial"].save(kept / "0.keras")
    assert last_model(folder) == (kept / "0.keras", 0)
    files = figures_of_model(
        agents["simplicial"], task_of(folder), tmp_path / "out", step_limit=6, description="Here."
    )
    assert [path.name for path in files] == [
        "standard_attention.png", "simplicial_attention.png", "episode.gif", "proof.txt",
    ]  # fmt: skip
    report = (tmp_path / "out" / "proof.txt").read_text()
    assert report.startswith("Here. It solved none of 10 fresh levels within 6 steps.\n\nSequent")


def test_the_model_shown_is_the_best_or_the_last(tmp_path):
    assert last_model(tmp_path) is None
    checkpoints = tmp_path / "checkpoints"
    # Folders are numbered by iteration; the manifest tells the frames.
    for iteration, frames in ((9, 12_800), (10, 640)):
        folder = checkpoints / f"{iteration:06d}"
        folder.mkdir(parents=True)
        (folder / "agent.keras").touch()
        (folder / "manifest.json").write_text(json.dumps({"extra": {"frames": frames}}))
    (checkpoints / "agents").mkdir()
    (checkpoints / "agents" / "000000001280.keras").touch()
    assert last_model(tmp_path) == (checkpoints / "000009" / "agent.keras", 12_800)
    for broken in ("", "[]", '{"extra": {}}', '{"extra": null}'):
        (checkpoints / "000010" / "manifest.json").write_text(broken)
        assert last_model(tmp_path) == (checkpoints / "000009" / "agent.keras", 12_800)
    (checkpoints / "best.keras").touch()
    assert last_model(tmp_path) == (checkpoints / "best.keras", None)
    (checkpoints / "best.json").write_text('{"frames": 6400}')
    assert last_model(tmp_path) == (checkpoints / "best.keras", 6400)


def test_the_task_of_a_run(tmp_path):
    task = task_of(run_folder(tmp_path, "relational", 0))
    assert (task.gem_locks, task.rows, task.solution_length) == (2, 7, (1, 1))
    other = {"experiment": "boxworld", "config": {"distractors": [1, 2], "agent": "relational"}}
    (tmp_path / "config.json").write_text(json.dumps(other))
    assert task_of(tmp_path) == STANDARD.__class__(distractors=(1, 2))


def test_every_name_handed_on_exists():
    for name in analysis.__all__:
        assert getattr(analysis, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        analysis.nothing  # noqa: B018
