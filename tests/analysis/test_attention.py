"""The arrays behind the attention pictures, against loops over entities and tiles."""

import numpy as np
import pytest

from tf_relational.analysis.attention import (
    attention_of,
    entity_tile,
    generic_pair,
    sharpen,
    simplices,
    simplicial_columns,
    tile_entity,
    virtual_corners,
    virtual_on_board,
)

ROWS, COLUMNS, HEADS, VIRTUAL = 7, 9, 2, 3
N = (ROWS - 2) * (COLUMNS - 1)


def softmax(logits, axes=(-1,)):
    powers = np.exp(logits - logits.max(axis=axes, keepdims=True))
    return powers / powers.sum(axis=axes, keepdims=True)


@pytest.fixture(scope="module")
def logits():
    rng = np.random.default_rng(0)
    return {
        "block_0/standard": rng.normal(size=(HEADS, N, N)),
        "block_0/virtual": rng.normal(size=(HEADS, VIRTUAL, N + VIRTUAL)),
        "block_1/simplicial": 4 * rng.normal(size=(1, N, VIRTUAL, VIRTUAL)),
    }


@pytest.fixture(scope="module")
def attention(logits):
    return {
        name: softmax(values, (-2, -1) if "simplicial" in name else (-1,))
        for name, values in logits.items()
    }


@pytest.fixture(scope="module")
def observation():
    return np.random.default_rng(1).integers(0, 256, (ROWS, COLUMNS + 1, 3), np.uint8)


def test_entities_and_tiles_correspond_as_in_the_paper():
    # Section 6.1 on a 7x9 board: 7, 15, 23, 31 stand in the last column, 39 in the corner.
    assert [entity_tile(i, 9) for i in (0, 7, 15, 23, 39)] == [
        (1, 1), (8, 1), (8, 2), (8, 3), (8, 5),
    ]  # fmt: skip
    for y in range(1, ROWS - 1):
        for x in range(1, COLUMNS):
            entity = x + (COLUMNS - 1) * (y - 1) - 1
            assert tile_entity(x, y, COLUMNS) == entity
            assert entity_tile(entity, COLUMNS) == (x, y)


@pytest.mark.parametrize("tile", [(0, 1), (9, 1), (1, 0)])
def test_tiles_outside_the_region_are_refused(tile):
    with pytest.raises(ValueError, match="allowed: x from 1 to 8"):
        tile_entity(*tile, COLUMNS)
    with pytest.raises(ValueError, match="entity -1"):
        entity_tile(-1, COLUMNS)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_virtual_entities_on_the_board(logits, attention, observation, factor):
    weights, pixels = virtual_on_board(attention, observation, factor=factor)
    expected = softmax(factor * logits["block_0/virtual"])
    assert weights.shape == (HEADS, VIRTUAL, ROWS - 2, COLUMNS - 1)
    for h in range(HEADS):
        for z in range(VIRTUAL):
            for i in range(N):
                y, x = i // (COLUMNS - 1) + 1, i % (COLUMNS - 1) + 1
                share = expected[h, z, i]
                np.testing.assert_allclose(weights[h, z, y - 1, x - 1], share, rtol=1e-9)
                colour = observation[y, x] / 255 * share
                np.testing.assert_allclose(pixels[h, z, y - 1, x - 1], colour, rtol=1e-9)


def test_sharpening_keeps_a_distribution():
    p = np.array([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(sharpen(p, 2.0).sum(-1), 1.0)
    np.testing.assert_allclose(sharpen(p, 1.0), p)
    assert sharpen(p, 2.0)[0, 2] > 0.7


def test_a_board_that_does_not_fit_is_refused(attention, observation):
    with pytest.raises(ValueError, match="43 entities; a board of 7 rows and 8 columns"):
        virtual_on_board(attention, observation[:, :-1])
    with pytest.raises(ValueError, match="no attention 'block_3/virtual'"):
        virtual_on_board(attention, observation, block=3)


def test_simplicial_columns_are_lexicographic(attention):
    columns, pairs = simplicial_columns(attention)
    assert pairs == [(j, k) for j in (1, 2, 3) for k in (1, 2, 3)]
    for row, (j, k) in enumerate(pairs):
        for i in range(N):
            assert columns[row, i] == attention["block_1/simplicial"][0, i, j - 1, k - 1]
    np.testing.assert_allclose(columns.sum(axis=0), 1.0)


def test_corners_are_what_virtual_entities_attend_to_most(attention):
    virtual = attention["block_0/virtual"]
    for z, corner in enumerate(virtual_corners(attention)):
        best = max((virtual[h, z, i], i) for h in range(HEADS) for i in range(N))
        assert corner == best[1]


def test_the_generic_pair_is_the_commonest_choice():
    columns = np.array([[0.6, 0.1, 0.2, 0.3], [0.4, 0.9, 0.8, 0.7]])
    assert generic_pair(columns) == 1


@pytest.mark.parametrize("generic", [True, False])
def test_simplices_are_those_above_the_threshold(attention, generic):
    cube = attention["block_1/simplicial"][0]
    favourite = [tuple(np.argwhere(m == m.max())[0]) for m in cube]
    common = max(set(favourite), key=lambda p: (favourite.count(p), -p[0] * VIRTUAL - p[1]))
    corners = virtual_corners(attention)
    expected = {}
    for i in range(N):
        for j in range(VIRTUAL):
            for k in range(VIRTUAL):
                if cube[i, j, k] > 0.4 and (generic or (j, k) != common):
                    expected[i, (j + 1, k + 1)] = (cube[i, j, k], (corners[j], corners[k]))
    found = simplices(attention, threshold=0.4, generic=generic)
    assert {(s.query, s.pair): (s.weight, s.corners) for s in found} == expected
    assert len(found) > 5
    assert [s.weight for s in found] == sorted((s.weight for s in found), reverse=True)


def test_a_threshold_is_a_probability(attention):
    with pytest.raises(ValueError, match="threshold=1.5"):
        simplices(attention, threshold=1.5)


def test_attention_of_an_agent_is_the_models_without_the_batch():
    from tf_relational.models import build_agent

    agent = build_agent("simplicial", num_virtual=3)
    observations = np.random.default_rng(2).integers(0, 256, (2, 7, 10, 3), np.uint8)
    together = agent(observations, return_attention=True)["attention"]
    alone = attention_of(agent, observations[1])
    assert set(alone) == set(together)
    for name, value in alone.items():
        # Unscaled 2-simplicial logits are large; their softmax keeps four digits in float32.
        np.testing.assert_allclose(value, np.asarray(together[name])[1], atol=1e-4)
    with pytest.raises(ValueError, match="expected uint8"):
        attention_of(agent, observations)
