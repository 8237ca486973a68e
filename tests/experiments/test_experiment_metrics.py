"""Metrics on disk and on the screen, told from hand-made iterations."""

import io
import json
import re

import numpy as np
import pytest

from tf_relational.experiments.evaluation import Episodes
from tf_relational.experiments.iteration_metrics import SolvedWindow, iteration_metrics
from tf_relational.experiments.metrics import MetricsLog, read_metrics, solved_by_type
from tf_relational.experiments.progress import Progress, duration, share


def line(frames, **more):
    return {"frames": frames, "iteration": frames // 10, "wall_time": 0.1 * frames,
            "step_limit": 120, **more}  # fmt: skip


def test_resuming_drops_what_lies_past_the_checkpoint(tmp_path):
    with MetricsLog(tmp_path) as log:
        for frames in (10, 20, 30, 40):
            log.write(line(frames))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"frames": 50, "itera')  # what a kill leaves
    with MetricsLog(tmp_path, resume_at=20) as log:
        log.write(line(30))
    text = (tmp_path / "metrics.jsonl").read_text()
    assert [json.loads(row)["frames"] for row in text.splitlines()] == [10, 20, 30]


def test_a_line_is_on_disk_before_the_next_and_holds_no_nan(tmp_path):
    log = MetricsLog(tmp_path)
    log.write(line(10, entropy=float("nan"), value_loss=float("inf"), fraction_solved=0.5))
    assert read_metrics(tmp_path) == [line(10, entropy=None, value_loss=None, fraction_solved=0.5)]
    log.close()


def test_a_folder_without_metrics_has_none(tmp_path):
    assert read_metrics(tmp_path) == []


def test_tensorboard_tags_name_the_step_limit(tmp_path):
    from tensorboardX.proto.event_pb2 import Event

    with MetricsLog(tmp_path) as log:
        log.write(line(10, **{"fraction_solved": 0.25, "fraction_solved/(1, 1, 2)": 0.5}))
        log.write({**line(20), "step_limit": None, "fraction_solved": 0.75})
    (path,) = tmp_path.glob("events.out.tfevents.*")
    tags = {}
    # A record is its length (8 bytes), a checksum (4), the event and another checksum (4).
    data, offset = path.read_bytes(), 0
    while offset < len(data):
        size = int.from_bytes(data[offset : offset + 8], "little")
        event = Event.FromString(data[offset + 12 : offset + 12 + size])
        offset += 16 + size
        for value in event.summary.value:
            tags[value.tag, event.step] = value.simple_value
    assert tags["fraction_solved_within_120_steps", 10] == 0.25
    assert tags["fraction_solved_within_120_steps/_1__1__2_", 10] == 0.5
    assert tags["fraction_solved_without_limit", 20] == 0.75


def test_window_counts_episodes_not_iterations():
    window = SolvedWindow(least=10)
    assert window.shares() == {}
    window.add({"(1,0,0)": 0.0}, {"(1,0,0)": 9})
    window.add({"(1,0,0)": 1.0, "(1,1,2)": 1.0}, {"(1,0,0)": 3, "(1,1,2)": 4})
    # The first iteration is needed to have 10 of the bridge-free puzzles, and for all of them.
    assert window.shares() == {
        "fraction_solved": pytest.approx(7 / 16),
        "fraction_solved/(1, 1, 2)": 1.0,
        "fraction_solved/None": pytest.approx(3 / 12),
        "fraction_solved_by_length/1": pytest.approx(3 / 12),
    }
    window.add({"(1,0,0)": 1.0}, {"(1,0,0)": 10})
    # Now 13 newer ones are enough, and of all puzzles 17: the first iteration is let go.
    assert window.shares()["fraction_solved/None"] == pytest.approx(1.0)
    assert window.shares()["fraction_solved"] == pytest.approx(1.0)
    again = SolvedWindow(least=10)
    again.set_state(json.loads(json.dumps(window.get_state())))
    assert again.shares() == window.shares()


def test_a_line_names_its_limit_even_when_there_is_none():
    result = {
        "training_iteration": 3,
        "frames": {"sampled": 640, "trained": 600, "dropped": 40},
        "env_runners": {
            "fraction_solved_by_type": {"(2,1,3)": 0.5}, "episodes_by_type": {"(2,1,3)": 2},
            "episode_return_mean": 1.5,
        },
        "learners": {"default_policy": {"entropy": 1.3, "importance_weight_mean": 0.9}},
    }  # fmt: skip
    found = iteration_metrics(result, SolvedWindow(), None, wall_time=2.0)
    assert found["step_limit"] is None
    assert found["fraction_solved/(2, 1, 3)"] == 0.5
    assert (found["frames"], found["trained_frames"], found["wall_time"]) == (640, 600, 2.0)
    assert (found["entropy"], found["importance_weight"]) == (1.3, 0.9)
    assert "curriculum/difficulty" not in found


class Everything(dict):
    """A part of an engine's result that has a number under every name."""

    def get(self, name, default=None):
        return super().get(name, 1.0)


def test_every_key_of_a_line_is_explained():
    rows = re.findall(r"^ *\| (`.*`) \|", MetricsLog.__doc__, re.M)
    explained = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    types = {"(2,1,3)": 0.5, "(2,0,0)": 0.5}
    result = {
        "training_iteration": 3,
        "frames": {"sampled": 640, "trained": 600, "dropped": 40},
        "env_runners": Everything(
            fraction_solved_by_type=types, episodes_by_type=dict.fromkeys(types, 2)
        ),
        "learners": {"default_policy": Everything()},
        **{part: Everything() for part in ("curriculum", "levels", "throughput")},
    }
    written = set(iteration_metrics(result, SolvedWindow(), 120, wall_time=2.0))
    shares = Episodes(np.array([[2, 1, 3], [2, 0, 0], [1, 0, 0]]), 3, np.ones(3), np.ones(3))
    written |= {f"evaluation/fraction_solved/{kind}" for kind in shares.shares()} - {
        "evaluation/fraction_solved/all"
    }
    written |= {"evaluation/fraction_solved", "evaluation/step_limit"}
    general = {"(2, 1, 3)": "(a, b, c)", "length 1": "length a", "length 2": "length a",
               "by_length/2": "by_length/a"}  # fmt: skip
    for one, name in general.items():
        written = {key.replace(one, name) for key in written}
    assert written == explained


def test_plain_lines_come_every_30_seconds():
    stream, now = io.StringIO(), [0.0]
    with Progress("run", 1000, stream=stream, clock=lambda: now[0]) as progress:
        for second in range(0, 100):
            now[0] = float(second)
            progress.show(line(second * 10, frames_per_second=10.0, fraction_solved=0.125))
        progress.show(line(1000, fraction_solved=1.0), last=True)
    lines = stream.getvalue().splitlines()
    assert [text.split("/")[0] for text in lines] == ["0", "300", "600", "900", "1,000"]
    assert lines[1] == "300/1,000 frames, 30 %, 10/s, 1 min 10 s left; solved .125 within 120 steps"
    assert lines[-1].endswith("solved 1.000 within 120 steps")


def test_time_left_is_told_from_the_speed_since_the_first_metrics():
    now = [100.0]
    progress = Progress("run", 1000, stream=io.StringIO(), clock=lambda: now[0])
    assert progress.seconds_left(800) is None
    progress.show(line(800))
    now[0] += 10
    assert progress.seconds_left(800) is None
    assert progress.seconds_left(900) == 10.0


def test_words_for_people():
    assert [share(value) for value in (None, 0, 0.08449, 1)] == ["-", ".000", ".084", "1.000"]
    assert [duration(value) for value in (9.4, 309, 3900)] == ["9 s", "5 min 09 s", "1 h 05 min"]
    found = {"fraction_solved": 0.5, "fraction_solved/None": 0.5}
    assert solved_by_type(found) == {}  # it would say of all puzzles what "all" says
    assert solved_by_type({**found, "fraction_solved/(1, 1, 2)": 0.25}) == {
        "no bridge": 0.5, "bridge (1, 1, 2)": 0.25,
    }  # fmt: skip


def test_the_live_table_holds_what_a_person_watches():
    from rich.console import Console

    progress = Progress("bridge_boxworld, simplicial", 1000)
    metrics = line(500, **{
        "fraction_solved": 0.25, "fraction_solved/(1, 1, 2)": 0.5, "entropy": 1.25,
        "value_loss": 0.5, "gradient_norm": 2.0, "importance_weight": 0.95, "policy_lag": 1.0,
        "curriculum/difficulty": 4, "frames_per_second": 2000.0,
    })  # fmt: skip
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(progress._table(metrics))
    text = console.export_text()
    for word in ("500/1,000 frames", "solved within 120 steps", "bridge (1, 1, 2)", ".500",
                 "Entropy", "1.250", "Difficulty", "2,000"):  # fmt: skip
        assert word in text, word
