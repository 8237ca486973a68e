"""Remark B.1's strategy for bridge Box-World, as a player: a yardstick beside trained agents."""

from collections import deque
from itertools import combinations

import numpy as np

from tf_relational.analysis.boxes import EMPTY, GEM_COLOUR, Box, boxes_on_board
from tf_relational.envs.render import EMPTY_INVENTORY, FLOOR, PLAYER
from tf_relational.envs.rules import MOVES


class ScriptedPlayer:
    """Finds the bridge by a source and a sink, avoids it, and walks by shortest paths.

    Two boxes are a *source* if they share a lock colour but hold different keys, and a *sink* if
    they hold the same key but have different locks; one of the two is then the bridge. A box that
    is in a source and in a sink is the bridge (*Logic and the 2-Simplicial Transformer*, Remark
    B.1). As in Appendix B.1 loose keys and the box with the gem count as boxes; neither can be a
    bridge, so a pair with one of them names the other. A key in the inventory counts as the loose
    key it once was.

    The player sees only the observation and remembers nothing. Evidence that it removes from the
    board by its own moves is gone: then it knows of a pair, one of which is the bridge, opens
    everything else first, and at last the nearer of the two, which is a guess.

    Levels with distractors have sources but no sinks; there the strategy mostly guesses.

    Calling it maps observations uint8 [B, R, C+1, 3] to actions int64 [B] (0 left, 1 up, 2 right,
    3 down). With nothing left to open it answers 0.

    Raises:
        ValueError: Observations of another shape or type.

    >>> from tf_relational.envs import BRIDGE, generate
    >>> from tf_relational.analysis.episode import record
    >>> level = generate(BRIDGE, 1, np.random.default_rng(0))[0]
    >>> record(ScriptedPlayer(), level, step_limit=120).outcome
    'solved'
    """

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        observations = np.asarray(observations)
        if observations.ndim != 4 or observations.dtype != np.uint8:
            received = f"{observations.dtype} {observations.shape}"
            raise ValueError(f"received {received}; expected uint8 [batch, rows, columns + 1, 3]")
        return np.array([self._act(observation) for observation in observations], np.int64)

    def _act(self, observation):
        board, position, inventory = read_observation(observation)
        boxes = boxes_on_board(board)
        openable = [box for box in boxes if _has_keys(inventory, box.needs)]
        gem = [box for box in openable if box.content == GEM_COLOUR]
        bridges, suspects = find_bridges(boxes, inventory)
        safe = [box for box in openable if box not in bridges and box not in suspects]
        guesses = [box for box in openable if box in suspects]
        for choice in (gem, safe, guesses):
            action = first_move(board, position, {tile for box in choice for tile in box.targets})
            if action is not None:
                return action
        return 0


def read_observation(
    observation: np.ndarray,
) -> tuple[np.ndarray, tuple[int, int], list[int]]:
    """What an observation uint8 [R, C+1, 3] shows.

    Returns:
        `board` int32 [C, R] with -1 empty, 0 gem and for a key or lock its colour as one number
        (red x 65536 + green x 256 + blue); the player's tile (x, y), which is always empty
        otherwise; the inventory's colours from the top.
    """
    pixels = observation.astype(np.int32) @ np.array([65536, 256, 1], np.int32)
    floor, player, nothing, white = (
        colour[0] * 65536 + colour[1] * 256 + colour[2]
        for colour in (FLOOR, PLAYER, EMPTY_INVENTORY, (255, 255, 255))
    )
    board, inventory = pixels[:, :-1].T, pixels[:, -1]
    place = np.argwhere(board == player)
    if len(place) != 1:
        raise ValueError(f"received an observation with {len(place)} player tiles; there must be 1")
    board = np.where((board == floor) | (board == player), EMPTY, board)
    board = np.where(board == white, GEM_COLOUR, board)
    held = [int(colour) for colour in inventory if colour != nothing]
    return board, (int(place[0, 0]), int(place[0, 1])), held


def find_bridges(boxes: tuple[Box, ...], inventory: list[int]) -> tuple[set[Box], set[Box]]:
    """Remark B.1 on what is visible now.

    Args:
        boxes: Boxes on the board.
        inventory: Colours of the keys held.

    Returns:
        The boxes known to be bridges, and those of which one of a pair must be.

    >>> gem = Box(0, (1, 2), (1, 1), ((2, 1), (2, 2)))
    >>> bridge = Box(2, (1,), (4, 1), ((5, 1),))
    >>> find_bridges((gem, bridge), [2]) == ({bridge}, set())
    True
    """
    held = [Box(colour, (), (-1, -1), ()) for colour in inventory]
    sources, sinks = [], []
    for first, second in combinations([*boxes, *held], 2):
        if first.content != second.content and set(first.needs) & set(second.needs):
            sources.append((first, second))
        if first.content == second.content and first.needs != second.needs:
            sinks.append((first, second))
    found = _possible(sources) & _possible(sinks)
    for pair in sources + sinks:
        alone = _possible([pair])
        if len(alone) == 1:
            found |= alone
    unexplained = [pair for pair in sources + sinks if not found & set(pair)]
    return found, _possible(unexplained)


def _possible(pairs):
    """The locked boxes without the gem: what a bridge can be."""
    return {box for pair in pairs for box in pair if box.needs and box.content != GEM_COLOUR}


def _has_keys(inventory, needs):
    return all(inventory.count(colour) >= needs.count(colour) for colour in needs)


def first_move(
    board: np.ndarray, position: tuple[int, int], targets: set[tuple[int, int]]
) -> int | None:
    """First action of a shortest walk over empty tiles to the nearest target; `None` without one.

    >>> first_move(np.full((5, 3), -1), (0, 0), {(0, 2), (4, 2)})
    3
    """
    if not targets:
        return None
    columns, rows = board.shape
    tiles, moves = board.tolist(), MOVES.tolist()
    reached = {position}
    frontier = deque([(position, None)])
    while frontier:
        (x, y), first = frontier.popleft()
        for action, (dx, dy) in enumerate(moves):
            tile = (x + dx, y + dy)
            if not (0 <= tile[0] < columns and 0 <= tile[1] < rows) or tile in reached:
                continue
            begun = action if first is None else first
            if tile in targets:
                return begun
            if tiles[tile[0]][tile[1]] == EMPTY:
                reached.add(tile)
                frontier.append((tile, begun))
    return None
