"""Wilson's interval against its definition: where the score test is just not rejected."""

import math

import pytest

from tf_relational.experiments.intervals import wilson


@pytest.mark.parametrize(("successes", "trials"), [(1, 3), (8, 100), (50, 100), (953, 1000)])
def test_bounds_solve_the_score_equation(successes, trials):
    share = successes / trials
    for bound in wilson(successes, trials):
        score = abs(share - bound) / math.sqrt(bound * (1 - bound) / trials)
        assert score == pytest.approx(1.959964, rel=1e-6)


def test_certain_shares_still_have_a_width():
    low, high = wilson(0, 100)
    assert low == 0.0 and high == pytest.approx(0.03699, abs=1e-5)
    low, high = wilson(100, 100)
    assert high == 1.0 and low == pytest.approx(1 - 0.03699, abs=1e-5)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 2)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ValueError, match="successes must lie between"):
        wilson(successes, trials)
