"""Printed proofs, read back."""

import re

from tf_relational.analysis.boxes import Box
from tf_relational.analysis.episode_proof import prove_boxes
from tf_relational.analysis.linear_logic import GEM, Atom, Lolli, Sequent, Tensor
from tf_relational.analysis.proof_text import latex, latex_sequent, text

BOXES = [
    Box(1, (), (1, 1), ()),
    Box(2, (), (1, 3), ()),
    Box(0, (2, 1), (4, 1), ((5, 1), (5, 2))),
]
EPISODE = prove_boxes(BOXES, [0, 1, 2])

# Written by hand: the keys are held in the order A, B, and the gem's locks want B, A.
EXPECTED = """\
⊢ Gem                     cut
├─ ⊢ B ⊗ A                cut
│  ├─ ⊢ A ⊗ B             cut
│  │  ├─ ⊢ A              premise 0
│  │  └─ A ⊢ A ⊗ B        ⊗R
│  │     ├─ A ⊢ A         axiom
│  │     └─ ⊢ B           premise 1
│  └─ A ⊗ B ⊢ B ⊗ A       ⊗L
│     └─ B, A ⊢ B ⊗ A     ⊗R
│        ├─ B ⊢ B         axiom
│        └─ A ⊢ A         axiom
└─ B ⊗ A ⊢ Gem            premise 2
"""


def squeezed(lines):
    return [re.sub(r" +", " ", line).strip() for line in lines.strip().splitlines()]


def test_the_tree_as_text():
    assert squeezed(text(EPISODE.proof)) == squeezed(EXPECTED)
    columns = {
        re.search(r"(axiom|premise \d|cut|⊗L|⊗R)$", line).start()
        for line in text(EPISODE.proof).splitlines()
    }
    assert len(columns) == 1


def test_the_report_of_an_episode():
    report = EPISODE.text()
    assert report.startswith("Sequent   A, B, B ⊗ A ⊸ Gem ⊢ Gem\n")
    assert "premise 2: B ⊗ A ⊢ Gem      x=4 y=1            opened, turn 3" in report
    assert text(EPISODE.proof) in report


def run_bussproofs(source):
    """What the LaTeX package does: a stack of proofs. Returns the root as (sequent, children)."""
    stack = []
    for line in source.splitlines():
        command = re.fullmatch(r"\\(Axiom|UnaryInf|BinaryInf)C\{\$(.*)\$\}", line)
        if command:
            take = ("Axiom", "UnaryInf", "BinaryInf").index(command[1])
            assert len(stack) >= take
            children, stack = stack[len(stack) - take :], stack[: len(stack) - take]
            stack.append((command[2], children))
        else:
            assert re.match(r"\\(noLine|RightLabel|begin|end|DisplayProof)", line), line
    assert len(stack) == 1
    return stack[0]


def test_the_tree_as_latex_has_the_same_shape():
    def compare(drawn, proof):
        sequent, children = drawn
        assert sequent == latex_sequent(proof.conclusion)
        if proof.rule == "premise":
            ((dots, ((name, nothing),)),) = children
            assert (dots, name, nothing) == (r"\vdots", rf"\pi^{{{sequent}}}", [])
            return
        assert len(children) == len(proof.children)
        for above, child in zip(children, proof.children, strict=True):
            compare(above, child)

    compare(run_bussproofs(EPISODE.latex()), EPISODE.proof)
    assert latex(EPISODE.proof).count(r"\otimes L") == 1


def test_latex_formulas():
    a, b, c = map(Atom, "ABC")
    assert latex_sequent(Sequent((Lolli(Tensor(a, b), GEM),), c)) == (
        r"A \otimes B \multimap \mathbb{G} \vdash C"
    )
    assert latex_sequent(Sequent((), Tensor(a, Tensor(b, c)))) == r"\vdash A \otimes (B \otimes C)"
    assert latex_sequent(Sequent((Lolli(Lolli(a, b), c),), a)) == (
        r"(A \multimap B) \multimap C \vdash A"
    )


def test_a_latex_document_is_whole():
    document = EPISODE.latex(document=True)
    assert document.startswith("\\documentclass") and document.endswith("\\end{document}\n")
    body = document.split("\\begin{document}\n")[1].split("\\end{document}")[0]
    assert run_bussproofs(body)[0] == r"\vdash \mathbb{G}"
    assert document.count("{") == document.count("}")
