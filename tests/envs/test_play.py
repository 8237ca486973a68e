"""Playing in the terminal: the loop, and the program behind a pseudo-terminal."""

import os
import re
import select
import subprocess
import sys

import pytest

from tf_relational.envs import BRIDGE, BoxWorldEnv, solve
from tf_relational.envs.play import play, screen

ARROWS = "DACB"


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def test_the_solvers_keys_win_and_the_same_level_comes_again():
    env = BoxWorldEnv(BRIDGE)
    env.reset(seed=0)
    first = env.game.origin
    actions = solve(first).actions
    screens = []
    keys = [*(ARROWS[action] for action in actions), "d", "r", *("awds"[a] for a in actions), "q"]
    play(env, keys, screens.append)
    assert env.game.origin is first and env.game.won
    words = [plain(text) for text in screens]
    assert "solved 0 of 0" in words[0] and "@" in words[0]
    won = [text for text in words if f"You have the gem after {len(actions)} steps." in text]
    assert len(won) == 2 and "solved 2 of 2" in won[1]
    assert sum("reward +1" in text for text in words) == 2 * 2 * first.solution_length
    assert len(screens) == 1 + len(actions) + 1 + len(actions)


def test_n_is_the_next_level_and_a_horizon_is_told():
    env = BoxWorldEnv(BRIDGE, horizon=2)
    env.reset(seed=0)
    first, screens = env.game.origin, []
    play(env, "aanaa", screens.append)
    assert env.game.origin is not first
    assert sum("2 steps are over." in text for text in screens) == 2
    assert "solved 0 of 2" in plain(screens[-1])


def test_screen_shows_every_tile_and_key():
    env = BoxWorldEnv(BRIDGE)
    env.reset(seed=0)
    game = env.game
    lines = plain(screen(game, "hello", 1, 2)).split("\r\n")
    assert lines[0].endswith("solved 1 of 2") and "hello" in lines
    shown = sum(sign not in " @" for line in lines[2 : 2 + game.rows] for sign in line)
    assert shown == (game.board >= 0).sum()
    assert all(len(line) <= 79 for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are a Unix thing")
def test_the_program_plays_in_a_terminal():
    import pty

    env = BoxWorldEnv(BRIDGE, solution_length=1)
    env.reset(seed=3)
    actions = solve(env.game.origin).actions
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tf_relational.envs.play", "--seed", "3"]
    program = subprocess.Popen(
        [*command, "--solution-length", "1"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    try:
        read_until(ours, "q quit")
        # Arrow keys in both of the forms that terminals send, many at once.
        codes = [f"\x1b{'[O'[index % 2]}{ARROWS[a]}" for index, a in enumerate(actions)]
        os.write(ours, "".join(codes).encode())
        read_until(ours, f"You have the gem after {len(actions)} steps.")
        os.write(ours, b"q")
        assert program.wait(timeout=60) == 0
    finally:
        program.kill()
        program.wait()
        os.close(ours)


def read_until(descriptor, words, timeout=60):
    seen = ""
    while words not in plain(seen):
        ready, _, _ = select.select([descriptor], [], [], timeout)
        assert ready, f"waited for {words!r}, saw {plain(seen)[-500:]!r}"
        seen += os.read(descriptor, 65536).decode()


def test_the_program_refuses_what_it_cannot_do():
    command = [sys.executable, "-m", "tf_relational.envs.play"]
    for arguments, words in (
        ([], "needs a terminal"),
        (["--solution-length", "9"], "the largest level needs 21 places"),
    ):
        result = subprocess.run(
            [*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert result.returncode == 2 and words in result.stderr
