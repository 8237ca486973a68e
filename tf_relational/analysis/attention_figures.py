"""Pictures of an agent's attention: Figures 6 to 9 of *Logic and the 2-Simplicial Transformer*.

The arrays come from `attention.py`; here they are only drawn. Every function writes one PNG.
"""

from pathlib import Path

import numpy as np

from tf_relational.analysis.attention import (
    attention_of,
    entity_tile,
    generic_pair,
    simplices,
    simplicial_columns,
    virtual_on_board,
)
from tf_relational.analysis.canvas import OTHER_COLOURS, new_figure, save

MOST_SIMPLICES = 4
"""Simplices drawn on one board at most, so that they can be told apart."""


def draw_standard_attention(
    model, observation: np.ndarray, path: str | Path, block: int = 0, description: str = ""
) -> Path:
    """The board beside the 1-simplicial attention of every head (Figure 6).

    Args:
        model: An agent.
        observation: uint8 [R, C+1, 3].
        path: PNG to write.
        block: Transformer block, from 0; the paper shows the first.
        description: Sentence for the caption: which model, how far trained.
    """
    attention = attention_of(model, observation)
    matrices = attention[f"block_{block}/standard"]
    figure = new_figure(4.2 + 4.0 * len(matrices), 4.0)
    panels = figure.subplots(1, 1 + len(matrices), squeeze=False)[0]
    _draw_board(panels[0], observation)
    columns = observation.shape[1] - 1
    for head, (panel, matrix) in enumerate(zip(panels[1:], matrices, strict=True), start=1):
        image = panel.imshow(matrix, vmin=0.0, interpolation="nearest")
        panel.set_title(f"head {head}", fontsize=10)
        panel.set_xlabel("key entity j")
        panel.set_ylabel("query entity i")
        panel.set_xticks(range(0, len(matrix), columns - 1))
        panel.set_yticks(range(0, len(matrix), columns - 1))
        figure.colorbar(image, ax=panel, fraction=0.046)
    caption = (
        f"1-simplicial attention between standard entities, Transformer block {block + 1}. Row i "
        "tells how query entity i spreads its attention over the keys j; every row sums to 1. The "
        "numbers on the board are the entities' indices: entity x + (C-1)(y-1) - 1 stands for tile "
        f"(y, x). {description}"
    )
    return save(figure, path, f"1-simplicial attention, block {block + 1}", caption)


def draw_simplicial_attention(
    model,
    observation: np.ndarray,
    path: str | Path,
    threshold: float = 0.5,
    factor: float = 2.0,
    head: int = 0,
    description: str = "",
) -> Path:
    """The virtual entities' attention over the board and the 2-simplicial attention (Figures 7-9).

    Shown are the 1-simplicial attention of the virtual entities in the first block and the
    2-simplicial attention of the second, with the simplices above `threshold` on the board.

    Args:
        model: A simplicial agent of at least two blocks.
        observation: uint8 [R, C+1, 3].
        path: PNG to write.
        threshold: Smallest 2-simplicial attention of a simplex that is drawn.
        factor: Sharpening of the virtual entities' attention; 2 in the paper, 1 for none.
        head: 2-simplicial head.
        description: Sentence for the caption: which model, how far trained.
    """
    attention = attention_of(model, observation)
    weights, pixels = virtual_on_board(attention, observation, factor=factor)
    columns, pairs = simplicial_columns(attention, head=head)
    found = simplices(attention, threshold, head=head)
    heads, virtual = weights.shape[:2]

    figure = new_figure(5.6 + 3.1 * heads, 2.2 * virtual + 0.5 * heads + 0.28 * len(pairs) + 2.8)
    upper, lower = figure.subfigures(
        2, 1, height_ratios=(2.2 * virtual + 0.8, 0.5 * heads + 0.28 * len(pairs) + 2.0)
    )
    grid = upper.add_gridspec(virtual, 1 + heads, width_ratios=(5.6, *[3.1] * heads))
    board = upper.add_subplot(grid[:, 0])
    _draw_board(board, observation)
    _draw_simplices(board, found[:MOST_SIMPLICES], observation.shape[1] - 1)
    for z in range(virtual):
        for h in range(heads):
            panel = upper.add_subplot(grid[z, 1 + h])
            panel.imshow(pixels[h, z] / weights[h, z].max(), interpolation="nearest")
            panel.set_title(f"virtual entity {z + 1}, head {h + 1}", fontsize=9)
            panel.set_xticks([])
            panel.set_yticks([])
    strips = lower.subplots(heads + 1, 1, height_ratios=[virtual] * heads + [len(pairs)])
    for h in range(heads):
        matrix = attention["block_0/virtual"][h]
        names = [f"virtual {z + 1}" for z in range(virtual)]
        title = f"1-simplicial attention of the virtual entities, block 1, head {h + 1}"
        _draw_strip(lower, strips[h], matrix, names, title, "key entity j")
    names = [f"({j}, {k})" for j, k in pairs]
    title = (
        "2-simplicial attention, block 2: columns query entities, rows pairs of virtual entities"
    )
    _draw_strip(lower, strips[heads], columns, names, title, "query entity i")
    return save(
        figure,
        path,
        "Virtual entities and 2-simplicial attention",
        _caption(found, pairs[generic_pair(columns)], threshold, factor, description),
    )


def _caption(found, common, threshold, factor, description):
    sharpened = (
        f"Their attention is sharpened here (logits times {factor:g}); the strips are not."
        if factor != 1
        else "Their attention is not sharpened."
    )
    if found:
        drawn = min(len(found), MOST_SIMPLICES)
        shown = (
            f"On the board: the {drawn} strongest of {len(found)} simplices (i, j, k) with "
            f"attention above {threshold:g}, as triangles from the query entity i (circle) to the "
            "entities that j and k attend to most in block 1 (squares; a line where they are the "
            "same)."
        )
    else:
        shown = f"No 2-simplex has attention above {threshold:g}, but for the generic pair."
    return (
        "Small boards: attention of each virtual entity in block 1 times the pixels of tiles "
        "[1, R-2] x [1, C-1], brightest where it attends most (scaled to the largest). "
        f"{sharpened} {shown} The generic pair, to which most entities attend, is {common}; its "
        f"simplices are left out. {description}"
    )


def _draw_board(axes, observation):
    rows, columns = observation.shape[0], observation.shape[1] - 1
    axes.imshow(observation, interpolation="nearest")
    axes.set_xticks(np.arange(-0.5, columns + 1), minor=True)
    axes.set_yticks(np.arange(-0.5, rows), minor=True)
    axes.grid(which="minor", color="white", linewidth=0.4)
    axes.tick_params(which="minor", length=0)
    axes.set_xticks(range(columns + 1), [*map(str, range(columns)), "inv."], fontsize=8)
    axes.set_yticks(range(rows), map(str, range(rows)), fontsize=8)
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    for entity in range((rows - 2) * (columns - 1)):
        x, y = entity_tile(entity, columns)
        dark = observation[y, x].mean() < 140
        axes.text(
            x, y, str(entity), fontsize=7, ha="center", va="center", color="w" if dark else "0.25"
        )


def _draw_simplices(axes, found, columns):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    handles = []
    for number, simplex in enumerate(found):
        colour = OTHER_COLOURS[number % len(OTHER_COLOURS)]
        corners = [entity_tile(entity, columns) for entity in (simplex.query, *simplex.corners)]
        axes.add_patch(Polygon(corners, facecolor=colour, alpha=0.25))
        # Wider lines below, so that simplices on the same tiles are all seen.
        width = 1.5 * (len(found) - number)
        axes.plot(*zip(*corners, corners[0], strict=True), color=colour, linewidth=width)
        size = 24 - 4 * number
        axes.plot(*corners[0], "o", color=colour, markersize=size, fillstyle="none", mew=2)
        xs, ys = zip(*corners[1:], strict=True)
        axes.plot(xs, ys, "s", color=colour, markersize=size, fillstyle="none", mew=2)
        label = f"i = {simplex.query}, (j, k) = {simplex.pair}: {simplex.weight:.2f}"
        handles.append(Line2D([], [], color=colour, linewidth=2, label=label))
    if found:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
        axes.legend(handles=handles, ncols=2, fontsize=8, **place)


def _draw_strip(figure, axes, matrix, names, title, label):
    image = axes.imshow(matrix, vmin=0.0, aspect="auto", interpolation="nearest")
    axes.set_title(title, fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xticks(range(0, matrix.shape[1], 4))
    axes.tick_params(labelsize=8)
    axes.set_xlabel(label, fontsize=8)
    figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
