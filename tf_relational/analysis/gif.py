"""An episode as an animated GIF, with the agent's attention beside the board."""

from pathlib import Path

import numpy as np

from tf_relational.analysis.attention import simplicial_columns, virtual_on_board
from tf_relational.analysis.canvas import label_font, wrap, write_lines
from tf_relational.analysis.episode import Episode
from tf_relational.envs.render import picture

TILE = 36
ACTION_NAMES = ("left", "up", "right", "down")


def episode_gif(
    model, episode: Episode, path: str | Path, description: str = "", seconds: float = 0.3
) -> Path:
    """Writes the episode as a GIF, one frame an observation.

    Beside the board stand, for the simplicial agent, the attention of the virtual entities over the
    board in block 1 (as in Figures 7 to 9, not sharpened) and the 2-simplicial attention of
    block 2; for the relational agent the attention matrix of every head in block 1.

    Args:
        model: An agent.
        episode: What was played, with this agent or without.
        path: GIF to write; its folder is made.
        description: Words for the last lines: which model, how far trained.
        seconds: How long a frame is shown; the last one five times as long.

    Raises:
        ValueError: The attention does not fit the board.
    """
    outputs = model(episode.observations, return_attention=True)
    attention = {name: _array(value) for name, value in outputs["attention"].items()}
    values = _array(outputs["value"])
    frames = []
    for number, observation in enumerate(episode.observations):
        here = {name: value[number] for name, value in attention.items()}
        status = _status(episode, number, float(values[number]))
        panels = attention_panels(here, observation)
        frames.append(_frame(observation, panels, status, description))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    milliseconds = int(seconds * 1000)
    times = [milliseconds] * (len(frames) - 1) + [5 * milliseconds]
    first, *rest = frames
    options = {"duration": times, "loop": 0}
    first.save(path, format="GIF", save_all=True, append_images=rest, **options)
    return path


def attention_panels(
    attention: dict[str, np.ndarray], observation: np.ndarray
) -> list[tuple[str, np.ndarray]]:
    """What stands beside the board in one frame.

    Args:
        attention: Attention of one board, see `attention.py`.
        observation: uint8 [R, C+1, 3].

    Returns:
        Pairs of a title and an array: [h, w, 3] in 0..1 is a picture (the pixels under the virtual
        entities' attention, scaled to the largest), [h, w] is a matrix of attention.
    """
    if "block_0/virtual" not in attention:
        matrices = attention["block_0/standard"]
        return [
            (f"1-simplicial, block 1, head {head}", matrix)
            for head, matrix in enumerate(matrices, start=1)
        ]
    weights, pixels = virtual_on_board(attention, observation)
    panels = [
        (f"virtual {z + 1}, head {h + 1}", pixels[h, z] / weights[h, z].max())
        for z in range(weights.shape[1])
        for h in range(weights.shape[0])
    ]
    columns, pairs = simplicial_columns(attention)
    rows = " ".join(f"({j},{k})" for j, k in pairs)
    return [*panels, (f"2-simplicial, block 2: columns i, rows {rows}", columns)]


def _status(episode, number, value):
    steps = len(episode.actions)
    words = f"step {number} of {steps}   value {value:+.2f}"
    if number < steps:
        return f"{words}   next: {ACTION_NAMES[episode.actions[number]]}"
    return f"{words}   {episode.outcome}"


def _frame(observation, panels, status, description):
    """The board on the left, the panels in rows of two on the right, words below."""
    from PIL import Image

    board = Image.fromarray(picture(observation, TILE))
    font, title_height, gap = label_font(14), 20, 12
    pictures = [(title, _enlarge(array)) for title, array in panels]
    places, x, y, row = [], board.width + 2 * gap, gap, 0
    left = x
    for title, image in pictures:
        width = max(image.width, int(font.getlength(title)))
        if x > left and x + width > left + 480:
            x, y, row = left, y + row + gap, 0
        places.append((title, image, x, y))
        x, row = x + width + gap, max(row, image.height + title_height)
    below = max(board.height + gap, y + row) + gap
    right = max(x + max(i.width, int(font.getlength(t))) for t, i, x, _ in places)
    lines = [status, *wrap(description, font, right - gap)]
    height = below + len(lines) * title_height + gap
    page = Image.new("RGB", (right + gap, height), "white")
    page.paste(board, (gap, gap))
    for title, image, x, y in places:
        write_lines(page, [title], (x, y), font, title_height)
        page.paste(image, (x, y + title_height))
    write_lines(page, lines, (gap, below), font, title_height)
    return page


def _enlarge(array):
    from matplotlib import colormaps
    from PIL import Image

    if array.ndim == 2:
        colours = colormaps["viridis"](array / array.max())[:, :, :3]
        tall, wide = (14, 11) if len(array) < 10 else (5, 5)
    else:
        colours, tall, wide = array, 26, 26
    pixels = np.round(255 * colours).astype(np.uint8)
    return Image.fromarray(pixels.repeat(tall, axis=0).repeat(wide, axis=1))


def _array(value):
    import keras

    return keras.ops.convert_to_numpy(value)
