"""Einsum with operands that hold for every example."""

import numpy as np
import pytest

from tf_relational.ops.contraction import shared_einsum


@pytest.mark.parametrize("batches", [(3, 3), (3, 1), (1, 3), (1, 1)])
def test_an_operand_of_batch_one_holds_for_every_example(batches):
    draw = np.random.default_rng(0)
    a = draw.normal(size=(batches[0], 4, 2, 5)).astype("float32")
    b = draw.normal(size=(batches[1], 6, 2, 5)).astype("float32")
    batch = max(batches)
    expected = np.einsum(
        "bnhd,bmhd->bhnm", *(np.repeat(each, batch // len(each), axis=0) for each in (a, b))
    )
    result = np.asarray(shared_einsum("bnhd,bmhd->bhnm", a, b))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
