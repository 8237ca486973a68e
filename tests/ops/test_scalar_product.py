"""The unsigned scalar product against a Clifford algebra that is multiplied out."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests.golden_numbers import function_gradients
from tests.ops import clifford
from tf_relational.ops import safe_sqrt, unsigned_scalar_product


def computed(*vectors):
    return np.asarray(unsigned_scalar_product(*[np.asarray(each, "float32") for each in vectors]))


def random_vectors(count, dimension, seed, shape=()):
    return np.random.default_rng(seed).normal(size=(count, *shape, dimension)).astype("float32")


# Whole numbers: the algebra, the rounding of float32 and ties are then exact to reason about.
def vectors(count, dimension=4):
    whole = st.integers(-3, 3)
    return st.lists(
        st.lists(whole, min_size=dimension, max_size=dimension), min_size=count, max_size=count
    ).map(lambda rows: np.array(rows, "float32"))


some_vectors = st.integers(2, 4).flatmap(vectors)
few = settings(max_examples=15, deadline=None)


@few
@given(some_vectors)
def test_it_is_the_part_of_the_clifford_product_below_the_top_degree(rows):
    expected = clifford.unsigned_scalar_product(*rows)
    np.testing.assert_allclose(computed(*rows), expected, rtol=1e-4, atol=1e-3)


def test_the_clifford_oracle_multiplies_basis_vectors():
    a, b = clifford.vector([1, 2]), clifford.vector([3, 5])
    assert clifford.product(a, b) == {(): 13.0, (0, 1): -1.0}
    assert clifford.multiply_blades((1,), (0,)) == (-1, (0, 1))
    assert clifford.multiply_blades((0, 1), (0, 1)) == (-1, ())


@few
@given(some_vectors)
def test_lemma_i_it_lies_between_zero_and_the_product_of_norms(rows):
    bound = np.prod(np.linalg.norm(rows, axis=-1))
    assert 0 <= computed(*rows) <= bound * (1 + 1e-5) + 1e-6


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_lemma_ii_it_vanishes_for_pairwise_orthogonal_vectors(count):
    rows = np.diag(np.arange(1.0, count + 1))
    assert computed(*rows) == 0
    # and only there for two and three vectors: a slight lean is seen.
    rows[0, 1] = 0.1
    assert computed(*rows) > 0.05


@few
@given(some_vectors)
def test_lemma_iii_it_is_the_product_of_norms_exactly_for_dependent_vectors(rows):
    bound = np.prod(np.linalg.norm(rows, axis=-1).astype("float64"))
    gram = rows.astype("float64") @ rows.T.astype("float64")
    independent = round(np.linalg.det(gram))  # a whole number for whole vectors
    if independent == 0:
        np.testing.assert_allclose(computed(*rows), bound, rtol=1e-5, atol=1e-4)
    else:
        np.testing.assert_allclose(
            computed(*rows).astype("float64") ** 2, bound**2 - independent, rtol=1e-4, atol=1e-2
        )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_lemma_iv_the_order_of_vectors_does_not_matter(count):
    rows = random_vectors(count, 6, seed=count)
    expected = computed(*rows)
    for order in itertools.permutations(range(count)):
        np.testing.assert_allclose(computed(*rows[list(order)]), expected, rtol=1e-5)


@few
@given(some_vectors, st.data())
def test_lemma_v_factors_come_out_with_their_absolute_value(rows, data):
    factors = data.draw(
        st.lists(st.integers(-3, 3), min_size=len(rows), max_size=len(rows)).map(np.array)
    )
    np.testing.assert_allclose(
        computed(*(rows * factors[:, None])),
        np.prod(np.abs(factors)) * computed(*rows),
        rtol=1e-4,
        atol=1e-2,
    )


def test_three_vectors_give_the_norm_of_definition_2_5():
    a, b, c = random_vectors(3, 48, seed=0)
    expected = np.linalg.norm((a @ b) * c - (a @ c) * b + (b @ c) * a)
    np.testing.assert_allclose(computed(a, b, c), expected, rtol=1e-5)


def test_two_vectors_give_the_absolute_dot_product():
    a, b = random_vectors(2, 7, seed=1)
    np.testing.assert_allclose(computed(a, b), abs(a @ b), rtol=1e-5)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_leading_dimensions_broadcast(count):
    rows = [
        random_vectors(1, 5, seed, shape)[0]
        for seed, shape in enumerate([(4, 1, 3), (2, 1), (4, 1, 1), ()][:count])
    ]
    result = computed(*rows)
    shape = np.broadcast_shapes(*[row.shape[:-1] for row in rows])
    assert result.shape == shape
    whole = [np.broadcast_to(row, (*shape, 5)) for row in rows]
    for index in np.ndindex(shape):
        np.testing.assert_allclose(
            result[index], clifford.unsigned_scalar_product(*[row[index] for row in whole]), 1e-4
        )


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("what", ["zero", "orthogonal", "equal"])
def test_gradients_are_finite_everywhere(count, what):
    rows = {
        "zero": np.zeros((count, 6)),
        "orthogonal": np.eye(count, 6),
        "equal": np.ones((count, 6)),
    }[what].astype("float32")
    gradients = function_gradients(unsigned_scalar_product, *rows)
    assert np.isfinite(gradients).all()
    if what != "equal":
        assert not np.any(gradients)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_gradients_are_those_of_the_clifford_product(count):
    rows = random_vectors(count, 4, seed=10 + count).astype("float64")
    gradients = function_gradients(unsigned_scalar_product, *rows.astype("float32"))
    for index in np.ndindex(rows.shape):
        step = np.zeros_like(rows)
        step[index] = 1e-5
        high = clifford.unsigned_scalar_product(*(rows + step))
        low = clifford.unsigned_scalar_product(*(rows - step))
        np.testing.assert_allclose(gradients[index[0]][index[1]], (high - low) / 2e-5, 1e-3, 1e-3)


def test_safe_sqrt_keeps_positive_values_and_swallows_rounding_below_zero():
    x = np.array([4.0, 1e-30, 0.0, -1e-12], "float32")
    np.testing.assert_array_equal(np.asarray(safe_sqrt(x)), [2.0, np.sqrt(x[1]), 0.0, 0.0])
    (slope,) = function_gradients(lambda x: ops.sum(safe_sqrt(x)), x)
    np.testing.assert_allclose(slope, [0.25, 0.5 / np.sqrt(x[1]), 0.0, 0.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([np.ones(3)], "received 1"),
        ([np.ones(3), np.ones(4)], r"received shapes \[\(3,\), \(4,\)\]"),
        ([np.ones(3), np.float64(2)], "received shapes"),
    ],
)
def test_what_has_no_product_is_refused(vectors, words):
    with pytest.raises(ValueError, match=words):
        unsigned_scalar_product(*vectors)
