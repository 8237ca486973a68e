"""The PrediNet paper's baselines against their formulas, written slowly."""

import functools
import itertools

import keras
import numpy as np
import pytest

from tests.golden_numbers import run
from tests.layers.test_predinet import built, drawn, softmax
from tf_relational.layers import MHA, MLP1, MLP2, RelationNet

# Batch 1, one head and two entities among them.
SIZES = pytest.mark.parametrize(
    ("heads", "batch", "count"), [(1, 1, 2), (1, 2, 3), (4, 1, 5), (3, 3, 2)]
)


def weight(layer, name):
    return np.asarray(getattr(layer, name), "float64")


@SIZES
@pytest.mark.parametrize("variant", ["published", "paper"])
def test_relation_net_is_the_formula(heads, batch, count, variant):
    entities = drawn(batch, count, 6)
    layer = built(RelationNet(heads + 3, heads + 1, variant), count, 6)
    hidden, output = weight(layer, "hidden_weights"), weight(layer, "output_weights")
    outputs = np.asarray(run(layer, entities))
    for b in range(batch):
        said = []
        for i, j in itertools.product(range(count), repeat=2):
            if i != j or variant == "published":
                pair = np.concatenate([entities[b, i], entities[b, j]])
                said.append(np.maximum(np.maximum(pair @ hidden, 0) @ output, 0))
        assert len(said) == count * (count if variant == "published" else count - 1)
        np.testing.assert_allclose(outputs[b], np.mean(said, axis=0), 1e-4, 1e-6)


@SIZES
def test_multi_head_attention_is_the_formula(heads, batch, count):
    entities = drawn(batch, count, 6)
    layer = built(MHA(heads, key_size=2, value_size=3), count, 6)
    names = ("query_weights", "key_weights", "value_weights", "position_weights")
    query, key, value, position = (weight(layer, name) for name in names)
    outputs, attention = run(functools.partial(layer, return_attention=True), entities)
    for b in range(batch):
        expected = np.zeros((heads, 3))
        for h in range(heads):
            keys, values = slice(2 * h, 2 * h + 2), slice(3 * h, 3 * h + 3)
            for n, entity in enumerate(entities[b]):
                q = entity @ query[:, keys]
                shares = softmax([q @ (other @ key[:, keys]) for other in entities[b]])
                np.testing.assert_allclose(
                    np.asarray(attention["standard"])[b, h, n], shares, 1e-4, 1e-6
                )
                for share, other in zip(shares, entities[b], strict=True):
                    expected[h] += position[h, 0, n] * share * (other @ value[:, values])
        np.testing.assert_allclose(np.asarray(outputs)[b], expected.reshape(-1), 1e-4, 1e-5)


@SIZES
@pytest.mark.parametrize("layer_class", [MLP1, MLP2])
def test_mlp_is_the_formula(heads, batch, count, layer_class):
    entities = drawn(batch, count, 6)
    layer = built(layer_class(heads + 3), count, 6)
    outputs = np.asarray(run(layer, entities))
    for b in range(batch):
        expected = [feature for entity in entities[b] for feature in entity]
        for dense in ([layer.hidden] if layer_class is MLP2 else []) + [layer.dense]:
            expected = np.maximum(expected @ weight(dense, "kernel") + weight(dense, "bias"), 0)
        np.testing.assert_allclose(outputs[b], expected, 1e-4, 1e-5)


def test_masked_pairs_do_not_count():
    layer = built(RelationNet(4, 3, "paper"), 5, 6)
    entities, mask = drawn(2, 5, 6), np.array([[1, 1, 1, 0, 1], [0, 1, 0, 0, 0]], bool)
    outputs = np.asarray(layer(entities, mask=mask))
    np.testing.assert_allclose(
        outputs[:1], np.asarray(layer(entities[:1, mask[0]])), rtol=1e-4, atol=1e-6
    )
    # One entity makes no pair of two.
    assert not outputs[1].any()


def test_no_tensor_of_the_relation_net_holds_the_features_of_pairs():
    if keras.backend.backend() != "jax":
        pytest.skip("reads the sizes from JAX's intermediate representation")
    import jax

    batch, count, features = 2, 30, 50
    layer = built(RelationNet(3, 4), count, features)
    jaxpr = jax.make_jaxpr(lambda x: layer(x))(drawn(batch, count, features))
    sizes = [variable.aval.size for step in jaxpr.eqns for variable in step.outvars]
    assert max(sizes) == batch * count**2 * 4 < batch * count**2 * 2 * features


@pytest.mark.parametrize("layer_class", [MHA, MLP1, MLP2, RelationNet])
def test_baselines_begin_as_published(layer_class):
    layer = layer_class()
    layer.build((None, 25, 34))
    assert layer.compute_output_shape((7, 25, 34)) == (7, 640)
    first = {}
    for variable in layer.trainable_variables:
        values = np.asarray(variable)
        if variable.path.endswith("bias"):
            assert (values == np.float32(0.1)).all()
        else:
            assert 0.18 < np.abs(values).max() <= 0.2, variable.path
            assert abs(values.std() / 0.088 - 1) < 0.1, variable.path
            first[variable.path] = values.reshape(-1)[:5].tolist()
    assert len({tuple(values) for values in first.values()}) == len(first)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RelationNet(0), "hidden_units is an integer of at least 1; received 0"),
        (lambda: RelationNet(variant="mine"), "variant is one of .* received 'mine'"),
        (lambda: RelationNet(variant="paper")(drawn(1, 1, 6)), "Pairs of two entities need two"),
        (lambda: MHA(value_size="3"), "value_size .* received '3'"),
        (lambda: MLP1(None), "units .* received None"),
        (lambda: MLP2(hidden_units=-1), "hidden_units .* received -1"),
        (lambda: built(MLP1(), None, 6), "known N and D"),
        (lambda: built(MLP2(3, 4), 5, 6)(drawn(1, 4, 6)), "built for 5 entities of 6 features"),
        (lambda: built(MHA(), 5, 6)(drawn(1, 4, 6)), r"received shape \(1, 4, 6\)"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
