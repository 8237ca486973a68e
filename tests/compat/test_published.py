"""The authors' numbers: outputs, attention and gradients of every recorded case."""

import functools

import numpy as np
import pytest
from keras import ops

from tests.golden_numbers import layer_gradients, read, run
from tf_relational.compat import KINDS, load_published, published_variables
from tf_relational.ops import unsigned_scalar_product

ATTENTION_CASES = [
    ("relational_attention", "small_ve"),
    ("relational_attention", "paper_ve"),
    ("relational_attention", "small_nove"),
    ("relational_attention", "paper_nove"),
    ("simplicial_attention", "small"),
    ("simplicial_attention", "paper"),
]
AGENTS = ["relational_agent", "simplicial_agent"]
RELATIONS_GAME = ["predinet", "mlp1", "mlp2", "relation_net", "mha"]


def assert_gradients(gradients, arrays):
    """Gradients, by the authors' names, against `grad.*` and the norms `gradnorm.*`."""
    checked = 0
    for name, gradient in gradients.items():
        if f"grad.{name}" in arrays:
            expected, given = arrays[f"grad.{name}"], gradient
        else:
            expected, given = arrays[f"gradnorm.{name}"], np.linalg.norm(gradient)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-4 * scale, err_msg=name)
        checked += 1
    assert checked == sum(key.startswith(("grad.", "gradnorm.")) for key in arrays)


@pytest.mark.parametrize(("kind", "case"), ATTENTION_CASES)
def test_attention_layers_equal_the_recorded_numbers(kind, case):
    arrays = read(kind, case)
    layer = load_published(kind, arrays)
    outputs, attention = run(functools.partial(layer, return_attention=True), arrays["x"])
    np.testing.assert_allclose(np.asarray(outputs), arrays["output"], 1e-5, 1e-5)
    recorded = {
        "attention_prob": attention.get("simplicial", attention.get("standard")),
        "attention_prob_standard": attention.get("standard"),
        "attention_prob_virtual": attention.get("virtual"),
    }
    seen = 0
    for name, weights in recorded.items():
        if name in arrays:
            seen += 1
            weights = np.asarray(weights).reshape(arrays[name].shape)
            np.testing.assert_allclose(weights, arrays[name], 1e-5, 1e-5)
    assert seen == len(attention)

    def loss(call, x):
        return ops.sum(call(x) * arrays["loss_coeff"])

    by_path, by_input = layer_gradients(loss, layer, arrays["x"])
    gradients = {
        name: by_path[variable.path] for name, variable in published_variables(kind, layer).items()
    }
    assert_gradients({**gradients, "x": by_input}, arrays)


@pytest.mark.parametrize("case", ["small", "paper"])
def test_the_triple_products_equal_the_recorded_logits(case):
    arrays = read("simplicial_attention", case)
    standard = arrays["cfg"][0]
    projected = arrays["x"] @ arrays["w.qkkv_weights"].astype("float32")
    query, key1, key2, _ = np.split(projected, 4, axis=-1)
    logits = unsigned_scalar_product(
        query[:, :standard, None, None],
        key1[:, None, standard:, None],
        key2[:, None, None, standard:],
    )
    np.testing.assert_allclose(np.asarray(logits), arrays["attention_logits"], 1e-5, 1e-5)


@pytest.mark.parametrize("kind", AGENTS)
def test_agents_equal_the_recorded_numbers(kind):
    arrays = read(f"{kind}_small")
    agent = load_published(kind, arrays)
    outputs = run(functools.partial(agent, return_attention=True), arrays["obs_uint8"])
    np.testing.assert_allclose(np.asarray(outputs["logits"]), arrays["logits"], 1e-5, 1e-5)
    np.testing.assert_allclose(np.asarray(outputs["value"]), arrays["value"], 1e-5, 1e-5)
    names = {
        "standard": ("attention1_prob", "attention1_prob_standard"),
        "virtual": ("attention1_prob_virtual",),
        "simplicial": ("attention2_prob",),
    }
    for name, weights in outputs["attention"].items():
        block, part = name.replace("_", "").split("/")
        (expected,) = (arrays[k] for k in (f"{block}.{n}" for n in names[part]) if k in arrays)
        weights = np.asarray(weights).reshape(expected.shape)
        np.testing.assert_allclose(weights, expected, 1e-5, 1e-5, err_msg=name)

    def loss(call, obs):
        outputs = call(obs)
        return ops.sum(outputs["logits"] * arrays["loss_coeff_logits"]) + ops.sum(
            outputs["value"] * arrays["loss_coeff_value"]
        )

    by_path, _ = layer_gradients(loss, agent, arrays["obs_uint8"])
    variables = published_variables(kind, agent)
    assert_gradients({name: by_path[v.path] for name, v in variables.items()}, arrays)


@pytest.mark.parametrize("kind", AGENTS)
def test_the_entities_of_every_block_equal_the_recorded_ones(kind):
    arrays = read(f"{kind}_small")
    core = load_published(kind, arrays).core
    outputs = run(core, arrays["block0.input"][:, :40])
    np.testing.assert_allclose(np.asarray(outputs), arrays["block1.ln_out_out"][:, :40], 1e-5, 1e-5)


@pytest.mark.parametrize("kind", RELATIONS_GAME)
def test_relations_game_networks_equal_the_recorded_numbers(kind):
    arrays = read(f"{kind}_small")
    model = load_published(kind, arrays)
    inputs = {"image": arrays["image_uint8"], "task": arrays["tasks_onehot"]}
    outputs = run(functools.partial(model, return_attention=True), inputs)
    np.testing.assert_allclose(np.asarray(outputs["logits"]), arrays["logits"], 1e-5, 1e-5)
    recorded = {"object1": "att1", "object2": "att2", "standard": "att"}
    for name, weights in outputs["attention"].items():
        np.testing.assert_allclose(np.asarray(weights), arrays[recorded[name]], 1e-5, 1e-5)
    entities = np.asarray(run(model.entities, inputs["image"]))
    np.testing.assert_allclose(entities, arrays["features_locs"], 1e-5, 1e-5)
    seen = arrays["relations_Rstar" if kind == "predinet" else "central_out"]
    np.testing.assert_allclose(np.asarray(run(model.core, entities)), seen, 1e-5, 1e-5)

    def loss(call, inputs):
        chosen = ops.one_hot(arrays["labels"], 2)
        logits = call(inputs)["logits"]
        return ops.mean(ops.logsumexp(logits, axis=-1) - ops.sum(chosen * logits, axis=-1))

    by_path, _ = layer_gradients(loss, model, inputs)
    variables = published_variables(kind, model)
    assert len(variables) == len(model.trainable_variables)
    assert_gradients({name: by_path[v.path] for name, v in variables.items()}, arrays)


def test_the_objects_and_differences_of_the_predinet_equal_the_recorded_ones():
    arrays = read("predinet_small")
    core = load_published("predinet", arrays).core
    call = functools.partial(core, return_propositions=True)
    outputs, told = run(call, arrays["features_locs"])
    recorded = {"object1": "feature1", "object2": "feature2", "differences": "dx"}
    assert set(told) == set(recorded)
    for name, given in told.items():
        np.testing.assert_allclose(np.asarray(given), arrays[recorded[name]], 1e-5, 1e-5)
    np.testing.assert_allclose(np.asarray(outputs), arrays["relations_Rstar"], 1e-5, 1e-5)


def test_weights_of_no_square_of_patches_are_named():
    arrays = read("mlp1_small")
    arrays["w.central_hidden.w"] = np.ones((199, 28))
    with pytest.raises(ValueError, match="weights are for 199 numbers, and no square of patches"):
        load_published("mlp1", arrays)


def test_names_may_come_without_their_prefix():
    arrays = read("relational_attention", "small_nove")
    plain = load_published(
        "relational_attention", {"qkv_weights": arrays["w.qkv_weights"]}, num_heads=2
    )
    np.testing.assert_allclose(np.asarray(plain(arrays["x"])), arrays["output"], 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w.pop("fc2.bias"), r"missing \['fc2.bias'\]"),
        (lambda w: w.pop("conv1.kernel"), "missing 'conv1.kernel'"),
        (lambda w: w.update(extra=np.ones(2)), r"not among its weights \['extra'\]"),
        (lambda w: w.update({"fc1.bias": np.ones(3)}), r"fc1.bias has to be of shape \(256,\)"),
        (lambda w: w.update({"block.attention1.qkv_weights": np.ones(3)}), "has 2 axes"),
    ],
)
def test_arrays_that_do_not_fit_are_named(change, words):
    weights = {
        name.removeprefix("w."): array
        for name, array in read("relational_agent_small").items()
        if name.startswith("w.")
    }
    change(weights)
    with pytest.raises(ValueError, match=words):
        load_published("relational_agent", weights)


def test_an_unknown_kind_is_refused():
    assert {"relational_attention", "simplicial_attention", *AGENTS, *RELATIONS_GAME} <= set(KINDS)
    with pytest.raises(ValueError, match="kind is one of .*simplicial_agent.* received 'mine'"):
        load_published("mine", {})
