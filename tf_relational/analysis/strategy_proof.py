"""From boxes opened in order to a proof tree: Definition B.2 and the rule of Appendix B.1."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tf_relational.analysis.linear_logic import (
    Atom,
    Formula,
    Proof,
    Sequent,
    Tensor,
    axiom,
    cut,
    lolli_left,
    premise,
    principal_tensor,
    tensor,
    tensor_left,
    tensor_right,
)


def strategy_proof(premises: Mapping[int, Sequent], order: Sequence[int]) -> Proof:
    """The tree of Appendix B.1: the proofs `π^β_A` of the boxes in `order`, cut one after another.

    Args:
        premises: Number -> sequent `⊢ C`, `C ⊢ D` or `C ⊗ D ⊢ E`.
        order: Numbers of the premises used, in the order of opening.

    Returns:
        A proof of `⊢` (what the inventory holds in the end). Where the key needed is not the last
        of the inventory, a cut with a proof of commutativity brings it there; the paper passes
        over this.

    Raises:
        ValueError: A premise uses a key that the inventory does not hold.

    >>> a, b = Atom("A"), Atom("B")
    >>> boxes = {0: Sequent((), a), 1: Sequent((), b), 2: Sequent((Tensor(a, b),), Atom("Gem"))}
    >>> str(strategy_proof(boxes, [0, 1, 2]).conclusion)
    '⊢ Gem'
    """
    proof, inventory = None, []
    for index in order:
        box = premises[index]
        rest = list(inventory)
        for atom in atoms(box.left):
            if atom not in rest:
                held = ", ".join(map(str, inventory)) or "nothing"
                raise ValueError(f"premise {index} ({box}) needs {atom}; held: {held}")
            rest.remove(atom)
        step = premise(index, box)
        if rest:
            # Definition B.2.
            kept = tensor(rest)
            step = tensor_right(axiom(kept), step)
            if box.left:
                step = tensor_left(step, kept, box.left[0])
        if proof is None:
            proof = step
        else:
            wanted = step.conclusion.left[0]
            if proof.conclusion.right != wanted:
                proof = cut(proof, _rearrange(proof.conclusion.right, wanted))
            proof = cut(proof, step)
        inventory = [*rest, box.right]
    return proof


def as_sequent_proof(proof: Proof) -> Proof:
    """The same tree with the premises as formulas on the left: a proof of `Γ' ⊢ Gem` without leaves
    but axioms. `⊢ C` becomes `C ⊢ C`, and `X ⊢ Y` becomes `X, X ⊸ Y ⊢ Y` by `⊸L`."""
    children = [as_sequent_proof(child) for child in proof.children]
    if proof.rule == "premise":
        given = proof.conclusion
        if not given.left:
            return axiom(given.right)
        return lolli_left(axiom(given.left[0]), axiom(given.right), given.right)
    if proof.rule == "axiom":
        return proof
    if proof.rule == "cut":
        return cut(*children)
    if proof.rule == "tensor_right":
        return tensor_right(*children)
    both = principal_tensor(proof)
    return tensor_left(children[0], both.left, both.right)


def _rearrange(start, wanted):
    def build(formula):
        if isinstance(formula, Tensor):
            return tensor_right(build(formula.left), build(formula.right))
        return axiom(formula)

    def gather(proof, formula):
        if not isinstance(formula, Tensor):
            return proof
        proof = gather(gather(proof, formula.left), formula.right)
        return tensor_left(proof, formula.left, formula.right)

    return gather(build(wanted), start)


def atoms(formulas: Iterable[Formula]) -> Iterator[Atom]:
    """The atoms of tensor products, from left to right."""
    for formula in formulas:
        if isinstance(formula, Tensor):
            yield from atoms((formula.left, formula.right))
        else:
            yield formula
