"""How this room's figures look: colours, title and caption, and writing them to a file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Distinguishable with the common forms of colour blindness (Okabe and Ito's set).
AGENT_COLOURS = {"relational": "#D55E00", "simplicial": "#0072B2"}
OTHER_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#555555")
DOTS_PER_INCH = 150


def new_figure(width: float, height: float):
    """A matplotlib figure of `width` x `height` inches that needs no display."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panel_grid(titles: Sequence[str]):
    """A figure with a panel for each title, at most four a row: shares over environment frames.

    Returns:
        The figure, and its panels in the order of the titles.
    """
    across = min(4, len(titles))
    down = -(-len(titles) // across)
    figure = new_figure(max(2.6 * across, 5.5), 2.2 * down + 0.9)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, title in zip(panels, titles, strict=False):
        panel.set_title(title, fontsize=9)
        panel.set_ylim(-0.03, 1.03)
        panel.grid(alpha=0.3)
        panel.tick_params(labelsize=8)
        count_in_thousands(panel)
    for panel in panels[len(titles) :]:
        panel.set_visible(False)
    for panel in panels[max(0, len(titles) - across) : len(titles)]:
        panel.tick_params(labelbottom=True)
    figure.supxlabel("environment frames", fontsize=10)
    return figure, panels[: len(titles)]


def save(figure, path: str | Path, title: str, caption: str) -> Path:
    """Writes the figure as PNG with a title above and a caption, wrapped to its width, below.

    Args:
        figure: From `new_figure`.
        path: File to write; its folder is made.
        title: One line.
        caption: What is seen; may be empty.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.set_dpi(DOTS_PER_INCH)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    font, large = label_font(18), label_font(24)
    lines = wrap(caption, font, drawn.width - 60)
    height = 44 + drawn.height + 26 * len(lines) + 16
    page = Image.new("RGB", (drawn.width, height), "white")
    left = max(0, (drawn.width - large.getlength(title)) // 2)
    write_lines(page, [title], (left, 10), large, spacing=30)
    page.paste(drawn, (0, 44))
    write_lines(page, lines, (30, 44 + drawn.height + 2), font, spacing=26)
    page.save(path, format="PNG")
    return path


def label_font(size: int):
    """The font of matplotlib's labels, for Pillow, `size` pixels high."""
    from matplotlib.font_manager import findfont
    from PIL import ImageFont

    return ImageFont.truetype(findfont("DejaVu Sans"), size)


def wrap(text: str, font, width: int) -> list[str]:
    """`text` as lines no wider than `width` pixels; a longer word keeps a line of its own."""
    lines = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def write_lines(image, lines, place, font, spacing, colour="black") -> None:
    """Writes lines of text on a Pillow image from `place` (x, y) downwards."""
    from PIL import ImageDraw

    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((place[0], place[1] + spacing * number), line, font=font, fill=colour)


def count_in_thousands(axes):
    """Labels the horizontal axis 1 k, 1 M and so on."""
    from matplotlib.ticker import EngFormatter

    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
