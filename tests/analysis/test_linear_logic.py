"""The verifier: accepts instances of the rules, refuses everything near them."""

import dataclasses

import pytest

from tf_relational.analysis.linear_logic import (
    GEM,
    Atom,
    InvalidProof,
    Lolli,
    Proof,
    Sequent,
    Tensor,
    axiom,
    cut,
    lolli_left,
    premise,
    tensor,
    tensor_left,
    tensor_right,
    verify,
)

A, B, C, D = map(Atom, "ABCD")


def test_formulas_print_with_the_brackets_they_need():
    assert str(Lolli(Tensor(A, B), GEM)) == "A ⊗ B ⊸ Gem"
    assert str(Lolli(Lolli(A, B), C)) == "(A ⊸ B) ⊸ C"
    assert str(Tensor(A, Tensor(B, C))) == "A ⊗ (B ⊗ C)"
    assert str(tensor([A, B, C])) == "A ⊗ B ⊗ C"
    assert str(Tensor(Lolli(A, B), C)) == "(A ⊸ B) ⊗ C"


def test_a_tensor_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        tensor([])


def test_the_left_of_a_sequent_is_a_multiset():
    assert Sequent((A, B, A), C) == Sequent((A, A, B), C)
    assert hash(Sequent((A, B), C)) == hash(Sequent((B, A), C))
    assert Sequent((A, B), C) != Sequent((A, A, B), C)
    assert Sequent((A,), C) != Sequent((A,), B)


@pytest.mark.parametrize(
    ("rule", "above", "below", "valid"),
    [
        ("axiom", [], ([A], A), True),
        ("axiom", [], ([A], B), False),
        ("axiom", [], ([A, A], A), False),
        ("axiom", [], ([A, B], A), False),
        ("axiom", [], ([], A), False),
        ("cut", [([A], B), ([B, C], D)], ([A, C], D), True),
        ("cut", [([A], B), ([B, C], D)], ([C, A], D), True),
        ("cut", [([A], B), ([B, C], D)], ([A], D), False),
        ("cut", [([A], B), ([B, C], D)], ([A, B, C], D), False),
        ("cut", [([A], B), ([C], D)], ([A, C], D), False),
        ("cut", [([A], B), ([B, C], D)], ([A, C], B), False),
        ("cut", [([A], B), ([B, B], D)], ([A], D), False),
        ("cut", [([A], B), ([B, B], D)], ([A, B], D), True),
        ("tensor_right", [([A], B), ([C], D)], ([A, C], Tensor(B, D)), True),
        ("tensor_right", [([A], B), ([C], D)], ([A, C], Tensor(D, B)), False),
        ("tensor_right", [([A], B), ([A], D)], ([A], Tensor(B, D)), False),
        ("tensor_right", [([A], B), ([A], D)], ([A, A], Tensor(B, D)), True),
        ("tensor_left", [([A, B, C], D)], ([C, Tensor(A, B)], D), True),
        ("tensor_left", [([B, A, C], D)], ([C, Tensor(A, B)], D), True),
        ("tensor_left", [([A, B, C], D)], ([A, B, C, Tensor(A, B)], D), False),
        ("tensor_left", [([A, C], D)], ([Tensor(A, B), C], D), False),
        ("tensor_left", [([A, B], D)], ([Tensor(A, B)], C), False),
        ("lolli_left", [([A], B), ([C, D], A)], ([A, Lolli(B, C), D], A), True),
        ("lolli_left", [([A], B), ([C, D], A)], ([A, Lolli(C, B), D], A), False),
        ("lolli_left", [([A], B), ([C, D], A)], ([A, Lolli(B, C)], A), False),
        ("lolli_left", [([A], B), ([C, D], A)], ([A, Lolli(B, C), D], B), False),
        ("lolli_left", [([], B), ([C], A)], ([Lolli(B, C)], A), True),
        ("lolli_left", [([], B), ([D], A)], ([Lolli(B, C), D], A), False),
    ],
)
def test_single_inferences(rule, above, below, valid):
    leaves = [Proof("premise", Sequent(tuple(a), b), (), n) for n, (a, b) in enumerate(above)]
    conclusion = Sequent(tuple(below[0]), below[1])
    proof = Proof(rule, conclusion, tuple(leaves))
    premises = {n: leaf.conclusion for n, leaf in enumerate(leaves)}
    if valid:
        assert verify(proof, premises, conclusion) == list(premises)
    else:
        with pytest.raises(InvalidProof, match=f"does not follow from .* by {rule}"):
            verify(proof, premises, conclusion)


def test_builders_make_what_the_verifier_accepts():
    both = tensor_right(axiom(A), axiom(B))
    swap = tensor_left(tensor_right(axiom(B), axiom(A)), A, B)
    opened = lolli_left(axiom(A), axiom(B), B)
    for proof in (both, swap, opened, cut(both, swap), cut(opened, axiom(B))):
        assert verify(proof, {}, proof.conclusion) == []
    assert swap.conclusion == Sequent((Tensor(A, B),), Tensor(B, A))
    assert cut(opened, axiom(B)).conclusion == Sequent((A, Lolli(A, B)), B)


def test_builders_refuse_what_no_rule_gives():
    with pytest.raises(InvalidProof, match="lacks A"):
        cut(axiom(A), axiom(B))
    with pytest.raises(InvalidProof, match="lacks B"):
        tensor_left(axiom(A), A, B)


GIVEN = {3: Sequent((), A), 7: Sequent((A,), B)}
PROOF = cut(premise(3, GIVEN[3]), premise(7, GIVEN[7]))
ROOT = Sequent((), B)


def test_premises_are_used_once_each():
    assert verify(PROOF, GIVEN, ROOT) == [3, 7]
    with pytest.raises(InvalidProof, match="never used: 9"):
        verify(PROOF, GIVEN | {9: Sequent((), C)}, ROOT)
    with pytest.raises(InvalidProof, match=r"received premise 7; there are \[3\]"):
        verify(PROOF, {3: GIVEN[3]}, ROOT)
    twice = tensor_right(premise(3, GIVEN[3]), premise(3, GIVEN[3]))
    with pytest.raises(InvalidProof, match="used 2 times"):
        verify(twice, {3: GIVEN[3]}, Sequent((), Tensor(A, A)))


def test_a_leaf_must_say_what_its_premise_says():
    with pytest.raises(InvalidProof, match="premise 7 is A ⊢ B; the leaf says A ⊢ C"):
        lie = cut(premise(3, GIVEN[3]), premise(7, Sequent((A,), C)))
        verify(lie, GIVEN, Sequent((), C))


def test_a_premise_has_nothing_above_it():
    node = dataclasses.replace(premise(3, GIVEN[3]), children=(axiom(A),))
    with pytest.raises(InvalidProof, match="is a leaf"):
        verify(node, {3: GIVEN[3]}, GIVEN[3])


def test_the_root_must_be_the_claim():
    with pytest.raises(InvalidProof, match="concludes ⊢ B; expected ⊢ C"):
        verify(PROOF, GIVEN, Sequent((), C))


@pytest.mark.parametrize("rule", ["weakening", "contraction", "", "exchange"])
def test_there_are_no_other_rules(rule):
    with pytest.raises(InvalidProof, match="received rule"):
        verify(Proof(rule, Sequent((A, B), A), (axiom(A),)), {}, Sequent((A, B), A))


def test_a_rule_takes_its_number_of_proofs():
    with pytest.raises(InvalidProof, match="cut takes 2 proofs above it; received 1"):
        verify(Proof("cut", Sequent((A,), A), (axiom(A),)), {}, Sequent((A,), A))
