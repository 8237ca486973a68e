"""How sure a share is: Wilson's interval for a binomial proportion."""

from __future__ import annotations

import math

_Z = 1.959963984540054  # the normal distribution's 97.5 % point


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Returns the 95 % Wilson score interval of a share.

    With p = successes / trials and z = 1.96::

        (p + z^2 / 2n  +-  z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)

    Unlike p +- 2 standard errors it stays within 0 and 1 and has a width at shares 0 and 1.

    Raises:
        ValueError: not 0 <= successes <= trials with at least one trial.

    Source: Wilson 1927, *Probable inference, the law of succession, and statistical inference*.

    Example:
        >>> low, high = wilson(90, 100)
        >>> round(low, 3), round(high, 3)
        (0.826, 0.945)
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(
            f"successes must lie between 0 and trials >= 1, got {successes} of {trials}"
        )
    share = successes / trials
    scale = 1 + _Z**2 / trials
    middle = share + _Z**2 / (2 * trials)
    half = _Z * math.sqrt(share * (1 - share) / trials + _Z**2 / (4 * trials**2))
    # At the ends the bounds are 0 and 1 but for rounding.
    low = (middle - half) / scale if successes else 0.0
    high = (middle + half) / scale if successes < trials else 1.0
    return low, high
