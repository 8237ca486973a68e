"""PrediNet: relations between pairs of objects that attention picks out."""

import keras
from keras import ops

from tf_relational.layers.entity_layer import VectorLayer, check_positive, fixed_entities
from tf_relational.layers.predinet_initializers import kernel_initializer as kernel_or_published
from tf_relational.ops.masking import mask_logits, zero_masked


@keras.saving.register_keras_serializable(package="tf_relational")
class PrediNet(VectorLayer):
    """Each head picks two objects by attention and tells how they differ in R relations.

    From the matrix L of entities, whose last features are coordinates, head h computes

        Q1_h = flatten(L) W_Q1_h        Q2_h = flatten(L) W_Q2_h        K = L W_K
        E1_h = softmax(Q1_h K^T) L      E2_h = softmax(Q2_h K^T) L
        D_h = E1_h W_S - E2_h W_S

    and says `(D_h, P1_h, P2_h)`, where P1 and P2 are the coordinates in E1 and E2. The heads stand
    side by side in the output R*. Keys and relations are the same for every head. The softmax is
    over entities and has no scale; there is no bias.

    Letters: B batch, N entities, D features, H heads (the paper's k), R relations (its j), K key
    size (its g), C coordinates.

    Args:
        num_heads: H.
        num_relations: R.
        key_size: K.
        num_coordinates: C, how many of the last features are coordinates; 0 for entities that
            stand nowhere.
        kernel_initializer: of all weights; None for the published truncated normal of deviation
            0.1.

    Weights:
        query1_weights, query2_weights: `[N D, H K]` (`W_Q1`, `W_Q2`), head after head.
        key_weights: `[D, K]` (`W_K`).
        relation_weights: `[D, R]` (`W_S`).

    Inputs: entities `[B, N, D]`, N fixed by the weights; `mask`, booleans `[B, N]`, False for
    entities that no head may attend to and that count as 0 in the queries.

    Outputs: R* `[B, H (R + 2 C)]`. With `return_attention=True` and, or, `return_propositions=True`
    a tuple of it and, in this order, the dict of the attention `object1`, `object2` `[B, H, N]`
    and the dict of what the heads' propositions are about: `object1`, `object2` `[B, H, D]` (E1,
    E2) and `differences` `[B, H, R]` (D).

    Raises:
        ValueError: a size that is not positive, more coordinates than features, N or D that is
            not known or not the one the layer was built for.

    Source: Shanahan, Nikiforou, Creswell, Kaplanis, Barrett and Garnelo, "An Explicitly Relational
    Neural Network Architecture", Equations 1 to 6, Table S2; `docs/fidelity.md`, rows P6, P9.

    Example:

    >>> import numpy as np
    >>> layer = PrediNet(num_heads=4, num_relations=3)
    >>> out, attention = layer(np.ones((2, 25, 8), "float32"), return_attention=True)
    >>> out.shape, attention["object1"].shape
    (TensorShape([2, 28]), TensorShape([2, 4, 25]))
    """

    def __init__(
        self,
        num_heads=32,
        num_relations=16,
        key_size=16,
        num_coordinates=2,
        kernel_initializer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads, num_relations=num_relations, key_size=key_size)
        if num_coordinates:
            check_positive(num_coordinates=num_coordinates)
        self.num_heads = num_heads
        self.num_relations = num_relations
        self.key_size = key_size
        self.num_coordinates = num_coordinates
        self.kernel_initializer = kernel_or_published(kernel_initializer)

    def build(self, input_shape):
        self.entities_shape = fixed_entities(input_shape)
        features = self.entities_shape[1]
        if self.num_coordinates > features:
            raise ValueError(
                "The coordinates are the last of the features; received "
                f"num_coordinates={self.num_coordinates} and entities of {features} features."
            )
        seen = self.build_query_net(*self.entities_shape)
        shapes = {
            "query1_weights": (seen, self.num_heads * self.key_size),
            "query2_weights": (seen, self.num_heads * self.key_size),
            "key_weights": (features, self.key_size),
            "relation_weights": (features, self.num_relations),
        }
        for name, shape in shapes.items():
            initializer = self.kernel_initializer.clone()
            setattr(self, name, self.add_weight(name=name, shape=shape, initializer=initializer))

    def build_query_net(self, count, features):
        """Make what `query_features` needs for N entities of D features; tells its size."""
        return count * features

    def query_features(self, entities):
        """What the queries are linear in: `flatten(L)`, `[B, N D]`."""
        count, features = self.entities_shape
        return ops.reshape(entities, (-1, count * features))

    def call(self, entities, mask=None, return_attention=False, return_propositions=False):
        fixed_entities(entities.shape, self.entities_shape)
        # Both queries of all heads go through one softmax.
        seen = self.query_features(zero_masked(entities, mask))
        queries = [
            ops.reshape(ops.matmul(seen, weights), (-1, self.num_heads, self.key_size))
            for weights in (self.query1_weights, self.query2_weights)
        ]
        keys = ops.matmul(entities, self.key_weights)
        logits = ops.einsum("bqk,bnk->bqn", ops.concatenate(queries, axis=1), keys)
        logits = ops.cast(logits, keras.backend.result_type(logits.dtype, "float32"))
        weights = ops.softmax(mask_logits(logits, mask), axis=-1)
        objects = ops.einsum(
            "bqn,bnd->bqd", ops.cast(weights, self.compute_dtype), zero_masked(entities, mask)
        )
        object1, object2 = ops.split(objects, 2, axis=1)
        differences = ops.matmul(object1 - object2, self.relation_weights)
        parts = [differences]
        if self.num_coordinates:
            parts += [each[..., -self.num_coordinates :] for each in (object1, object2)]
        outputs = ops.reshape(ops.concatenate(parts, axis=-1), (-1, self._size()))
        returned = [outputs]
        if return_attention:
            attention1, attention2 = ops.split(weights, 2, axis=1)
            returned.append({"object1": attention1, "object2": attention2})
        if return_propositions:
            returned.append({"object1": object1, "object2": object2, "differences": differences})
        return tuple(returned) if len(returned) > 1 else outputs

    def _size(self):
        return self.num_heads * (self.num_relations + 2 * self.num_coordinates)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self._size())

    def get_config(self):
        config = super().get_config()
        config.update(
            num_heads=self.num_heads,
            num_relations=self.num_relations,
            key_size=self.key_size,
            num_coordinates=self.num_coordinates,
            kernel_initializer=keras.initializers.serialize(self.kernel_initializer),
        )
        return config
