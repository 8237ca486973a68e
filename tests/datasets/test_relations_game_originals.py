"""Files as DeepMind wrote them, whole and damaged."""

import tracemalloc

import numpy as np
import pytest

from tests.datasets import relations_game_pixels as pixels
from tf_relational.datasets.relations_game import generate, judge, read_npz, read_original


def write(path, examples, *, compressed=True, dtype=np.int64):
    """A file in DeepMind's form: int64, labels and tasks as columns."""
    save = np.savez_compressed if compressed else np.savez
    save(
        path,
        images=examples["image"].astype(dtype),
        labels=examples["label"][:, None],
        tasks=examples["task"][:, None],
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_round_trip(compressed, tmp_path, monkeypatch):
    monkeypatch.setattr("tf_relational.datasets.relations_game.originals.PIECE", 40)
    examples = generate("column_patterns_3", "stripes", 101, 0)
    write(tmp_path / "3task_col_patts_stripes.npz", examples, compressed=compressed)
    for found in (
        read_npz(tmp_path / "3task_col_patts_stripes.npz"),
        read_original(tmp_path, "column_patterns_3", "stripes"),
    ):
        assert found.keys() == examples.keys()
        for name, array in examples.items():
            assert found[name].dtype == array.dtype and np.array_equal(found[name], array)


def test_deepminds_pictures_come_through(tmp_path):
    with np.load(pixels.GOLDEN) as arrays:
        parts = {"image": "images", "label": "labels", "task": "tasks"}
        examples = {
            name: arrays[f"3task_col_patts_hexos_{part}"].astype(np.int64)
            for name, part in parts.items()
        }
    write(tmp_path / "file.npz", examples)
    found = read_npz(tmp_path / "file.npz")
    names = pixels.ORIGINALS["3task_col_patts"]
    for image, task, label in zip(found["image"], found["task"], found["label"], strict=True):
        assert judge(image, names[task]) == label


def test_the_whole_is_never_in_memory_as_int64(tmp_path, monkeypatch):
    monkeypatch.setattr("tf_relational.datasets.relations_game.originals.PIECE", 50)
    write(tmp_path / "file.npz", generate("same", "hexos", 2000, 0))
    tracemalloc.start()
    image = read_npz(tmp_path / "file.npz")["image"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * image.nbytes  # eight times as much as int64


def test_names_of_files(tmp_path):
    write(tmp_path / "1task_between_hexos.npz", generate("between", "hexos", 5, 0))
    assert len(read_original(tmp_path, "between", "hexos")["label"]) == 5
    message = r"none of 1task_match_patt_hexos.npz, .*there: 1task_between_hexos.npz"
    with pytest.raises(FileNotFoundError, match=message):
        read_original(tmp_path, "match_rows", "hexos")
    with pytest.raises(ValueError, match="task is one of same, between, .* got 'row_aba'"):
        read_original(tmp_path, "row_aba", "hexos")
    with pytest.raises(ValueError, match="object_set is one of"):
        read_original(tmp_path, "same", "octos")


def test_refuses_other_files(tmp_path):
    path = tmp_path / "file.npz"
    examples = generate("same", "hexos", 20, 0)

    np.savez(path, images=examples["image"])
    with pytest.raises(ValueError, match=r"holds images, labels and tasks, got \['images'\]"):
        read_npz(path)

    write(path, {**examples, "label": examples["label"][:7]})
    with pytest.raises(ValueError, match="as many images as labels and tasks, got 20, 7 and 20"):
        read_npz(path)

    write(path, {**examples, "image": examples["image"] / 256}, dtype=np.float64)
    with pytest.raises(ValueError, match=r"images is \[n, 36, 36, 3\] integers .* float64"):
        read_npz(path)

    write(path, {**examples, "image": examples["image"][:, :35]})
    with pytest.raises(ValueError, match=r"got \[20, 35, 36, 3\] int64"):
        read_npz(path)

    write(path, {**examples, "image": examples["image"].astype(np.int64) + 100})
    with pytest.raises(ValueError, match="images are 0 to 255, got 100 to 292"):
        read_npz(path)


def test_refuses_a_file_that_breaks_off(tmp_path):
    path = tmp_path / "file.npz"
    write(path, generate("same", "hexos", 20, 0))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is no whole .npz file"):
        read_npz(path)
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "nothing.npz")
