"""Play Box-World in a terminal: ``python -m tf_relational.envs.play``."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator

from .config import BRIDGE, STANDARD
from .env import BoxWorldEnv
from .game import Game
from .render import EMPTY_INVENTORY, FLOOR, PLAYER, letter

MOVES = {
    "a": 0, "D": 0, "w": 1, "A": 1, "d": 2, "C": 2, "s": 3, "B": 3,
}  # fmt: skip
"""Actions by key; capitals are the last letters of the arrow keys' codes."""

HELP = "arrows or wasd move   n next level   r same level again   q quit"
RULES = "Key a opens lock A, and the box gives the key inside it. Reach the gem *."


def play(env: BoxWorldEnv, keys: Iterable[str], write: Callable[[str], object]) -> None:
    """Play games until the keys end or say ``q``.

    Args:
        env: an environment that was reset; ``n`` resets it.
        keys: names of keys, see :data:`MOVES`, and ``n``, ``r``, ``q``.
        write: receives each screen.
    """
    solved = played = 0
    message = RULES
    write(screen(env.game, message, solved, played))
    for key in keys:
        if key == "q":
            return
        if key in "nr":
            env.reset(options={"level": env.game.origin} if key == "r" else None)
            message = RULES
        elif key in MOVES and not env.game.over:
            _, reward, terminated, truncated, info = env.step(MOVES[key])
            message = f"reward {reward:+.0f}" if reward else ""
            if terminated or truncated:
                played += 1
                solved += info["win"]
                message = _verdict(info) + "   n next level   r again   q quit"
        else:
            continue
        write(screen(env.game, message, solved, played))


def screen(game: Game, message: str, solved: int, played: int) -> str:
    """The game in coloured tiles, with words below, as text for a terminal with 24-bit colour."""
    board, held = game.board, game.inventory
    colours = [tuple(colour) for colour in game.origin.colours.tolist()]
    lines = [f"Box-World   solved {solved} of {played}", ""]
    for y in range(game.rows):
        tiles = []
        for x in range(game.columns):
            tile = int(board[x, y])
            if (x, y) == game.position:
                tiles.append(_tile(PLAYER, "@"))
            elif tile < 0:
                tiles.append(_tile(FLOOR, ""))
            else:
                is_lock = x > 0 and board[x - 1, y] >= 0
                tiles.append(_tile(colours[tile], letter(tile, is_lock)))
        has_key = y < len(held)
        key = _tile(colours[held[y]], letter(held[y])) if has_key else _tile(EMPTY_INVENTORY, "")
        lines.append("".join(tiles) + "  " + key)
    lines += ["", message, HELP]
    return "\x1b[H\x1b[2J" + "\r\n".join(lines) + "\r\n"


def _tile(colour, sign: str) -> str:
    red, green, blue = colour
    return f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;0;0;0m {sign:<2}\x1b[0m"


def _verdict(info) -> str:
    if info["win"]:
        return f"You have the gem after {info['length']} steps."
    if info["bridge_opened"]:
        return "That was the bridge: the gem is out of reach."
    if info["distractor_opened"]:
        return "That was a distractor: the gem is out of reach."
    return f"{info['length']} steps are over."


@contextlib.contextmanager
def key_by_key(descriptor: int) -> Iterator[None]:
    """The terminal hands on each key at once and echoes none, until the block ends."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def typed_keys(descriptor: int) -> Iterator[str]:
    """Key names as they are typed, several at a time where they come so."""
    rest = ""
    while typed := os.read(descriptor, 64).decode(errors="ignore"):
        typed = rest + typed
        # The code of an arrow may be cut in two where one reading ends.
        rest = re.search(r"(\x1b[\[O]?)?$", typed).group()
        for arrow, plain in re.findall(r"\x1b[\[O]([A-D])|([a-z])", typed):
            yield arrow or plain


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tf_relational.envs.play", description=RULES)
    parser.add_argument("--task", choices=["bridge", "standard"], default="bridge")
    parser.add_argument("--solution-length", type=int, help="boxes on a path to the gem")
    parser.add_argument("--seed", type=int, help="the same seed gives the same levels")
    options = parser.parse_args()
    fields = {"solution_length": options.solution_length} if options.solution_length else {}
    config = BRIDGE if options.task == "bridge" else STANDARD
    try:
        env = BoxWorldEnv(config, **fields)
    except ValueError as error:
        parser.error(str(error))
    if not sys.stdin.isatty():
        parser.error("playing needs a terminal on standard input")
    env.reset(seed=options.seed)

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    terminal = sys.stdin.fileno()
    with contextlib.suppress(KeyboardInterrupt), key_by_key(terminal):
        play(env, typed_keys(terminal), write)


if __name__ == "__main__":
    main()
