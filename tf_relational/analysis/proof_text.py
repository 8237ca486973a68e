"""Proof trees for people: as indented text, and as LaTeX for the bussproofs package."""

from tf_relational.analysis.linear_logic import GEM, Atom, Formula, Lolli, Proof, Sequent, Tensor

_SYMBOLS = {
    "axiom": "axiom",
    "cut": "cut",
    "tensor_left": "⊗L",
    "tensor_right": "⊗R",
    "lolli_left": "⊸L",
}
_LATEX_LABELS = {
    "tensor_left": r"$\otimes L$",
    "tensor_right": r"$\otimes R$",
    "lolli_left": r"$\multimap L$",
}
_PREAMBLE = r"""\documentclass[border=4pt]{standalone}
\usepackage{amsmath,amssymb,bussproofs}
\begin{document}
"""


def text(proof: Proof) -> str:
    """The tree with its root first, one inference a line, the proofs above it indented below.

    >>> from tf_relational.analysis.linear_logic import cut, premise
    >>> a, b = Atom("A"), Atom("B")
    >>> print(text(cut(premise(0, Sequent((), a)), premise(1, Sequent((a,), b)))))
    ⊢ B         cut
    ├─ ⊢ A      premise 0
    └─ A ⊢ B    premise 1
    """
    rows = []

    def add(node, head, tail):
        named = node.rule == "premise"
        rule = f"premise {node.premise}" if named else _SYMBOLS.get(node.rule, node.rule)
        rows.append((head + str(node.conclusion), rule))
        for number, child in enumerate(node.children):
            last = number == len(node.children) - 1
            add(child, tail + ("└─ " if last else "├─ "), tail + ("   " if last else "│  "))

    add(proof, "", "")
    width = max(len(line) for line, _ in rows) + 4
    return "\n".join(f"{line:<{width}}{rule}" for line, rule in rows)


def latex(proof: Proof, document: bool = False) -> str:
    r"""The tree in the notation of Appendix B, for the LaTeX package bussproofs.

    A premise is drawn as the paper draws it, its name `π` with the sequent above vertical dots;
    unlabelled inferences with two proofs above them are cuts.

    Args:
        proof: The tree.
        document: Whether to wrap it as a document that compiles by itself.

    >>> print(latex(Proof("axiom", Sequent((Atom("A"),), Atom("A")))))
    \begin{prooftree}
    \AxiomC{$A \vdash A$}
    \end{prooftree}
    """
    lines = []

    def add(node):
        sequent = latex_sequent(node.conclusion)
        if node.rule == "premise":
            lines.append(rf"\AxiomC{{$\pi^{{{sequent}}}$}}")
            lines.append(r"\noLine")
            lines.append(r"\UnaryInfC{$\vdots$}")
            lines.append(r"\noLine")
            lines.append(rf"\UnaryInfC{{${sequent}$}}")
            return
        for child in node.children:
            add(child)
        if node.rule in _LATEX_LABELS:
            lines.append(rf"\RightLabel{{\scriptsize {_LATEX_LABELS[node.rule]}}}")
        command = ("AxiomC", "UnaryInfC", "BinaryInfC")[len(node.children)]
        lines.append(rf"\{command}{{${sequent}$}}")

    add(proof)
    if document:
        return _PREAMBLE + "\n".join(lines) + "\n\\DisplayProof\n\\end{document}\n"
    return "\n".join([r"\begin{prooftree}", *lines, r"\end{prooftree}"])


def latex_sequent(sequent: Sequent) -> str:
    r"""The sequent in LaTeX, without the dollar signs: `A \otimes B \vdash \mathbb{G}`."""
    left = ", ".join(map(_latex_formula, sequent.left))
    return rf"{left} \vdash {_latex_formula(sequent.right)}".lstrip()


def _latex_formula(formula: Formula) -> str:
    if formula == GEM:
        return r"\mathbb{G}"
    if isinstance(formula, Atom):
        return formula.name
    first, second = _latex_formula(formula.left), _latex_formula(formula.right)
    if isinstance(formula.left, Lolli):
        first = f"({first})"
    if isinstance(formula, Tensor):
        if isinstance(formula.right, Lolli | Tensor):
            second = f"({second})"
        return rf"{first} \otimes {second}"
    return rf"{first} \multimap {second}"
