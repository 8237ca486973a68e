"""The network of the Relations Game: its parts, its inputs and every core in it."""

import keras
import numpy as np
import pytest

from tests.layers.cases import CASES, SMALL_AGENT, SMALL_RELATIONS_GAME
from tf_relational import layers, models

BY_NAME = {case.name: case for case in CASES}
# N D, with the 25 patches of 34 features of Table S2.
SEEN = 25 * 34
CORE_PARAMETERS = {
    "predinet": 2 * SEEN * 512 + 34 * 16 + 34 * 16,
    "mlp1": SEEN * 640 + 640,
    "mlp2": SEEN * 1024 + 1024 + 1024 * 640 + 640,
    "relation_net": 68 * 256 + 256 * 640,
    "mha": 2 * 34 * 512 + 34 * 640 + 32 * 25,
    # The blocks give 34 features, not 640.
    "relational": 34 * 102 + 2 * (34 * 34 + 34) + 2 * 2 * 68,
    "simplicial": None,
}


def pictures(batch=2, size=36, seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(0, 256, size=(batch, size, size, 3), dtype="uint8")


def small(core="mlp1", options=None, **kwargs):
    core = layers.build_core(core, **(options or {"units": 4}))
    return models.RelationsGameModel(core, **{**SMALL_RELATIONS_GAME, **kwargs})


@pytest.mark.parametrize("core", CORE_PARAMETERS)
def test_every_core_goes_into_the_network_of_table_s2(core):
    model = models.RelationsGameModel(core, num_classes=4)
    outputs = model({"image": pictures(1), "task": np.array([3])}, return_attention=True)
    assert tuple(outputs["logits"].shape) == (1, 4) and isinstance(outputs["attention"], dict)
    assert tuple(model.entities(pictures(1)).shape) == (1, 25, 34)
    if CORE_PARAMETERS[core] is not None:
        assert model.core.count_params() == CORE_PARAMETERS[core]
    vector = 640 if core not in ("relational", "simplicial") else 34
    assert model.input_cnn.count_params() == 12 * 12 * 3 * 32 + 32
    assert model.output_mlp.count_params() == (vector + 5) * 8 + 8 + 8 * 4 + 4


@pytest.mark.parametrize("core", layers.CORES)
def test_every_core_goes_into_the_agent(core):
    options = {"predinet_conv": {"grid": (7, 8)}}.get(core, {})
    if core == "predinet_conv":
        options["filters"] = (4, 4)
    agent = models.Agent(
        layers.build_core(core, **options),
        num_actions=3,
        model_dim=8,
        conv_filters=SMALL_AGENT["conv_filters"],
        hidden_units=(6,),
    )
    outputs = agent(np.zeros((2, 9, 10, 3), "uint8"), return_attention=True)
    assert tuple(outputs["logits"].shape) == (2, 3) and tuple(outputs["value"].shape) == (2,)


def test_integers_are_divided_by_256_and_floats_are_not():
    model, image, task = small(), pictures(size=8), np.array([1, 0])
    expected = np.asarray(model({"image": image, "task": task})["logits"])
    others = [image.astype("int32"), image.astype("int64"), image.astype("float32") / 256]
    for other in others:
        logits = np.asarray(model({"image": other, "task": task})["logits"])
        np.testing.assert_allclose(logits, expected, 1e-6, 1e-6)


def test_a_task_is_one_hot_or_a_number():
    model, image = small(), pictures(3, 8)
    numbers = np.array([1, 0, 1])
    expected = np.asarray(
        model({"image": image, "task": np.eye(2, dtype="float32")[numbers]})["logits"]
    )
    for task in (numbers, numbers.astype("uint8"), np.eye(2, dtype="int32")[numbers]):
        logits = np.asarray(model({"image": image, "task": task})["logits"])
        np.testing.assert_allclose(logits, expected, 1e-6, 1e-6)
    other = np.asarray(model({"image": image, "task": 1 - numbers})["logits"])
    assert np.abs(other - expected).min(axis=1).max() > 1e-6


@pytest.mark.parametrize(
    ("variant", "tasks", "joined"),
    [("published", 1, 1), ("paper", 1, 0), ("published", 0, 0), ("paper", 3, 3)],
)
def test_the_variant_says_when_the_task_is_joined(variant, tasks, joined):
    model = small(variant=variant, num_tasks=tasks)
    inputs = {"image": pictures(size=8)}
    if joined:
        inputs["task"] = np.zeros(2, int)
    model(inputs)
    assert model.output_mlp.layers[0].kernel.shape[0] == 4 + joined


def test_the_logits_are_linear_as_published_and_cut_at_0_as_printed():
    published = small()
    inputs = {"image": pictures(8, 8), "task": np.zeros(8, int)}
    published(inputs)
    weights = [w - 0.2 for w in published.get_weights()]
    published.set_weights(weights)
    paper = small(variant="paper")
    paper(inputs)
    paper.set_weights(weights)
    logits = np.asarray(published(inputs)["logits"])
    assert logits.min() < 0
    np.testing.assert_allclose(np.asarray(paper(inputs)["logits"]), np.maximum(logits, 0), 1e-6)


def test_the_parts_are_one_after_the_other():
    model = BY_NAME["relations_game"].build()
    inputs = BY_NAME["relations_game"].inputs()
    entities = model.entities(inputs["image"])
    logits = model.classify(model.core(entities), inputs["task"])
    np.testing.assert_allclose(np.asarray(model(inputs)["logits"]), np.asarray(logits), 1e-6, 1e-6)
    parts = {"input_cnn", "core", "output_mlp"}
    of_parts = [v for part in parts for v in getattr(model, part).variables]
    assert {id(v) for v in of_parts} == {id(v) for v in model.variables}


@pytest.mark.parametrize("core", ["predinet", "relational"])
def test_first_weights_are_the_published_ones(core):
    model = models.RelationsGameModel(core)
    model.build({"image": (None, 36, 36, 3), "task": (None, 5)})
    for layer in (model.input_cnn, *model.output_mlp.layers):
        kernel = np.asarray(layer.kernel)
        assert np.abs(kernel).max() <= 0.2
        if kernel.size > 1000:
            assert abs(kernel.std() / 0.088 - 1) < 0.1
        assert (np.asarray(layer.bias) == np.float32(0.1)).all()


def test_frozen_parts_stay_and_the_rest_learns():
    model = BY_NAME["relations_game"].build()
    inputs = BY_NAME["relations_game"].inputs(8)
    model.input_cnn.trainable = model.core.trainable = False
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss={"logits": loss})
    parts = ("input_cnn", "core", "output_mlp")
    before = {part: getattr(model, part).get_weights() for part in parts}
    model.fit(inputs, {"logits": np.arange(8) % 3}, batch_size=4, verbose=0)
    for part in parts:
        after = getattr(model, part).get_weights()
        moved = any((a != b).any() for a, b in zip(after, before[part], strict=True))
        assert moved == (part == "output_mlp"), part


def test_a_part_can_begin_anew():
    case = BY_NAME["relations_game"]
    model = case.build()
    fresh = type(model).from_config(model.get_config())
    fresh.build(case.batch_shape)
    kept = model.core.get_weights()
    model.output_mlp.set_weights(fresh.output_mlp.get_weights())
    assert np.abs(np.asarray(model.output_mlp.layers[0].kernel)).max() <= 0.2
    assert all((a == b).all() for a, b in zip(kept, model.core.get_weights(), strict=True))


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow exports")
def test_the_export_has_named_inputs_and_outputs(tmp_path):
    import tensorflow as tf

    model = BY_NAME["relations_game"].build()
    model.export(tmp_path, verbose=False)
    serve = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    inputs = BY_NAME["relations_game"].inputs(4)
    given = {name: tf.constant(array) for name, array in inputs.items()}
    outputs = serve(**given)
    assert set(outputs) == {"logits"} and given["image"].dtype == tf.uint8
    np.testing.assert_allclose(outputs["logits"], np.asarray(model(inputs)["logits"]), 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: small(num_classes=0), "num_classes is an integer of at least 1; received 0"),
        (lambda: small(num_tasks=-1), "num_tasks .* received -1"),
        (lambda: small(variant="mine"), "variant is one of .* received 'mine'"),
        (lambda: models.RelationsGameModel("mine"), "core is one of .* received 'mine'"),
        (lambda: small()(pictures(size=8)), r"a dict of \['image', 'task'\]; received "),
        (lambda: small()({"image": pictures(size=8)}), r"received \['image'\]"),
        (
            lambda: small()({"image": pictures(size=3), "task": np.zeros(2, int)}),
            r"at least 4; received shape \(2, 3, 3, 3\)",
        ),
        (
            lambda: small()({"image": pictures(size=8), "task": np.zeros((2, 5), int)}),
            r"one-hot \[batch, 2\] or numbers \[batch\]; received shape \(2, 5\)",
        ),
        (lambda: small().export("nowhere"), "built, or called once, before its export"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
