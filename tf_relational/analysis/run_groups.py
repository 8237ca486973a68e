"""Which runs of a folder belong into one set of figures: those that differ in agent and seed only.

A mean over runs with different settings is a mean of nothing, so such runs are drawn apart.
"""

import json
import re
from collections.abc import Iterable

from tf_relational.analysis.runs import Run, differences

MOST_NAMED = 3
"""Settings that the name of a group tells at most; beyond them it is named after a run."""


def group_by_settings(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Name -> runs of the same experiment and settings; the name of an only group is empty.

    A name is the preset, where that tells the groups apart, and else the preset and the settings
    that do: `laptop_learning_rate_0.001`.

    >>> import numpy as np
    >>> runs = [
    ...     Run("relational", 0, 50, 50, np.empty(0), np.empty(0), preset="laptop", settings=fields)
    ...     for fields in ({"gamma": 0.9}, {"gamma": 0.95}, {"gamma": 0.9})
    ... ]
    >>> {name: len(group) for name, group in group_by_settings(runs).items()}
    {'laptop_gamma_0.9': 2, 'laptop_gamma_0.95': 1}
    """
    found = {}
    for run in runs:
        # A field that is missing says as little as one that is None.
        settings = {name: value for name, value in run.settings.items() if value is not None}
        key = run.experiment, json.dumps(settings, sort_keys=True)
        found.setdefault(key, []).append(run)
    groups = list(found.values())
    if len(groups) == 1:
        return {"": groups[0]}
    several = len({group[0].experiment for group in groups}) > 1
    heads = [_head(group[0], several) for group in groups]
    named = {}
    for group, head in zip(groups, heads, strict=True):
        rivals = [other[0] for other, its in zip(groups, heads, strict=True) if its == head]
        name = first = _safe("_".join([head, *_tail(group[0], rivals)]))
        number = 1
        while name in named:
            number += 1
            name = f"{first}_{number}"
        named[name] = group
    return named


def one_of_each_seed(runs: Iterable[Run]) -> tuple[list[Run], list[tuple[Run, Run]]]:
    """Runs of one group without those that repeat an agent and a seed.

    Of the same agent and seed the run with the most frames is kept, and of equal ones the last.

    Returns:
        The runs kept, in their order, and each that was left out with the one kept instead.
    """
    runs, kept = list(runs), {}
    for run in runs:
        known = kept.get((run.agent, run.seed))
        if known is None or _reached(run) >= _reached(known):
            kept[run.agent, run.seed] = run
    repeated = [(run, kept[run.agent, run.seed]) for run in runs]
    repeated = [(run, other) for run, other in repeated if run is not other]
    return [run for run in runs if kept[run.agent, run.seed] is run], repeated


def _reached(run):
    return run.frames.max() if len(run.frames) else -1


def _head(run, several):
    words = [run.experiment] if several and run.experiment else []
    return "_".join([*words, run.preset or "runs"])


def _tail(run, rivals):
    if len(rivals) == 1:
        return []
    names = differences(rivals)
    if len(names) > MOST_NAMED:
        path = run.path.parent if run.path.name.startswith("seed_") else run.path
        return ["as", path.name]
    return [f"{name}_{_plain(run.settings.get(name))}" for name in names]


def _plain(value):
    return "-".join(map(_plain, value)) if isinstance(value, list) else str(value)


def _safe(name):
    return re.sub(r"[^\w.+-]+", "-", name)
