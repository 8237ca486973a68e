"""What the attention of an agent says about one observation: the arrays behind Figures 6 to 9.

Letters: R rows and C columns of the board, N = (R-2)(C-1) standard entities, M virtual entities,
H heads. `attention` is the dict of a model called with `return_attention=True`, for one board:
`block_0/standard` [H, N, N], `block_0/virtual` [H, M, N+M], `block_1/simplicial` [H, N, M, M].
Entity `i` belongs to tile `(y, x)` of the region [1, R-2] x [1, C-1] with `i = x + (C-1)(y-1) - 1`
(*Logic and the 2-Simplicial Transformer*, section 6.1). The drawing stands in
`attention_figures.py`.
"""

from dataclasses import dataclass

import numpy as np


def attention_of(model, observation: np.ndarray) -> dict[str, np.ndarray]:
    """Runs an agent on one observation uint8 [R, C+1, 3] and returns its attention as arrays.

    Raises:
        ValueError: The observation is not one uint8 board picture.
    """
    observation = np.asarray(observation)
    if observation.ndim != 3 or observation.shape[-1] != 3 or observation.dtype != np.uint8:
        received = f"{observation.dtype} {observation.shape}"
        raise ValueError(
            f"received an observation {received}; expected uint8 [rows, columns + 1, 3]"
        )
    outputs = model(observation[None], return_attention=True)
    return {name: _to_numpy(value)[0] for name, value in outputs["attention"].items()}


def _to_numpy(value):
    import keras

    return keras.ops.convert_to_numpy(value)


def entity_tile(entity: int, columns: int) -> tuple[int, int]:
    """The tile (x, y) of standard entity `entity` on a board with `columns` columns.

    >>> entity_tile(7, columns=9), entity_tile(17, columns=9)
    ((8, 1), (2, 3))
    """
    if entity < 0:
        raise ValueError(f"received entity {entity}; allowed: 0 and above")
    return entity % (columns - 1) + 1, entity // (columns - 1) + 1


def tile_entity(x: int, y: int, columns: int) -> int:
    """The standard entity of tile (x, y): `x + (C-1)(y-1) - 1`.

    >>> tile_entity(8, 1, columns=9)
    7
    """
    if not 1 <= x < columns or y < 1:
        raise ValueError(f"received x={x}, y={y}; allowed: x from 1 to {columns - 1}, y from 1")
    return x + (columns - 1) * (y - 1) - 1


def sharpen(probabilities: np.ndarray, factor: float) -> np.ndarray:
    """The softmax over the last axis with its logits multiplied by `factor`.

    The paper does this with factor 2 to the virtual entities' attention, "for visibility in print".

    >>> sharpen(np.array([0.2, 0.8]), 2.0).round(3).tolist()
    [0.059, 0.941]
    """
    powers = np.asarray(probabilities, np.float64) ** factor
    return powers / powers.sum(axis=-1, keepdims=True)


def virtual_on_board(
    attention: dict[str, np.ndarray],
    observation: np.ndarray,
    block: int = 0,
    factor: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """The virtual entities' attention laid over the board (Figures 7 to 9).

    Args:
        attention: Attention of one board.
        observation: uint8 [R, C+1, 3].
        block: Transformer block; the paper shows the first.
        factor: Sharpening, see `sharpen`; 1 leaves the attention as it is.

    Returns:
        `weights` [H, M, R-2, C-1], the attention to each standard entity at its tile, and
        `pixels` [H, M, R-2, C-1, 3], the weights times the pixels (0 to 1) of the region.
    """
    weights = sharpen(_take(attention, f"block_{block}/virtual"), factor)
    rows, columns = observation.shape[0], observation.shape[1] - 1
    region = observation[1 : rows - 1, 1:columns].astype(np.float64) / 255.0
    heads, virtual, keys = weights.shape
    entities = (rows - 2) * (columns - 1)
    if keys != entities + virtual:
        raise ValueError(
            f"received attention to {keys} entities; a board of {rows} rows and {columns} columns "
            f"with {virtual} virtual entities has {entities + virtual}"
        )
    weights = weights[:, :, :entities].reshape(heads, virtual, rows - 2, columns - 1)
    return weights, weights[..., None] * region


def simplicial_columns(
    attention: dict[str, np.ndarray], block: int = 1, head: int = 0
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """The 2-simplicial attention as the paper shows it.

    Returns:
        `columns` [M*M, N]: column i is the distribution of query entity i over the pairs (j, k);
        `pairs`: the rows' pairs in lexicographic order, counted from 1.
    """
    cube = _take(attention, f"block_{block}/simplicial")[head]
    entities, virtual, _ = cube.shape
    pairs = [(j + 1, k + 1) for j in range(virtual) for k in range(virtual)]
    return cube.reshape(entities, virtual * virtual).T, pairs


@dataclass(frozen=True)
class Simplex:
    """A 2-simplex (i, j, k) with attention above the threshold.

    Attributes:
        query: Standard entity i.
        pair: The virtual entities (j, k), counted from 1.
        weight: Its 2-simplicial attention.
        corners: The standard entities that j and k attend to most in the first block.
    """

    query: int
    pair: tuple[int, int]
    weight: float
    corners: tuple[int, int]


def virtual_corners(attention: dict[str, np.ndarray], block: int = 0) -> list[int]:
    """For each virtual entity the standard entity that it attends to most, over all heads."""
    virtual = _take(attention, f"block_{block}/virtual")
    entities = virtual.shape[2] - virtual.shape[1]
    return virtual[:, :, :entities].max(axis=0).argmax(axis=-1).tolist()


def generic_pair(columns: np.ndarray) -> int:
    """Row of `columns` [M*M, N] that most query entities attend to most (section 6.1.2)."""
    return int(np.bincount(columns.argmax(axis=0), minlength=len(columns)).argmax())


def simplices(
    attention: dict[str, np.ndarray],
    threshold: float = 0.5,
    block: int = 1,
    head: int = 0,
    generic: bool = False,
) -> list[Simplex]:
    """The 2-simplices with attention above `threshold`, strongest first.

    Args:
        attention: Attention of one board.
        threshold: Smallest attention that counts.
        block: Block of the 2-simplicial attention; the paper shows the second, since in the first
            the virtual entities know nothing of the board yet.
        head: 2-simplicial head.
        generic: Whether to keep those with the pair that most entities attend to, which the paper
            calls generic and does not draw.
    """
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"received threshold={threshold}; allowed: 0 to 1")
    columns, pairs = simplicial_columns(attention, block, head)
    corners = virtual_corners(attention)
    common = generic_pair(columns)
    found = []
    for row, query in zip(*np.nonzero(columns > threshold), strict=True):
        if generic or row != common:
            pair = pairs[row]
            ends = (corners[pair[0] - 1], corners[pair[1] - 1])
            found.append(Simplex(int(query), pair, float(columns[row, query]), ends))
    return sorted(found, key=lambda simplex: -simplex.weight)


def _take(attention, name):
    if name not in attention:
        raise ValueError(f"received no attention {name!r}; there is {sorted(attention)}")
    return np.asarray(attention[name])
