"""Episodes as proofs, against recorded episodes, the solver and a search that tries everything."""

import dataclasses
import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tf_relational.analysis.boxes import Box, boxes_on_board, opened_boxes
from tf_relational.analysis.episode_proof import (
    as_formula,
    missing_colours,
    prove_boxes,
    prove_episode,
)
from tf_relational.analysis.linear_logic import (
    GEM,
    Atom,
    InvalidProof,
    Lolli,
    Proof,
    Sequent,
    Tensor,
    verify,
)
from tf_relational.analysis.strategy_proof import as_sequent_proof, strategy_proof
from tf_relational.envs import BRIDGE, STANDARD, Level, Start, generate, solve

GOLDEN = Path(__file__).parent.parent / "golden"


def key(colour):
    return Box(colour, (), (1, 1), ())


def box(content, *needs):
    return Box(content, needs, (1, 1), tuple((2, 1 + n) for n in range(len(needs))))


def derivable(left, right):
    """Whether `left ⊢ right` has a cut-free proof, by trying all of them."""
    return _search(tuple(sorted(left, key=str)), right)


@cache
def _search(left, right):
    if left == (right,):
        return True
    for index, formula in enumerate(left):
        if isinstance(formula, Tensor):
            rest = left[:index] + left[index + 1 :]
            return derivable((*rest, formula.left, formula.right), right)
    if isinstance(right, Tensor):
        for first, second in _splits(left):
            if derivable(first, right.left) and derivable(second, right.right):
                return True
    for index, formula in enumerate(left):
        if isinstance(formula, Lolli):
            for first, second in _splits(left[:index] + left[index + 1 :]):
                if derivable(first, formula.left) and derivable((*second, formula.right), right):
                    return True
    return False


def _splits(formulas):
    for sides in itertools.product((True, False), repeat=len(formulas)):
        both = [[f for f, side in zip(formulas, sides, strict=True) if side == s] for s in (1, 0)]
        yield tuple(both[0]), tuple(both[1])


def check(episode):
    """Verifies both forms of an episode's proof once more."""
    used = {index: episode.premises[index] for index in episode.used}
    assert sorted(verify(episode.proof, used, Sequent((), GEM))) == sorted(episode.used)
    left = tuple(as_formula(sequent) for sequent in used.values())
    verify(as_sequent_proof(episode.proof), {}, Sequent(left, GEM))


@pytest.mark.parametrize("name", ["bridge", "standard"])
def test_recorded_episodes_are_proofs_exactly_when_they_were_won(name):
    with np.load(GOLDEN / f"boxworld_traces_{name}.npz") as traces:
        traces = dict(traces)
    outcomes = {10: "proof", -1: "no proof"}
    seen = set()
    for number, board in enumerate(traces["init_board"]):
        steps = slice(*traces["step_offset"][number : number + 2])
        boxes = boxes_on_board(board)
        boards = traces["board"][steps]
        episode = prove_boxes(boxes, opened_boxes(boxes, boards))
        reward = int(traces["rewards"][steps][-1])
        assert episode.outcome == outcomes.get(reward, "unfinished")
        seen.add(episode.outcome)
        if reward == 10:
            check(episode)
        if reward == -1:
            # What is missing is the key that the bridge or distractor used up.
            fatal = boxes[episode.opened[-1]]
            assert episode.missing == (episode.names[fatal.needs[0]],)
            assert fatal.locks[0] in {tuple(decoy) for decoy in traces["decoys"][number]}
    assert seen == {"proof", "no proof", "unfinished"}


@pytest.mark.parametrize(("config", "count"), [(BRIDGE, 60), (STANDARD, 30)])
def test_solved_levels_have_proofs_that_leave_the_decoys_unused(config, count):
    levels = generate(config, count, np.random.default_rng(5))
    for level in (levels[index] for index in range(count)):
        solution = solve(level)
        episode = prove_episode(level, solution.actions)
        check(episode)
        targets = [episode.boxes[index].targets for index in episode.opened]
        assert all(map(tuple.__contains__, targets, solution.opened))
        assert len(targets) == len(solution.opened)
        unused = {b.locks[0] for i, b in enumerate(episode.boxes) if i not in episode.used}
        assert unused == {tuple(decoy) for decoy in level.decoys.tolist()}


def legal_orders(boxes, rng, count):
    """Random orders in which all of `boxes` can be opened."""
    for _ in range(count):
        inventory, order = [], []
        while len(order) < len(boxes):
            can = [
                index
                for index, b in enumerate(boxes)
                if index not in order and all(colour in inventory for colour in b.needs)
            ]
            index = int(rng.choice(can))
            for colour in boxes[index].needs:
                inventory.remove(colour)
            inventory.append(boxes[index].content)
            order.append(index)
        yield order


def test_every_order_of_play_is_a_proof():
    boxes = [key(1), box(2, 1), box(3, 2), key(4), box(5, 4), box(6, 5), box(0, 6, 3)]
    trees = set()
    for order in legal_orders(boxes, np.random.default_rng(0), 40):
        episode = prove_boxes(boxes, order)
        assert episode.used == tuple(order)
        check(episode)
        trees.add(episode.proof)
    assert len(trees) > 10


def test_example_b3_of_the_paper():
    """Figure 2, upper path and then the lower: the conclusions of (37), and the Gem."""
    names = {1: "G'", 2: "O", 3: "G", 4: "B", 5: "P", 6: "M"}
    boxes = [key(3), box(2, 3), box(1, 2), key(6), box(5, 6), box(4, 5), box(0, 1, 4), box(5, 2)]
    episode = prove_boxes(boxes, range(7))
    letter = {str(atom): names[colour] for colour, atom in episode.names.items() if colour}
    spine, node = [], episode.proof
    while node.rule == "cut":
        spine.append(" ".join(letter.get(word, word) for word in str(node.conclusion).split()))
        node = node.children[0]
    assert spine == ["⊢ Gem", "⊢ G' ⊗ B", "⊢ G' ⊗ P", "⊢ G' ⊗ M", "⊢ G'", "⊢ O"]
    # The bridge stands in the sequent of the episode and not among the premises used.
    assert len(episode.sequent.left) == 8 and episode.used == tuple(range(7))
    step = episode.proof.children[0].children[1]
    assert [step.rule, step.children[0].rule] == ["tensor_left", "tensor_right"]
    assert [child.rule for child in step.children[0].children] == ["axiom", "premise"]


def nodes(proof, path=()):
    yield path, proof
    for index, child in enumerate(proof.children):
        yield from nodes(child, (*path, index))


def replaced(proof, path, new):
    if not path:
        return new
    children = list(proof.children)
    children[path[0]] = replaced(children[path[0]], path[1:], new)
    return dataclasses.replace(proof, children=tuple(children))


def mutants(node):
    """Every small change of one inference that is no longer one."""
    left, right = node.conclusion.left, node.conclusion.right
    for index in range(len(left)):
        yield dataclasses.replace(node, conclusion=Sequent(left[:index] + left[index + 1 :], right))
        yield dataclasses.replace(node, conclusion=Sequent((*left, left[index]), right))
    yield dataclasses.replace(node, conclusion=Sequent((*left, GEM), right))
    yield dataclasses.replace(node, conclusion=Sequent(left, Tensor(right, Atom("Z"))))
    for rule in ("axiom", "premise", "cut", "tensor_left", "tensor_right", "lolli_left"):
        if rule != node.rule:
            yield dataclasses.replace(node, rule=rule)
    if node.rule == "premise":
        for other in (node.premise + 1, node.premise - 1, None):
            yield dataclasses.replace(node, premise=other)
    if node.rule != "premise":
        yield Proof(node.rule, node.conclusion, node.children[:-1] or (node,))
        yield Proof(node.rule, node.conclusion, (*node.children, node))


def test_no_mutated_proof_is_accepted():
    boxes = [key(1), key(3), box(2, 1), box(4, 3), box(0, 4, 2), box(3, 1)]
    episode = prove_boxes(boxes, [1, 0, 3, 2, 4])
    used = {index: episode.premises[index] for index in episode.used}
    root = Sequent((), GEM)
    count = 0
    for path, node in nodes(episode.proof):
        for mutant in mutants(node):
            with pytest.raises(InvalidProof):
                verify(replaced(episode.proof, path, mutant), used, root)
            count += 1
    assert count > 200
    verify(episode.proof, used, root)


def test_the_search_agrees_on_small_sequents():
    """The gem can be had from some boxes, says the library, iff some Γ' ⊢ Gem is derivable."""
    rng = np.random.default_rng(1)
    found = {True: 0, False: 0}
    for _ in range(150):
        boxes = [box(0, *rng.choice(3, size=rng.integers(1, 3), replace=False) + 1)]
        boxes += [key(int(rng.integers(1, 4))) for _ in range(rng.integers(1, 3))]
        boxes += [box(*map(int, rng.integers(1, 4, size=2))) for _ in range(rng.integers(0, 3))]
        boxes = [Box(int(b.content), tuple(map(int, b.needs)), b.key, b.locks) for b in boxes]
        formulas = [as_formula(sequent) for sequent in prove_boxes(boxes, []).premises]

        def can(extra=(), formulas=formulas):
            every = [*formulas, *extra]
            subsets = (itertools.combinations(every, n) for n in range(1, len(every) + 1))
            return any(derivable(s, GEM) for s in itertools.chain.from_iterable(subsets))

        episode = prove_boxes(boxes, [])
        assert (episode.missing == ()) == can()
        found[can()] += 1
        if episode.missing:
            assert can(episode.missing)
            assert not any(
                can(fewer)
                for fewer in itertools.combinations(
                    [Atom(n) for n in "ABC"], len(episode.missing) - 1
                )
            )
    assert min(found.values()) > 20


def test_linear_logic_has_no_proof_that_carries_the_bridge_along():
    """Why Γ' and not Γ stands in the proof: there is no weakening."""
    boxes = [key(1), key(2), box(0, 1, 2), box(2, 1)]
    episode = prove_boxes(boxes, [0, 1, 2])
    gamma = episode.sequent.left
    assert not derivable(gamma, GEM)
    assert derivable([gamma[index] for index in episode.used], GEM)


def test_a_play_that_opens_the_bridge_says_what_is_missing():
    boxes = [key(1), key(2), box(0, 1, 2), box(2, 1)]
    episode = prove_boxes(boxes, [0, 3])
    assert episode.outcome == "no proof" and episode.proof is None and episode.used == ()
    assert [str(atom) for atom in episode.missing] == ["A"]
    assert "missing ⊢ A (the key A was spent on premise 3: A ⊢ B)" in episode.text()
    with pytest.raises(ValueError, match="'no proof'"):
        episode.latex()


def test_a_play_that_stops_early_misses_nothing():
    episode = prove_boxes([key(1), key(2), box(0, 1, 2)], [1])
    assert (episode.outcome, episode.missing, episode.proof) == ("unfinished", (), None)
    assert "No proof yet" in episode.text()


def test_keys_taken_for_nothing_stay_out_of_the_proof():
    boxes = [key(1), key(2), box(0, 1), box(3, 2)]
    episode = prove_boxes(boxes, [1, 0, 3, 2])
    assert episode.used == (0, 2)
    check(episode)
    assert "opened, turn 3, not needed" in episode.text()


def test_two_keys_of_one_colour_are_two_premises():
    boxes = [key(1), key(1), box(2, 1), box(0, 2, 1)]
    episode = prove_boxes(boxes, [0, 1, 2, 3])
    assert episode.used == (0, 1, 2, 3)
    check(episode)


def test_keys_held_at_the_start_are_premises():
    board = np.full((9, 7), -1)
    board[1, 1], board[2, 1] = 0, 3
    level = Level(board, np.zeros((21, 3), np.uint8), start=Start((0, 0), (3,)))
    episode = prove_episode(level, solve(level).actions)
    assert [str(sequent) for sequent in episode.premises] == ["⊢ A", "A ⊢ Gem"]
    assert "held at the start" in episode.text()
    check(episode)


def test_boxes_without_a_gem_miss_the_gem():
    assert missing_colours([key(1)]) == (0,)


@pytest.mark.parametrize(
    ("opened", "message"),
    [
        ([1], r"box 1 needs key 1; the inventory holds \[\]"),
        ([0, 0], "each once"),
        ([5], "0 to 1"),
        ([-1], "0 to 1"),
    ],
)
def test_plays_that_the_rules_forbid_are_refused(opened, message):
    with pytest.raises(ValueError, match=message):
        prove_boxes([key(1), box(0, 1)], opened)


def test_a_strategy_without_its_key_is_refused():
    premises = {0: Sequent((Atom("A"),), Atom("B"))}
    with pytest.raises(ValueError, match="needs A; held: nothing"):
        strategy_proof(premises, [0])


def test_boxes_of_a_board():
    board = np.full((9, 7), -1)
    board[1, 1], board[2, 1], board[1, 2], board[2, 2] = 0, 1, 0, 2
    board[4, 3], board[5, 3], board[7, 5] = 1, 3, 3
    found = boxes_on_board(board)
    assert found == (
        Box(0, (1, 2), (1, 1), ((2, 1), (2, 2))),
        Box(1, (3,), (4, 3), ((5, 3),)),
        Box(3, (), (7, 5), ()),
    )
    assert found[2].targets == ((7, 5),) and found[0].targets == ((2, 1), (2, 2))
    board[6, 3] = 1
    with pytest.raises(ValueError, match="3 tiles in a row at x=4, y=3"):
        boxes_on_board(board)
    with pytest.raises(ValueError, match="columns, rows"):
        boxes_on_board(board[0])
