"""The fragment of intuitionistic linear logic in which a Box-World strategy is a proof.

*Logic and the 2-Simplicial Transformer*, Appendix B, writes proofs with atoms, the tensor `A ⊗ B`
and the linear implication `A ⊸ B`. This file holds the formulas, the sequents, the proof trees with
the rules the paper uses, and a verifier. `proof_text.py` prints the trees; what a board and an
episode have to do with them stands in `episode_proof.py`.

Rules (`Γ`, `Δ` are multisets, so exchange is built in; there is no weakening and no contraction):

    axiom                premise i              cut
    ------               -------      Γ ⊢ A    A, Δ ⊢ B
    A ⊢ A                X ⊢ Y        -----------------
                                          Γ, Δ ⊢ B

    tensor_left          tensor_right           lolli_left
     Γ, A, B ⊢ C         Γ ⊢ A    Δ ⊢ B         Γ ⊢ A    B, Δ ⊢ C
    -------------        --------------         -----------------
    Γ, A ⊗ B ⊢ C         Γ, Δ ⊢ A ⊗ B           Γ, A ⊸ B, Δ ⊢ C

A premise is the given proof of a box (`π^β` in the paper): a leaf that may be used once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Atom:
    """A proposition, read "a key of this colour is obtainable"; `Gem` is the paper's 𝔾."""

    name: str

    def __str__(self):
        return self.name


@dataclass(frozen=True)
class Tensor:
    """`left ⊗ right`: both, each once."""

    left: "Formula"
    right: "Formula"

    def __str__(self):
        return f"{_bracket(self.left, Lolli)} ⊗ {_bracket(self.right, (Lolli, Tensor))}"


@dataclass(frozen=True)
class Lolli:
    """`left ⊸ right`: uses up `left` and gives `right`."""

    left: "Formula"
    right: "Formula"

    def __str__(self):
        return f"{_bracket(self.left, Lolli)} ⊸ {self.right}"


Formula = Atom | Tensor | Lolli
GEM = Atom("Gem")


def _bracket(formula, kinds):
    return f"({formula})" if isinstance(formula, kinds) else str(formula)


def tensor(formulas: Sequence[Formula]) -> Formula:
    """`((A ⊗ B) ⊗ C) ⊗ ...` of one or more formulas.

    >>> str(tensor([Atom("A"), Atom("B"), Atom("C")]))
    'A ⊗ B ⊗ C'
    """
    if not formulas:
        raise ValueError("received no formula; a tensor product needs at least one")
    result = formulas[0]
    for formula in formulas[1:]:
        result = Tensor(result, formula)
    return result


@dataclass(frozen=True, eq=False)
class Sequent:
    """`left ⊢ right`, where `left` is a multiset: equality does not see its order."""

    left: tuple[Formula, ...]
    right: Formula

    def __eq__(self, other):
        if not isinstance(other, Sequent):
            return NotImplemented
        return self.right == other.right and Counter(self.left) == Counter(other.left)

    def __hash__(self):
        return hash((frozenset(Counter(self.left).items()), self.right))

    def __str__(self):
        return f"{', '.join(map(str, self.left))} ⊢ {self.right}".lstrip()


@dataclass(frozen=True)
class Proof:
    """A proof tree: the last rule, what it concludes, and the proofs above it.

    `premise` is the number of the premise at a leaf of rule `premise`, else `None`. Nothing is
    checked here; `verify` does that.
    """

    rule: str
    conclusion: Sequent
    children: tuple["Proof", ...] = ()
    premise: int | None = None


class InvalidProof(ValueError):
    """A tree that is no proof; the message names the inference and what is wrong with it."""


def axiom(formula: Formula) -> Proof:
    """`A ⊢ A`."""
    return Proof("axiom", Sequent((formula,), formula))


def premise(number: int, sequent: Sequent) -> Proof:
    """The given proof of premise `number`, used here."""
    return Proof("premise", sequent, (), number)


def cut(first: Proof, second: Proof) -> Proof:
    """From `Γ ⊢ A` and `A, Δ ⊢ B`: `Γ, Δ ⊢ B`."""
    rest = _without(second.conclusion.left, first.conclusion.right)
    left = first.conclusion.left + rest
    return Proof("cut", Sequent(left, second.conclusion.right), (first, second))


def tensor_right(first: Proof, second: Proof) -> Proof:
    """From `Γ ⊢ A` and `Δ ⊢ B`: `Γ, Δ ⊢ A ⊗ B`."""
    a, b = first.conclusion, second.conclusion
    conclusion = Sequent(a.left + b.left, Tensor(a.right, b.right))
    return Proof("tensor_right", conclusion, (first, second))


def tensor_left(proof: Proof, a: Formula, b: Formula) -> Proof:
    """From `Γ, A, B ⊢ C`: `Γ, A ⊗ B ⊢ C`."""
    rest = _without(_without(proof.conclusion.left, a), b)
    return Proof("tensor_left", Sequent((*rest, Tensor(a, b)), proof.conclusion.right), (proof,))


def lolli_left(first: Proof, second: Proof, b: Formula) -> Proof:
    """From `Γ ⊢ A` and `B, Δ ⊢ C`: `Γ, A ⊸ B, Δ ⊢ C`."""
    rest = _without(second.conclusion.left, b)
    arrow = Lolli(first.conclusion.right, b)
    left = (*first.conclusion.left, arrow, *rest)
    return Proof("lolli_left", Sequent(left, second.conclusion.right), (first, second))


def _without(formulas, formula):
    remaining = list(formulas)
    if formula not in remaining:
        raise InvalidProof(f"received {', '.join(map(str, formulas))}, which lacks {formula}")
    remaining.remove(formula)
    return tuple(remaining)


def verify(proof: Proof, premises: Mapping[int, Sequent], conclusion: Sequent) -> list[int]:
    """Checks every inference, and that the leaves use each of `premises` exactly once.

    Args:
        proof: The tree.
        premises: Number -> sequent of the given proofs; leaves of rule `premise` name them so.
        conclusion: What the root must say.

    Returns:
        The numbers of the premises in the order of the leaves, left to right.

    Raises:
        InvalidProof: An inference is not an instance of its rule, a premise is used twice or not
            at all, or the root concludes something else.

    >>> a, b = Atom("A"), Atom("B")
    >>> given = {0: Sequent((), a), 1: Sequent((a,), b)}
    >>> verify(cut(premise(0, given[0]), premise(1, given[1])), given, Sequent((), b))
    [0, 1]
    """
    if proof.conclusion != conclusion:
        raise InvalidProof(f"the tree concludes {proof.conclusion}; expected {conclusion}")
    used = []
    pending = [proof]
    while pending:
        node = pending.pop()
        if node.rule == "premise":
            _check_premise(node, premises)
            used.append(node.premise)
        else:
            _check_inference(node)
        pending.extend(reversed(node.children))
    for number, times in Counter(used).items():
        if times > 1:
            given = premises[number]
            raise InvalidProof(f"premise {number} ({given}) is used {times} times; allowed: once")
    unused = [number for number in premises if number not in used]
    if unused:
        names = ", ".join(f"{number} ({premises[number]})" for number in unused)
        raise InvalidProof(f"premises never used: {names}; each must be used once")
    return used


def _check_premise(node, premises):
    if node.children:
        above = len(node.children)
        raise InvalidProof(f"premise {node.premise} is a leaf; received {above} proofs above it")
    if node.premise not in premises:
        raise InvalidProof(f"received premise {node.premise}; there are {sorted(premises)}")
    if node.conclusion != premises[node.premise]:
        given = premises[node.premise]
        raise InvalidProof(f"premise {node.premise} is {given}; the leaf says {node.conclusion}")


# How many proofs stand above the line.
_ARITY = {"axiom": 0, "cut": 2, "tensor_left": 1, "tensor_right": 2, "lolli_left": 2}


def _check_inference(node):
    if node.rule not in _ARITY:
        raise InvalidProof(f"received rule {node.rule!r}; allowed: premise, {', '.join(_ARITY)}")
    if len(node.children) != _ARITY[node.rule]:
        expected, above = _ARITY[node.rule], len(node.children)
        raise InvalidProof(f"{node.rule} takes {expected} proofs above it; received {above}")
    left, right = Counter(node.conclusion.left), node.conclusion.right
    above = [(Counter(child.conclusion.left), child.conclusion.right) for child in node.children]
    if node.rule == "axiom":
        valid = left == Counter([right])
    elif node.rule == "cut":
        (first, formula), (second, result) = above
        valid = second[formula] > 0 and result == right
        valid = valid and left == first + second - Counter([formula])
    elif node.rule == "tensor_right":
        (first, a), (second, b) = above
        valid = right == Tensor(a, b) and left == first + second
    elif node.rule == "tensor_left":
        valid = above[0][1] == right and principal_tensor(node) is not None
    else:
        (first, a), (second, result) = above
        arrows = [f for f in left if isinstance(f, Lolli) and f.left == a and second[f.right] > 0]
        valid = result == right and any(
            left == first + (second - Counter([arrow.right])) + Counter([arrow]) for arrow in arrows
        )
    if not valid:
        received = " and ".join(str(child.conclusion) for child in node.children) or "nothing"
        raise InvalidProof(f"{node.conclusion} does not follow from {received} by {node.rule}")


def principal_tensor(node: Proof) -> Tensor | None:
    """The `A ⊗ B` that a `tensor_left` inference puts together, or `None` if there is none."""
    below, above = Counter(node.conclusion.left), Counter(node.children[0].conclusion.left)
    for formula in below:
        if isinstance(formula, Tensor):
            if below - Counter([formula]) + Counter([formula.left, formula.right]) == above:
                return formula
    return None
