"""The three object sets, and how a different object is made of a given one.

An object is an integer below `size` of its set; two objects are the same if the integers are.
"""

from __future__ import annotations

import abc

import numpy as np

from .shapes import HELD_OUT_COLOURS, HEXOMINOES, PENTOMINOES, TRAINING_COLOURS, orientations

OTHER_COLOUR, OTHER_SHAPE, BOTH_OTHER = range(3)


class ObjectSet(abc.ABC):
    """Objects to draw from.

    Attributes:
        name: DeepMind's name of the set.
        units: ``[size, 3, 3, 3]`` uint8, the RGB colours of the 3x3 units of every object.
        size: how many different objects there are.
        kinds: in how many ways an object can differ from another (`vary`).
    """

    def __init__(self, name: str, units: np.ndarray, kinds: int):
        self.name, self.units, self.size, self.kinds = name, units, len(units), kinds

    @abc.abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """``[count]`` objects, independent of each other."""

    @abc.abstractmethod
    def vary(self, objects, rng: np.random.Generator, kind=None) -> np.ndarray:
        """For each of ``[count]`` objects a different one.

        Args:
            objects: ``[count]`` ints.
            rng: source of all randomness.
            kind: ``[count]`` ints below `kinds`, how to differ; drawn uniformly by default.
        """

    def distinct(self, count: int, number: int, rng: np.random.Generator) -> np.ndarray:
        """``[count, number]``: in each row objects that all differ.

        The first is drawn freely. Each later one is `vary` of an earlier one, drawn uniformly, and
        is drawn again while it equals any before it. This makes the pictures hard to tell apart:
        objects that differ mostly share a shape or a colour.

        >>> objects = OBJECT_SETS["hexos"].distinct(100, 3, np.random.default_rng(0))
        >>> bool((objects[:, 2] != objects[:, 0]).all())
        True
        """
        objects = np.empty((count, number), np.int64)
        objects[:, 0] = self.draw(count, rng)
        for k in range(1, number):
            rows = np.arange(count)
            while len(rows):
                earlier = objects[rows, rng.integers(k, size=len(rows))]
                objects[rows, k] = self.vary(earlier, rng)
                rows = rows[(objects[rows, :k] == objects[rows, k : k + 1]).any(axis=1)]
        return objects


class Polyominoes(ObjectSet):
    """Shapes of one colour each: object = 25 * shape + colour.

    A shape is drawn as one of 8 bases and then one of 8 orientations, both uniformly, so that
    symmetric shapes with few orientations show each of them more often. A different object has
    another colour, another shape or both (kinds 0, 1, 2).
    """

    def __init__(self, name: str, bases: tuple[str, ...], colours: np.ndarray):
        every = np.concatenate([orientations(base) for base in bases])
        masks, drawn = np.unique(every, axis=0, return_inverse=True)
        units = masks[:, None, :, :, None] * colours[None, :, None, None, :]
        super().__init__(name, units.reshape(-1, 3, 3, 3), kinds=3)
        # `drawn[i]` is the shape of the i-th of 64 draws of base and orientation; `_others[s]`
        # holds the draws that are not shape s, which is what drawing until it differs comes to.
        self._drawn = drawn.ravel()
        self._num_others = np.array([(self._drawn != s).sum() for s in range(len(masks))])
        self._others = np.zeros((len(masks), len(every)), np.int64)
        for s, number in enumerate(self._num_others):
            self._others[s, :number] = self._drawn[self._drawn != s]

    def draw(self, count, rng):
        shape = self._drawn[rng.integers(len(self._drawn), size=count)]
        return 25 * shape + rng.integers(25, size=count)

    def vary(self, objects, rng, kind=None):
        if kind is None:
            kind = rng.integers(self.kinds, size=len(objects))
        shape, colour = np.divmod(objects, 25)
        other_shape = self._others[shape, rng.integers(self._num_others[shape])]
        other_colour = (colour + rng.integers(1, 25, size=len(objects))) % 25
        shape = np.where(kind == OTHER_COLOUR, shape, other_shape)
        colour = np.where(kind == OTHER_SHAPE, colour, other_colour)
        return 25 * shape + colour


class Stripes(ObjectSet):
    """Full squares of three vertical stripes: object = 25 * outer colour + middle colour.

    All pairs of colours are drawn equally often, also twice the same; and so is a different object
    from all the others (there is one kind of difference).
    """

    def __init__(self, name: str, colours: np.ndarray):
        outer, middle = np.repeat(colours, 25, axis=0), np.tile(colours, (25, 1))
        row = np.stack([outer, middle, outer], axis=1)
        super().__init__(name, np.repeat(row[:, None], 3, axis=1), kinds=1)

    def draw(self, count, rng):
        return rng.integers(self.size, size=count)

    def vary(self, objects, rng, kind=None):
        return (objects + rng.integers(1, self.size, size=len(objects))) % self.size


OBJECT_SETS = {
    "pentos": Polyominoes("pentos", PENTOMINOES, TRAINING_COLOURS),
    "hexos": Polyominoes("hexos", HEXOMINOES, HELD_OUT_COLOURS),
    "stripes": Stripes("stripes", HELD_OUT_COLOURS),
}


def object_set(name: str) -> ObjectSet:
    """The set of that name: ``pentos`` to train on, ``hexos`` and ``stripes`` held out.

    Raises:
        ValueError: there is no such set.

    >>> object_set("stripes").size
    625
    """
    if name not in OBJECT_SETS:
        raise ValueError(f"object_set is one of {', '.join(OBJECT_SETS)}, got {name!r}")
    return OBJECT_SETS[name]
