"""Levels as data: what is accepted, what is refused and with which words."""

import numpy as np
import pytest

from tf_relational.envs import BRIDGE, STANDARD, BoxWorldConfig, Level, Levels, Start, generate

COLOURS = np.zeros((21, 3), np.uint8)


def board_of(*tiles, columns=9, rows=7):
    board = np.full((columns, rows), -1)
    for x, y, colour in tiles:
        board[x, y] = colour
    return board


def figure_two():
    """The level of Figure 2: type (3, 2, 5)."""
    return board_of(
        (1, 1, 0), (2, 1, 1), (1, 2, 0), (2, 2, 4),
        (4, 1, 1), (5, 1, 2), (4, 3, 2), (5, 3, 3), (7, 1, 3),
        (7, 3, 4), (8, 3, 5), (7, 5, 5), (8, 5, 6), (4, 5, 6),
        (1, 5, 5), (2, 5, 2),
    )  # fmt: skip


def test_puzzle_type_counts_from_the_gem():
    level = Level(figure_two(), COLOURS, [(2, 5)])
    assert (level.solution_length, level.puzzle_type) == (3, (3, 2, 5))
    # The same puzzle with its colours swapped about is of the same type.
    swap = np.array([0, 9, 4, 7, 2, 8, 1, *range(10, 24)])
    board = figure_two()
    board[board >= 0] = swap[board[board >= 0]]
    assert Level(board, COLOURS, [(2, 5)]).puzzle_type == (3, 2, 5)


def test_path_one_is_the_one_the_bridge_is_opened_from():
    board = figure_two()
    board[1:3, 5] = 2, 5  # now the lock is on the path of the lower lock
    assert Level(board, COLOURS, [(2, 5)]).puzzle_type == (3, 2, 5)
    board[1:3, 5] = 3, 4
    assert Level(board, COLOURS, [(2, 5)]).puzzle_type == (3, 1, 6)


@pytest.mark.parametrize("config", [STANDARD, BRIDGE])
def test_generated_types_are_those_traced_on_the_board(config):
    for level in generate(config, 100, np.random.default_rng(0)):
        traced = Level(level.board, level.colours, level.decoys)
        assert traced.solution_length == level.solution_length
        assert traced.puzzle_type == level.puzzle_type


def test_a_board_without_a_way_has_length_zero():
    level = Level(board_of((1, 1, 0), (2, 1, 1), (4, 1, 2)), COLOURS)
    assert (level.solution_length, level.puzzle_type) == (0, None)


GEM = (1, 1, 0), (2, 1, 1)

REFUSED = {
    "tiles are -1 .* to 20": dict(board=board_of(*GEM, (4, 1, 21))),
    "column 0 stays empty, got tile 3 at .0, 2.": dict(board=board_of(*GEM, (0, 2, 3))),
    "three tiles touch at .1, 1.": dict(board=board_of(*GEM, (3, 1, 3))),
    "loose key cannot stand in the last column": dict(board=board_of(*GEM, (8, 3, 3))),
    "gem cannot be a lock": dict(board=board_of(*GEM, (4, 3, 1), (5, 3, 0))),
    "one gem tile": dict(board=board_of((4, 1, 3))),
    "two different": dict(board=board_of(*GEM, (1, 2, 0), (2, 2, 1))),
    "one gem tile, or two above": dict(board=board_of(*GEM, (4, 4, 0), (5, 4, 2))),
    "a decoy is the lock tile": dict(board=board_of(*GEM), decoys=[(4, 4)]),
    "without the gem, got .2, 1.": dict(board=board_of(*GEM), decoys=[(2, 1)]),
    "starts on an empty tile of the board, got .1, 1.": dict(
        board=board_of(*GEM), start=Start((1, 1))
    ),
    "starts on an empty tile of the board, got .9, 0.": dict(
        board=board_of(*GEM), start=Start((9, 0))
    ),
    "held keys are 1 to 20": dict(board=board_of(*GEM), start=Start((0, 0), (0,))),
    "board is .columns, rows.": dict(board=np.zeros(4)),
    "colours is .num_colours": dict(board=board_of(*GEM), colours=np.zeros((4, 4))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_levels_are_refused_with_words(message):
    with pytest.raises(ValueError, match=message):
        Level(**{"colours": COLOURS, **REFUSED[message]})


def test_levels_stack_and_come_apart():
    made = [
        Level(figure_two(), COLOURS, [(2, 5)], start=Start((3, 4), (7, 7))),
        Level(board_of(*GEM, (4, 1, 1)), COLOURS),
    ]
    levels = Levels.stack(made)
    assert len(levels) == 2
    for before, after in zip(made, levels, strict=True):
        assert np.array_equal(before.board, after.board)
        assert np.array_equal(before.decoys, after.decoys)
        assert before.start == after.start
        assert before.puzzle_type == after.puzzle_type
        assert before.solution_length == after.solution_length
    assert len(levels[1:]) == 1 and len(levels[[1, 0, 1]]) == 3
    with pytest.raises(ValueError, match="one board size"):
        Levels.stack([made[0], Level(board_of(*GEM, (4, 1, 1), rows=9), COLOURS)])


def test_a_level_cannot_be_written_to():
    level = Level(board_of(*GEM, (4, 1, 1)), COLOURS)
    with pytest.raises(ValueError, match="read-only"):
        level.board[0, 0] = 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (dict(rows=7), "needs 10 places .* 7 rows and 9 columns has 9"),
        (dict(distractor_length=2), "needs 14 places .* has 12"),
        (dict(num_colours=8), "needs 9 colours, num_colours is 8"),
        (dict(gem_locks=2), r"distractors must be \(0, 0\), got \(0, 4\)"),
        (dict(gem_locks=2, distractors=0, rows=7, solution_length=4), "needs 10 places"),
        (dict(gem_locks=2, distractors=0, rows=4, solution_length=1), "at least 5 rows"),
        (dict(bridge_probability=0.5), "needs gem_locks=2"),
        (dict(bridge_probability=1.5), "between 0 and 1, got 1.5"),
        (dict(gem_locks=3), "gem_locks is 1 or 2, got 3"),
        (dict(solution_length=0), "solution_length is an integer or a pair"),
        (dict(solution_length=(3, 1)), r"got \(3, 1\)"),
        (dict(horizon=0), "horizon is None or at least 1, got 0"),
        (dict(rows=2), "3 to 100 rows"),
        (dict(num_colours=0), "num_colours lies between"),
    ],
)
def test_configs_that_cannot_be_played_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        BoxWorldConfig(**fields)
