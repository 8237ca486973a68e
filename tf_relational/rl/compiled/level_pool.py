"""The levels that lie on the device, kept fresh by a thread."""

import collections
import concurrent.futures

import numpy as np

from tf_relational.envs.packed import NO_LIMIT, Layout, pack
from tf_relational.envs.pool import Curriculum, draw_levels

BLOCK = 512
"""Levels that are drawn at a time, from a random number generator of their own."""

_STREAM = 0xB0C5


class LevelPool:
    """A ring of packed levels, read in order by a program that begins episodes.

    The levels come from a stream that is a function of `seed` and the curriculum's settings alone:
    block n is drawn with the seed `[stream, seed, n]`. A thread draws blocks ahead; where it is
    late, `advance` waits for it, so that its speed never changes what is played.

    Whatever was read is replaced between two calls of the program, so that a level is begun twice
    only when one call begins more than `size` episodes, and then with `size` others in between:
    `window` says so, `reused` counts them.

    Args:
        config: the `tf_relational.envs.BoxWorldConfig` of the task.
        seed: of the levels.
        size: levels in the ring.
        kinds: list of the puzzle types `(a, b, c)`, whose index a row holds.
        curriculum: a `tf_relational.envs.pool.Curriculum`, or None.

    Example:
        >>> from tf_relational.envs import BRIDGE
        >>> from tf_relational.envs.generator import puzzle_types
        >>> pool = LevelPool(BRIDGE, seed=0, size=16, kinds=puzzle_types(BRIDGE))
        >>> before = pool.rows.copy()
        >>> pool.advance(4)
        >>> (pool.rows != before).any(axis=1).tolist() == [True] * 4 + [False] * 12
        True
        >>> pool.close()
    """

    def __init__(self, config, seed, size, kinds, curriculum=None):
        self.config, self.seed, self.size = config, seed, size
        self.layout = Layout.of_config(config)
        self.curriculum = curriculum
        self.cursor = 0
        self.started = 0
        self.reused = 0
        self._kinds = {tuple(kind): number for number, kind in enumerate(kinds)}
        self._executor = concurrent.futures.ThreadPoolExecutor(1, "levels")
        self._ahead = collections.deque()
        self._block = self._offset = 0
        self.rows = self._take(size)

    @property
    def window(self):
        """Episodes within which no level is begun twice, whatever a call reads."""
        return self.size

    @property
    def difficulty(self):
        """What marks the rows of the present curriculum; 0 without one."""
        return 0 if self.curriculum is None else self.curriculum.difficulty

    def advance(self, count):
        """Replace the next `count` levels of the ring, which have been read."""
        self.started += count
        self.reused += max(0, count - self.size)
        fresh = min(count, self.size)
        places = (self.cursor + count - fresh + np.arange(fresh)) % self.size
        rows = self.rows.copy()  # The program may still hold the old ones.
        rows[places] = self._take(fresh)
        self.rows = rows
        self.cursor = (self.cursor + count) % self.size

    def set_curriculum(self, curriculum):
        """Draw all levels anew by another law; nothing happens if it is the present one."""
        if curriculum == self.curriculum:
            return
        self.curriculum = curriculum
        self._forget()
        # What is left of the block was drawn by the old law.
        self._block, self._offset = self._block + (self._offset > 0), 0
        self.rows = self._take(self.size)

    def get_state(self):
        """Return `(numbers, rows)`: plain data, and the ring as an array."""
        law = self.curriculum
        numbers = {
            "cursor": self.cursor,
            "started": self.started,
            "reused": self.reused,
            "block": self._block,
            "offset": self._offset,
            "curriculum": law
            and {
                "probability": law.probability,
                "difficulty": law.difficulty,
                "horizon": law.horizon,
            },
        }
        return numbers, self.rows

    def set_state(self, numbers, rows):
        """Take over what `get_state` returned."""
        if rows.shape != self.rows.shape:
            raise ValueError(f"this pool has rows {self.rows.shape}; received rows {rows.shape}.")
        law = numbers["curriculum"]
        self.curriculum = None if law is None else Curriculum(**law)
        self.cursor, self.started = numbers["cursor"], numbers["started"]
        self.reused = numbers["reused"]
        self._forget()
        self._block, self._offset = numbers["block"], numbers["offset"]
        self.rows = rows

    def close(self):
        """Stop the thread."""
        self._forget()
        self._executor.shutdown()

    def _take(self, count):
        """The next `count` rows of the stream."""
        parts = [np.empty((0, self.layout.row), np.int32)]
        while count:
            self._look_ahead()
            block = self._ahead[0].result()
            part = block[self._offset : self._offset + count]
            parts.append(part)
            count -= len(part)
            self._offset += len(part)
            if self._offset == BLOCK:
                self._ahead.popleft()
                self._block, self._offset = self._block + 1, 0
        self._look_ahead()
        return np.concatenate(parts)

    def _look_ahead(self):
        # As many as the ring holds: one call rarely reads more.
        while len(self._ahead) < 1 + -(-self.size // BLOCK):
            number = self._block + len(self._ahead)
            self._ahead.append(self._executor.submit(self._draw, number, self.curriculum))

    def _forget(self):
        for future in self._ahead:
            future.cancel()
        self._ahead.clear()

    def _draw(self, number, curriculum):
        rng = np.random.default_rng([_STREAM, self.seed, number])
        law = curriculum or Curriculum()
        levels, chosen = draw_levels(self.config, BLOCK, law, rng)
        horizon = self.config.horizon or NO_LIMIT
        return pack(
            levels,
            self.layout,
            kind=[self._kinds[tuple(row)] for row in levels.puzzle_type.tolist()],
            curriculum=np.where(chosen, law.difficulty, 0),
            horizon=np.where(chosen, law.horizon, horizon),
        )
