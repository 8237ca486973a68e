"""Both attentions against the paper's formulas, written slowly."""

import functools
import itertools

import numpy as np
import pytest

from tests.golden_numbers import run
from tests.ops import clifford
from tf_relational.layers import RelationalAttention, SimplicialAttention


def drawn(*shape, seed=0, scale=0.5):
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype("float32")


def softmax(logits):
    powers = np.exp(np.asarray(logits) - np.max(logits))
    return powers / powers.sum()


def built(layer, features, **weights):
    layer.build((None, None, features))
    for name, value in weights.items():
        getattr(layer, name).assign(value)
    return layer


def slow_relational(x, weights, heads, virtual, scale):
    """Equations 4, 18 and 19 for one example, head by head and entity by entity."""
    count, features = x.shape
    head = features // heads
    outputs = np.zeros((count, features))
    attention = np.zeros((heads, count, count))
    for h in range(heads):
        columns = slice(h * head, (h + 1) * head)
        query, key, value = (
            x @ weights[:, i * features : (i + 1) * features][:, columns] for i in range(3)
        )
        for i in range(count):
            seen = range(count - virtual) if i < count - virtual else range(count)
            shares = softmax([scale * query[i] @ key[j] for j in seen])
            attention[h, i, list(seen)] = shares
            outputs[i, columns] = sum(
                share * value[j] for share, j in zip(shares, seen, strict=True)
            )
    return outputs, attention


@pytest.mark.parametrize(("variant", "scale"), [("published", 0.5), ("paper", 1.0)])
@pytest.mark.parametrize("virtual", [0, 2])
def test_relational_attention_is_the_formula(variant, scale, virtual):
    x, weights = drawn(3, 6, 8), drawn(8, 24, seed=1)
    layer = built(RelationalAttention(2, virtual, variant), 8, qkv_weights=weights)
    outputs, attention = run(functools.partial(layer, return_attention=True), x)
    standard = 6 - virtual
    for b in range(3):
        # D / H is 4, whose root is 2.
        expected, shares = slow_relational(x[b], weights, 2, virtual, scale)
        np.testing.assert_allclose(np.asarray(outputs)[b], expected, 1e-4, 1e-5)
        np.testing.assert_allclose(
            np.asarray(attention["standard"])[b], shares[:, :standard, :standard], 1e-4, 1e-6
        )
        if virtual:
            np.testing.assert_allclose(
                np.asarray(attention["virtual"])[b], shares[:, standard:], 1e-4, 1e-6
            )


def slow_simplicial(x, weights, kernel, heads, virtual, variant):
    """Equations 15, 18 and 19 for one example, its triples one by one.

    The logits are those of a Clifford algebra that is multiplied out.
    """
    count, size = len(x), weights.shape[1] // 4
    head = size // heads
    pairs = range(count - virtual, count) if virtual else range(count)
    outputs = np.zeros((count, size))
    attention = np.zeros((heads, count - virtual, len(pairs), len(pairs)))
    for h in range(heads):
        columns = slice(h * head, (h + 1) * head)
        query, key1, key2, value = (
            x @ weights[:, i * size : (i + 1) * size][:, columns] for i in range(4)
        )
        for i in range(count - virtual):
            powers = {
                (j, k): np.exp(clifford.unsigned_scalar_product(query[i], key1[j], key2[k]))
                for j, k in itertools.product(range(count), repeat=2)
                if variant == "paper" or (j in pairs and k in pairs)
            }
            total = sum(powers.values())
            for (a, j), (b, k) in itertools.product(enumerate(pairs), repeat=2):
                share = powers[j, k] / total
                attention[h, i, a, b] = share
                for q, r, s in itertools.product(range(head), repeat=3):
                    term = kernel[h * head + q, r, s] * value[j, r] * value[k, s]
                    outputs[i, h * head + q] += share * term
        outputs[count - virtual :, columns] = value[count - virtual :]
    return outputs, attention


@pytest.mark.parametrize("variant", ["published", "paper"])
@pytest.mark.parametrize(("heads", "virtual"), [(1, 3), (2, 3), (3, 1), (2, 0)])
def test_simplicial_attention_is_the_formula(heads, virtual, variant):
    size, count = 6, 5
    x = drawn(2, count, 4)
    weights = drawn(4, 4 * size, seed=1)
    kernel = drawn(size, size // heads, size // heads, seed=2)
    layer = SimplicialAttention(size, heads, virtual, variant)
    layer = built(layer, 4, qkkv_weights=weights, B_weight=kernel)
    outputs, attention = run(functools.partial(layer, return_attention=True), x)
    for b in range(2):
        expected, shares = slow_simplicial(x[b], weights, kernel, heads, virtual, variant)
        np.testing.assert_allclose(np.asarray(outputs)[b], expected, 1e-4, 1e-4)
        np.testing.assert_allclose(np.asarray(attention["simplicial"])[b], shares, 1e-4, 1e-5)


def test_every_head_is_an_attention_of_its_own():
    size, heads, head = 6, 3, 2
    x = drawn(2, 7, 8)
    weights, kernel = drawn(8, 4 * size, seed=1), drawn(size, head, head, seed=2)
    many = SimplicialAttention(size, heads, num_virtual=2)
    many = built(many, 8, qkkv_weights=weights, B_weight=kernel)
    outputs, attention = many(x, return_attention=True)
    for h in range(heads):
        columns = slice(h * head, (h + 1) * head)
        one = built(
            SimplicialAttention(head, 1, num_virtual=2),
            8,
            qkkv_weights=np.concatenate([part[:, columns] for part in np.split(weights, 4, 1)], 1),
            B_weight=kernel[columns],
        )
        expected, shares = one(x, return_attention=True)
        np.testing.assert_allclose(
            np.asarray(outputs)[..., columns], np.asarray(expected), 1e-5, 1e-5
        )
        np.testing.assert_allclose(
            np.asarray(attention["simplicial"])[:, h],
            np.asarray(shares["simplicial"])[:, 0],
            1e-5,
            1e-6,
        )


@pytest.mark.parametrize("layer_class", [RelationalAttention, SimplicialAttention])
def test_virtual_entities_given_once_hold_for_every_example(layer_class):
    arguments = {"num_heads": 2, "num_virtual": 3}
    if layer_class is SimplicialAttention:
        arguments["simplicial_dim"] = 6
    layer = built(layer_class(**arguments), 8)
    standard, virtual = drawn(4, 5, 8), drawn(1, 3, 8, seed=1)
    first, second, attention = layer.attend(standard, virtual)
    every = np.concatenate([standard, np.repeat(virtual, 4, axis=0)], axis=1)
    outputs, expected_attention = layer(every, return_attention=True)
    np.testing.assert_allclose(np.asarray(first), np.asarray(outputs)[:, :5], 1e-5, 1e-5)
    np.testing.assert_allclose(
        np.broadcast_to(np.asarray(second), (4, *second.shape[1:])),
        np.asarray(outputs)[:, 5:],
        1e-5,
        1e-5,
    )
    for name, weights in attention.items():
        np.testing.assert_allclose(
            np.asarray(weights), np.asarray(expected_attention[name]), 1e-5, 1e-6
        )


def test_no_tensor_of_the_simplicial_attention_is_larger_than_its_logits():
    """With many entities, none of M^2 N, and B applied to the pairs alone."""
    import keras

    if keras.backend.backend() != "jax":
        pytest.skip("reads the sizes from JAX's intermediate representation")
    import jax

    batch, standard, virtual, heads = 2, 50, 7, 2
    layer = built(SimplicialAttention(4, heads, virtual), 4)
    jaxpr = jax.make_jaxpr(lambda x: layer(x))(drawn(batch, standard + virtual, 4))
    sizes = [variable.aval.size for step in jaxpr.eqns for variable in step.outvars]
    assert max(sizes) == batch * heads * standard * virtual**2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RelationalAttention(variant="mine"), "variant is one of .* received 'mine'"),
        (lambda: built(RelationalAttention(3), 8), "num_heads=3 and the input's features=8"),
        (lambda: SimplicialAttention(6, num_heads=4), "num_heads=4 and simplicial_dim=6"),
        (lambda: SimplicialAttention(6, num_heads=0), "num_heads=0"),
        (lambda: RelationalAttention(2, num_virtual=3)(drawn(1, 3, 4)), "at least 4 entities"),
        (lambda: SimplicialAttention(6, num_virtual=3)(drawn(1, 2, 4)), r"shape \(1, 2, 4\)"),
    ],
)
def test_what_cannot_attend_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
