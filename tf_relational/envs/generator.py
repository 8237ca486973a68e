"""Random levels, many at once."""

from __future__ import annotations

import colorsys
import functools

import numpy as np

from .config import BoxWorldConfig
from .level import GEM, PuzzleType
from .levels import Levels


@functools.lru_cache
def palette(num_colours: int = 20) -> np.ndarray:
    """``[num_colours, 3]`` uint8: hues at equal steps, saturation .7, value .8.

    >>> palette(20)[0].tolist()
    [204, 61, 61]
    """
    hues = [colorsys.hsv_to_rgb(k / num_colours, 0.7, 0.8) for k in range(num_colours)]
    colours = np.round(np.array(hues) * 255).astype(np.uint8)
    colours.flags.writeable = False
    return colours


def generate(config: BoxWorldConfig, batch: int, rng: np.random.Generator) -> Levels:
    """Draw ``batch`` levels.

    Boxes and loose keys take distinct slots, uniformly. Along a path the box with key n has lock
    n + 1; the gem is locked by colour 1, and the loose key is the colour at the path's far end.
    With one lock, each distractor branch starts at a uniformly drawn path colour, and every box
    of it holds a new colour that locks the next. With two locks, the paths use colours 1 to L and
    L + 1 to 2L, and a bridge is locked by a colour of the first and holds one of the second. The
    RGB colours are a fresh permutation of the palette for every level.

    Args:
        config: the task.
        batch: how many levels.
        rng: source of all randomness.

    Source: Logic and the 2-Simplicial Transformer, section 3, and the authors' recorded levels.

    >>> from tf_relational.envs import BRIDGE
    >>> levels = generate(BRIDGE, 100, np.random.default_rng(0))
    >>> levels.board.shape
    (100, 9, 7)
    """
    if batch < 1:
        raise ValueError(f"batch is at least 1, got {batch}")
    lengths = rng.integers(*config.solution_length, size=batch, endpoint=True)
    make = _one_lock_items if config.gem_locks == 1 else _two_lock_items
    keys, locks, decoy_items = make(config, lengths, rng)

    order = rng.random((batch, config.slots), np.float32)
    rows, columns = len(config.slot_rows), len(config.slot_columns)
    every = np.arange(batch)
    if config.gem_locks == 2:
        gem_column = rng.integers(columns - 1, size=batch)
        gem_row = rng.integers(rows - 1, size=batch)
        gem_slot = gem_column * rows + gem_row
        order[every, gem_slot] = -1.0
        order[every, gem_slot + 1] = 2.0
    order = order.argsort(axis=1)

    used = order[:, : keys.shape[1]]
    board = np.full((batch, config.columns, config.rows), -1, np.int8)
    for x, values in ((1, keys), (2, locks)):
        slots = np.full((batch, config.slots), -1, np.int8)
        np.put_along_axis(slots, used, values, axis=1)
        grid = slots.reshape(batch, columns, rows)
        board[:, x : x + 3 * columns : 3, 1 : 1 + 2 * rows : 2] = grid
    if config.gem_locks == 2:
        x, y = 1 + 3 * gem_column, 2 + 2 * gem_row
        board[every, x, y] = GEM
        board[every, x + 1, y] = lengths + 1

    decoy_slots = np.take_along_axis(order, np.maximum(decoy_items, 0), axis=1)
    decoys = np.stack([2 + 3 * (decoy_slots // rows), 1 + 2 * (decoy_slots % rows)], axis=-1)
    decoys[decoy_items < 0] = -1
    puzzle_type = np.zeros((batch, 3), np.int8)
    puzzle_type[:, 0] = lengths
    if config.bridge_probability:
        bridge = np.flatnonzero(decoy_items[:, 0] >= 0)
        items = decoy_items[bridge, 0]
        puzzle_type[bridge, 1] = locks[bridge, items]
        puzzle_type[bridge, 2] = keys[bridge, items]
    return Levels(
        board=board,
        colours=_colours(config.num_colours, batch, rng),
        decoys=decoys.astype(np.int8),
        solution_length=lengths.astype(np.int8),
        puzzle_type=puzzle_type,
        start_position=np.zeros((batch, 2), np.int8),
        start_inventory=np.empty((batch, 0), np.int8),
    )


def puzzle_types(config: BoxWorldConfig) -> list[PuzzleType]:
    """The puzzle types of a task: (a, b, c) with a bridge, (a, 0, 0) without.

    With a bridge, 1 <= b <= a is its source and a + 1 <= c <= 2a its target.

    Source: Logic and the 2-Simplicial Transformer, section 6.

    Example:
        >>> puzzle_types(BoxWorldConfig(7, 9, 1, 0, gem_locks=2, bridge_probability=0.5))
        [(1, 0, 0), (1, 1, 2)]
    """
    low, high = config.solution_length
    found = []
    for length in range(low, high + 1):
        if config.bridge_probability < 1:
            found.append((length, 0, 0))
        if config.bridge_probability > 0:
            found += [
                (length, source, target)
                for source in range(1, length + 1)
                for target in range(length + 1, 2 * length + 1)
            ]
    return found


def _colours(num_colours: int, batch: int, rng: np.random.Generator) -> np.ndarray:
    colours = np.full((batch, num_colours + 1, 3), 255, np.uint8)
    shuffled = rng.random((batch, num_colours), np.float32).argsort(axis=1)
    colours[:, 1:] = palette(num_colours)[shuffled]
    return colours


def _one_lock_items(config: BoxWorldConfig, lengths, rng):
    """Item j holds key j: the gem, the path's boxes, the loose key, then the distractors."""
    batch = len(lengths)
    most = config.distractors[1] * config.distractor_length[1]
    items = np.arange(config.solution_length[1] + 1 + most)
    branches = rng.integers(*config.distractors, size=batch, endpoint=True)
    shape = batch, config.distractors[1]
    sizes = rng.integers(*config.distractor_length, size=shape, endpoint=True)
    sizes[np.arange(shape[1]) >= branches[:, None]] = 0
    total = sizes.sum(axis=1)

    last = lengths[:, None]
    keys = np.where(items <= last + total[:, None], items, -1)
    locks = np.where(items < last, items + 1, -1)
    # A later box of a branch is locked by the key before it; a first one by a path colour.
    chained = (items > last + 1) & (keys >= 0)
    locks = np.where(chained, items - 1, locks)
    first = lengths[:, None] + 1 + sizes.cumsum(axis=1) - sizes
    row, branch = np.nonzero(sizes)
    sources = rng.integers(1, last + 1, size=shape)
    locks[row, first[row, branch]] = sources[row, branch]

    places = np.arange(most)
    decoy_items = np.where(places < total[:, None], last + 1 + places, -1)
    return keys.astype(np.int8), locks.astype(np.int8), decoy_items


def _two_lock_items(config: BoxWorldConfig, lengths, rng):
    """Item j holds key j: the gem, path one, path two; the last item is the bridge."""
    batch = len(lengths)
    last = lengths[:, None]
    items = np.arange(2 * config.solution_length[1] + 2)
    keys = np.where(items <= 2 * last, items, -1)
    locks = np.where((items < 2 * last) & (items != last), items + 1, -1)
    bridged = rng.random(batch) < config.bridge_probability
    source = rng.integers(1, lengths + 1)
    target = rng.integers(lengths + 1, 2 * lengths + 1)
    bridge = np.flatnonzero(bridged)
    place = 2 * lengths + 1
    keys[bridge, place[bridge]] = target[bridge]
    locks[bridge, place[bridge]] = source[bridge]
    decoy_items = np.where(bridged, place, -1)[:, None]
    if not config.bridge_probability:
        # Without bridges the last item has no slot of its own.
        keys, locks, decoy_items = keys[:, :-1], locks[:, :-1], decoy_items[:, :0]
    return keys.astype(np.int8), locks.astype(np.int8), decoy_items
