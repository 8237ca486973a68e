"""The adaptive part of a start-state curriculum."""

import collections


class Curriculum:
    """Raise the difficulty of start states with success, and lower their share.

    `difficulty` starts at `first_difficulty`. When at least `window` episodes of the curriculum
    have ended since the last raise and more than `threshold` of the last `window` of them
    succeeded (a positive return), it rises by 1 and the window is emptied. The share of episodes
    that begin from the curriculum is::

        probability(D) = clip(p0 (1 - (D - first_difficulty) / span), p_min, p0)

    The state is a few numbers; the algorithm keeps it in its checkpoint and hands `setting()` to
    every environment runner.

    Args:
        p0: share of curriculum episodes at the first difficulty, in [0, 1].
        p_min: share that always remains, in [0, p0].
        span: number of raises over which the share falls to 0 (before `p_min`), at least 1.
        first_difficulty: at least 1.
        max_difficulty: the difficulty stays here once reached, or `None`.
        window: number of episodes looked at, at least 1.
        threshold: share of successes above which the difficulty rises, in [0, 1).
        horizon: step limit of a curriculum episode at difficulty 0, at least 1.
        horizon_growth: steps that each difficulty adds to that limit, at least 0.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> curriculum = Curriculum(window=2, span=10)
        >>> curriculum.record([True, True])
        >>> curriculum.difficulty, round(curriculum.probability, 2)
        (2, 0.81)
    """

    def __init__(
        self,
        p0=0.9,
        p_min=0.0,
        span=14,
        first_difficulty=1,
        max_difficulty=None,
        window=300,
        threshold=0.6,
        horizon=6,
        horizon_growth=2,
    ):
        ranges = {
            "p0": (p0, 0 <= p0 <= 1, "in [0, 1]"),
            "p_min": (p_min, 0 <= p_min <= p0, f"in [0, p0={p0}]"),
            "span": (span, span >= 1, "at least 1"),
            "first_difficulty": (first_difficulty, first_difficulty >= 1, "at least 1"),
            "max_difficulty": (
                max_difficulty,
                max_difficulty is None or max_difficulty >= first_difficulty,
                f"None or at least first_difficulty={first_difficulty}",
            ),
            "window": (window, window >= 1, "at least 1"),
            "threshold": (threshold, 0 <= threshold < 1, "in [0, 1)"),
            "horizon": (horizon, horizon >= 1, "at least 1"),
            "horizon_growth": (horizon_growth, horizon_growth >= 0, "at least 0"),
        }
        for name, (value, fits, allowed) in ranges.items():
            if not fits:
                raise ValueError(f"curriculum: `{name}` must be {allowed}; received {value!r}.")
        self.p0 = p0
        self.p_min = p_min
        self.span = span
        self.first_difficulty = first_difficulty
        self.max_difficulty = max_difficulty
        self.threshold = threshold
        self.horizon = horizon
        self.horizon_growth = horizon_growth
        self.difficulty = first_difficulty
        self.outcomes = collections.deque(maxlen=window)

    @property
    def probability(self):
        """The share of episodes that begin from the curriculum at the present difficulty."""
        share = self.p0 * (1 - (self.difficulty - self.first_difficulty) / self.span)
        return min(max(share, self.p_min), self.p0)

    @property
    def success(self):
        """The share of successes in the window, or NaN when it is empty."""
        return sum(self.outcomes) / len(self.outcomes) if self.outcomes else float("nan")

    def record(self, outcomes):
        """Add the outcomes of finished curriculum episodes, in order.

        Args:
            outcomes: iterable of booleans (success).
        """
        for outcome in outcomes:
            self.outcomes.append(bool(outcome))
            full = len(self.outcomes) == self.outcomes.maxlen
            at_end = self.max_difficulty is not None and self.difficulty >= self.max_difficulty
            if full and self.success > self.threshold and not at_end:
                self.difficulty += 1
                self.outcomes.clear()

    def setting(self):
        """Return the keyword arguments of an environment's `set_curriculum`."""
        return {
            "probability": self.probability,
            "difficulty": self.difficulty,
            "horizon": self.horizon + self.horizon_growth * self.difficulty,
        }

    def get_state(self):
        """Return the changing part as plain data."""
        return {"difficulty": self.difficulty, "outcomes": list(self.outcomes)}

    def set_state(self, state):
        """Take over what `get_state` returned."""
        self.difficulty = int(state["difficulty"])
        self.outcomes.clear()
        self.outcomes.extend(bool(outcome) for outcome in state["outcomes"])
