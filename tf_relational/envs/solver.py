"""The shortest way to the gem, exactly."""

from __future__ import annotations

import dataclasses
import heapq

import numpy as np

from .level import GEM, Level
from .rules import State

LEFT, UP, RIGHT, DOWN = range(4)


@dataclasses.dataclass(frozen=True)
class Solution:
    """A shortest winning play.

    Args:
        actions: 0 left, 1 up, 2 right, 3 down.
        opened: ``(x, y)`` of the loose keys taken and locks opened, in order; the gem's lock last.
    """

    actions: tuple[int, ...]
    opened: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.actions)


def solve(game: Level | State) -> Solution | None:
    """A shortest action sequence that wins, ``None`` if there is none.

    Uniform-cost search over the order of events. Between events the player walks over empty
    tiles only, so a state is the set of loose keys and boxes that are gone and the tile of the
    last of them; walks are breadth-first. Decoys are never opened: that ends an episode without
    the gem.

    Args:
        game: a level, or a state of one game (B = 1).

    >>> board = np.full((6, 3), -1)
    >>> board[1, 1], board[2, 1], board[4, 1] = 0, 1, 1
    >>> len(solve(Level(board, np.zeros((2, 3), np.uint8))))
    7
    """
    if isinstance(game, Level):
        held = game.start.inventory
        board, position, decoys = game.board, game.start.position, game.decoys.tolist()
    else:
        if len(game.board) != 1:
            raise ValueError(f"solve takes a state of one game, got {len(game.board)} games")
        held = [key for key in game.inventory[0].tolist() if key >= 0]
        board, position, decoys = game.board[0], game.position[0], game.decoys[0].tolist()
    if GEM in held:
        return Solution((), ())
    puzzle = _Puzzle(board, decoys)
    start = puzzle.bit(*position)
    counter = 0
    frontier = [(0, counter, 0, start, held, None)]
    seen = set()
    while frontier:
        cost, _, gone, cell, held, trail = heapq.heappop(frontier)
        if (gone, cell) in seen:
            continue
        seen.add((gone, cell))
        if GEM in held:
            return puzzle.solution(position, trail)
        free = puzzle.floor
        for index, item in enumerate(puzzle.items):
            if gone >> index & 1:
                free |= item.tiles
        targets = {}
        for index, item in enumerate(puzzle.items):
            if not gone >> index & 1 and item.opens_with(held):
                for entry in item.entries:
                    targets[entry] = index
        for entry, walked in puzzle.distances(cell, free, targets):
            index = targets[entry]
            item = puzzle.items[index]
            counter += 1
            after = gone | 1 << index
            if (after, entry) not in seen:
                step = trail, cell, entry, free
                new = cost + walked, counter, after, entry, item.exchange(held), step
                heapq.heappush(frontier, new)
    return None


class _Item:
    """A loose key or a box: the tiles it covers, where it is entered, what it takes and gives."""

    def __init__(self, tiles: int, entries: list[int], locks: list[int], contents: list[int]):
        self.tiles, self.entries, self.locks, self.contents = tiles, entries, locks, contents

    def opens_with(self, held) -> bool:
        return all(lock in held for lock in self.locks)

    def exchange(self, held) -> list[int]:
        held = list(held)
        for lock in self.locks:
            held.remove(lock)
        return held + self.contents


class _Puzzle:
    """The board as bit sets: tile (x, y) is bit ``y * width + x``, with one column of wall."""

    def __init__(self, board: np.ndarray, decoys):
        self.columns, self.rows = board.shape
        self.width = self.columns + 1
        tiles = board.tolist()
        decoys = {tuple(decoy) for decoy in decoys}
        self.floor = sum(
            self.bit(x, y) for x in range(self.columns) for y in range(self.rows) if tiles[x][y] < 0
        )
        self.items: list[_Item] = []
        gem = None
        for x in range(self.columns):
            for y in range(self.rows):
                if tiles[x][y] < 0 or (x and tiles[x - 1][y] >= 0):
                    continue
                content, here = tiles[x][y], self.bit(x, y)
                lock = tiles[x + 1][y] if x + 1 < self.columns else -1
                if lock < 0:
                    self.items.append(_Item(here, [here], [], [content]))
                elif (x + 1, y) not in decoys:
                    item = _Item(here | here << 1, [here << 1], [lock], [content])
                    if content == GEM and gem is not None:
                        gem.tiles |= item.tiles
                        gem.entries += item.entries
                        gem.locks += item.locks
                        gem.contents += item.contents
                    else:
                        self.items.append(item)
                        gem = item if content == GEM else gem

    def bit(self, x, y) -> int:
        return 1 << (int(y) * self.width + int(x))

    def neighbours(self, cells: int) -> int:
        return cells << 1 | cells >> 1 | cells << self.width | cells >> self.width

    def distances(self, start: int, free: int, targets: dict[int, int]):
        """``(target, steps)`` for each target reached from ``start`` over ``free``."""
        wanted = sum(targets)
        layer = reached = start
        steps = 0
        found = []
        while layer and wanted:
            steps += 1
            around = self.neighbours(layer)
            hit = around & wanted
            wanted &= ~hit
            while hit:
                lowest = hit & -hit
                found.append((lowest, steps))
                hit ^= lowest
            layer = around & free & ~reached
            reached |= layer
        return found

    def walk(self, start: int, goal: int, free: int) -> list[int]:
        """The actions of a shortest walk."""
        layers = [start]
        reached = start
        while not self.neighbours(layers[-1]) & goal:
            layer = self.neighbours(layers[-1]) & free & ~reached
            reached |= layer
            layers.append(layer)
        actions = []
        for layer in reversed(layers):
            for action, before in (
                (LEFT, goal << 1),
                (UP, goal << self.width),
                (RIGHT, goal >> 1),
                (DOWN, goal >> self.width),
            ):
                if before & layer:
                    actions.append(action)
                    goal = before
                    break
        return actions[::-1]

    def solution(self, position, trail) -> Solution:
        legs = []
        while trail is not None:
            trail, start, goal, free = trail
            legs.append((start, goal, free))
        actions, opened = [], []
        for start, goal, free in reversed(legs):
            actions += self.walk(start, goal, free)
            y, x = divmod(goal.bit_length() - 1, self.width)
            opened.append((x, y))
        return Solution(tuple(actions), tuple(opened))
