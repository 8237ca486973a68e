import math

import pytest

from tf_relational.rl.curriculum import Curriculum


def test_difficulty_rises_after_a_full_window_of_success_only():
    curriculum = Curriculum(window=10, threshold=0.7)
    curriculum.record([True] * 6 + [False] * 3)
    assert curriculum.difficulty == 1 and curriculum.success == pytest.approx(2 / 3)
    curriculum.record([True])  # 7 of 10 is not above the threshold
    assert curriculum.difficulty == 1 and curriculum.success == 0.7
    curriculum.record([True] * 6)  # what leaves the window was a success as well
    assert curriculum.difficulty == 1 and curriculum.success == 0.7
    curriculum.record([True])  # a failure leaves it
    assert curriculum.difficulty == 2 and math.isnan(curriculum.success)


def test_window_is_emptied_by_a_raise():
    curriculum = Curriculum(window=3)
    curriculum.record([True] * 5)
    assert curriculum.difficulty == 2 and list(curriculum.outcomes) == [True, True]


def test_probability_falls_with_difficulty_within_its_bounds():
    curriculum = Curriculum(
        p0=0.8, p_min=0.1, span=4, window=1, first_difficulty=2, horizon=3, horizon_growth=4
    )
    seen = [curriculum.probability]
    for _ in range(5):
        curriculum.record([True])
        seen.append(curriculum.probability)
    assert seen == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.1, 0.1])
    assert curriculum.setting() == {"probability": 0.1, "difficulty": 7, "horizon": 3 + 4 * 7}


def test_last_difficulty():
    curriculum = Curriculum(window=1, max_difficulty=2)
    curriculum.record([True] * 5)
    assert curriculum.difficulty == 2


def test_state_round_trip():
    curriculum = Curriculum(window=5)
    curriculum.record([True, True, True, True, True, False, True])
    again = Curriculum(window=5)
    again.set_state(curriculum.get_state())
    assert again.setting() == curriculum.setting()
    for c in (curriculum, again):
        c.record([True, True, True])
    assert again.difficulty == curriculum.difficulty == 3


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"p0": 1.5}, r"`p0` must be in \[0, 1\]; received 1.5"),
        ({"p_min": 0.95}, r"`p_min` must be in \[0, p0=0.9\]; received 0.95"),
        ({"window": 0}, r"`window` must be at least 1; received 0"),
        ({"threshold": 1}, r"`threshold` must be in \[0, 1\); received 1"),
        ({"max_difficulty": 0}, r"`max_difficulty` must be None or at least first_difficulty=1"),
    ],
)
def test_arguments_out_of_range(arguments, words):
    with pytest.raises(ValueError, match=words):
        Curriculum(**arguments)
