"""Pictures against boards drawn by hand."""

import numpy as np
import pytest

from tf_relational.envs.render import letter, observation, picture, text

RED, BLUE = (200, 0, 0), (0, 0, 200)
WHITE, FLOOR, PLAYER, EMPTY = (255,) * 3, (199,) * 3, (127,) * 3, (10,) * 3


def game():
    board = np.full((1, 5, 3), -1)
    board[0, 1, 1], board[0, 2, 1], board[0, 3, 2] = 0, 1, 2
    return board, np.array([[WHITE, RED, BLUE]], np.uint8)


def test_observation_is_this_picture():
    board, colours = game()
    image = observation(board, colours, np.array([[3, 2]]), np.array([[2, 1, -1]]))
    assert image.tolist() == [
        [
            [list(c) for c in (FLOOR, FLOOR, FLOOR, FLOOR, FLOOR, BLUE)],
            [list(c) for c in (FLOOR, WHITE, RED, FLOOR, FLOOR, RED)],
            [list(c) for c in (FLOOR, FLOOR, FLOOR, PLAYER, FLOOR, EMPTY)],
        ]
    ]


def test_inventory_shows_as_many_keys_as_there_are_rows():
    board, colours = game()
    image = observation(board, colours, None, np.array([[2, 1, 2, 1, 1]]))
    assert image[0, :, -1].tolist() == [list(BLUE), list(RED), list(BLUE)]
    assert image[0, 2, 3].tolist() == list(BLUE)


def test_text_is_this_text():
    board, _ = game()
    assert text(board[0], (0, 0), (2, 1, -1)) == ("@ . . . .\n. * A . .\n. . . b .\nholding: b a")
    assert (letter(26), letter(26, True), letter(27)) == ("z", "Z", "27")


def test_picture_enlarges_each_tile():
    board, colours = game()
    image = observation(board, colours, np.array([[0, 0]]), np.array([[1]]))[0]
    large = picture(image, scale=20)
    assert large.shape == (60, 120, 3)
    assert np.array_equal(large[10::20, 10::20], image)
    assert (large[:, 99] == 0).all()


@pytest.mark.parametrize(("shape", "scale"), [((7, 10), 32), ((1, 7, 10, 3), 32), ((7, 10, 3), 2)])
def test_picture_refuses_what_it_cannot_draw(shape, scale):
    with pytest.raises(ValueError, match="one observation"):
        picture(np.zeros(shape, np.uint8), scale)
