"""An episode of Box-World as a proof in linear logic (simplicial paper, Appendix B.1).

Each box gives a premise: a loose key of colour `c` the sequent `⊢ C`, a box with lock `c` and key
`d` the sequent `C ⊢ D`, the box with the gem `C ⊢ Gem` or `C ⊗ D ⊢ Gem`. The proof of a play cuts
the proofs `π^β_A` of Definition B.2 against one another, in the order of the boxes opened, where
`A` is what else the inventory holds at that time.

Reading of what the paper leaves open. All boxes of the board stand in `Γ`, the bridge and the
distractors too, as the paper says. A proof need not use every premise, and linear logic has no
weakening, so the proof that is built and verified is one of `Γ' ⊢ Gem`, where `Γ'` are the boxes
the play needed, each used exactly once; the rest of `Γ` is listed as unused. A key already held
when the episode starts counts as a loose key. Keys opened for nothing are left out of `Γ'`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tf_relational.analysis.boxes import GEM_COLOUR, Box, boxes_on_board, opened_boxes
from tf_relational.analysis.linear_logic import (
    GEM,
    Atom,
    Formula,
    Lolli,
    Proof,
    Sequent,
    tensor,
    verify,
)
from tf_relational.analysis.proof_text import latex, text
from tf_relational.analysis.strategy_proof import atoms, strategy_proof
from tf_relational.envs import Level, Levels
from tf_relational.envs.rules import initial_state, step

# Without G, which the paper keeps for the gem.
_LETTERS = "ABCDEFHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class EpisodeProof:
    """What an episode proves.

    Attributes:
        boxes: The premises' boxes: keys held at the start first (no tile), then the board's.
        names: Colour -> proposition.
        opened: Indices into `boxes`, in the order the play opened them.
        used: The opened ones that the gem needed, in the same order; empty without a proof.
        proof: The verified tree of `⊢ Gem` with boxes as premises, or `None`.
        missing: Without a proof, the propositions that the rest of the board cannot give any more;
            empty while the gem can still be had.
    """

    boxes: tuple[Box, ...]
    names: dict[int, Atom]
    opened: tuple[int, ...]
    used: tuple[int, ...]
    proof: Proof | None
    missing: tuple[Atom, ...]

    @property
    def premises(self) -> tuple[Sequent, ...]:
        """The sequents of all boxes: the multiset `Γ`."""
        return tuple(box_sequent(box, self.names) for box in self.boxes)

    @property
    def sequent(self) -> Sequent:
        """`Γ ⊢ Gem` with each box as a formula: `C`, `C ⊸ D` or `C ⊗ D ⊸ Gem`."""
        return Sequent(tuple(map(as_formula, self.premises)), GEM)

    @property
    def outcome(self) -> str:
        """`"proof"`, `"no proof"` (no longer possible) or `"unfinished"`."""
        if self.proof is not None:
            return "proof"
        return "no proof" if self.missing else "unfinished"

    def text(self) -> str:
        """The sequent, the boxes opened, and the proof tree or what is missing."""
        premises = self.premises
        lines = [f"Sequent   {self.sequent}", "", "Boxes"]
        for index, box in enumerate(self.boxes):
            where = f"x={box.key[0]} y={box.key[1]}" if box.key[0] >= 0 else "held at the start"
            if index in self.opened:
                state = f"opened, turn {self.opened.index(index) + 1}"
                state += "" if index in self.used or self.proof is None else ", not needed"
            else:
                state = "not opened"
            lines.append(f"  premise {index}: {str(premises[index]):<16} {where:<18} {state}")
        lines.append("")
        if self.proof is not None:
            lines += ["Proof (verified; each premise used once)", text(self.proof)]
        elif self.missing:
            names = ", ".join(f"⊢ {atom}" for atom in self.missing)
            lines.append(f"No proof: missing {names}{self._spender()}")
        else:
            lines.append("No proof yet: the gem was not reached, and nothing needed is missing.")
        return "\n".join(lines) + "\n"

    def latex(self, document: bool = False) -> str:
        """The proof tree in LaTeX (bussproofs).

        Raises:
            ValueError: The episode has no proof.
        """
        if self.proof is None:
            raise ValueError(f"received outcome {self.outcome!r}; only 'proof' has a tree")
        return latex(self.proof, document)

    def _spender(self):
        for atom in self.missing:
            for index in self.opened:
                if atom in atoms(self.premises[index].left):
                    spent = self.premises[index]
                    return f" (the key {atom} was spent on premise {index}: {spent})"
        return ""


def prove_boxes(boxes: Sequence[Box], opened: Sequence[int]) -> EpisodeProof:
    """The proof of a play given as the boxes it opened, in order.

    Args:
        boxes: All boxes of the episode (`boxes_on_board`), keys held at the start among them.
        opened: Indices into `boxes`; picking up a loose key is an opening.

    Raises:
        ValueError: An index is out of range or comes twice, or a box is opened without its keys.

    >>> boxes = [Box(3, (), (1, 1), ()), Box(0, (3,), (4, 1), ((5, 1),))]
    >>> str(prove_boxes(boxes, [0, 1]).sequent)
    'A, A ⊸ Gem ⊢ Gem'
    """
    boxes, opened = tuple(boxes), tuple(int(index) for index in opened)
    names = propositions(boxes)
    premises = [box_sequent(box, names) for box in boxes]
    inventory = _replay(boxes, opened)
    if GEM_COLOUR in inventory:
        used = _needed(boxes, opened)
        needed = {index: premises[index] for index in used}
        proof = strategy_proof(needed, used)
        verify(proof, needed, Sequent((), GEM))
        return EpisodeProof(boxes, names, opened, used, proof, ())
    left = [box for index, box in enumerate(boxes) if index not in opened]
    held = [Box(colour, (), (-1, -1), ()) for colour in inventory]
    missing = tuple(names[colour] for colour in missing_colours([*held, *left]))
    return EpisodeProof(boxes, names, opened, (), None, missing)


def prove_episode(level: Level, actions: Sequence[int]) -> EpisodeProof:
    """The proof of a play given as a level and the actions played in it.

    Args:
        level: The puzzle; keys held at its start are premises too.
        actions: 0 left, 1 up, 2 right, 3 down; what follows the end of the game is not played.

    >>> from tf_relational.envs import BRIDGE, generate, solve
    >>> level = generate(BRIDGE, 1, np.random.default_rng(0))[0]
    >>> prove_episode(level, solve(level).actions).outcome
    'proof'
    """
    held = tuple(Box(colour, (), (-1, -1), ()) for colour in level.start.inventory)
    boxes = boxes_on_board(level.board)
    state = initial_state(Levels.stack([level]))
    boards = []
    for action in actions:
        state, result = step(state, np.array([action]))
        boards.append(state.board[0])
        if result.terminated[0]:
            break
    opened = [len(held) + index for index in opened_boxes(boxes, boards)]
    return prove_boxes((*held, *boxes), (*range(len(held)), *opened))


def propositions(boxes: Sequence[Box]) -> dict[int, Atom]:
    """A letter for each colour in order of appearance; the gem is `Gem`."""
    names = {GEM_COLOUR: GEM}
    for box in boxes:
        for colour in (*box.needs, box.content):
            if colour not in names:
                turn, letter = divmod(len(names) - 1, len(_LETTERS))
                names[colour] = Atom(_LETTERS[letter] + (str(turn) if turn else ""))
    return names


def box_sequent(box: Box, names: dict[int, Atom]) -> Sequent:
    """`⊢ C`, `C ⊢ D` or `C ⊗ D ⊢ Gem`."""
    left = (tensor([names[colour] for colour in box.needs]),) if box.needs else ()
    return Sequent(left, names[box.content])


def as_formula(sequent: Sequent) -> Formula:
    """`⊢ Y` as `Y`, `X ⊢ Y` as `X ⊸ Y`."""
    return Lolli(sequent.left[0], sequent.right) if sequent.left else sequent.right


def missing_colours(boxes: Sequence[Box]) -> tuple[int, ...]:
    """The fewest keys that would have to be given for the gem to be had from these boxes.

    Looks for a tree of boxes, each used at most once, that ends in the gem and starts from loose
    keys. Empty if there is one. Of equally few the one furthest from the gem is named: the key
    that a dead path lacks, not the keys that would have followed from it.
    """

    def derive(needed, available, allowed):
        if not needed:
            return ()
        colour, *rest = needed
        for index in available:
            if boxes[index].content == colour:
                others = tuple(i for i in available if i != index)
                found = derive((*boxes[index].needs, *rest), others, allowed)
                if found is not None:
                    return found
        if not allowed or colour == GEM_COLOUR:
            return None
        found = derive(tuple(rest), available, allowed - 1)
        return None if found is None else (colour, *found)

    if not any(box.content == GEM_COLOUR for box in boxes):
        return (GEM_COLOUR,)
    for allowed in range(max(len(box.needs) for box in boxes if box.content == GEM_COLOUR) + 1):
        found = derive((GEM_COLOUR,), tuple(range(len(boxes))), allowed)
        if found is not None:
            return found
    raise AssertionError("the gem's own keys always suffice")


def _replay(boxes, opened):
    inventory = []
    for turn, index in enumerate(opened):
        if not 0 <= index < len(boxes) or index in opened[:turn]:
            raise ValueError(f"received opened={opened}; allowed: 0 to {len(boxes) - 1}, each once")
        for colour in boxes[index].needs:
            if colour not in inventory:
                raise ValueError(f"box {index} needs key {colour}; the inventory holds {inventory}")
            inventory.remove(colour)
        inventory.append(boxes[index].content)
    return inventory


def _needed(boxes, opened):
    wanted, used = [GEM_COLOUR], []
    for index in reversed(opened):
        if boxes[index].content in wanted:
            wanted.remove(boxes[index].content)
            wanted.extend(boxes[index].needs)
            used.append(index)
    return tuple(reversed(used))
