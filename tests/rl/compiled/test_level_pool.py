"""The levels on the device: which they are, that none comes twice, that they can be restored."""

import dataclasses

import numpy as np
import pytest

from tf_relational.envs.config import BRIDGE
from tf_relational.envs.generator import puzzle_types
from tf_relational.envs.packed import NO_LIMIT
from tf_relational.envs.pool import Curriculum
from tf_relational.rl.compiled.level_pool import BLOCK, LevelPool


@pytest.fixture
def make_pool():
    made = []

    def make(seed=0, size=700, config=BRIDGE, curriculum=None):
        made.append(LevelPool(config, seed, size, puzzle_types(config), curriculum))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def read(pool, counts):
    """What a program reads that begins so many episodes a call."""
    seen = []
    for count in counts:
        places = (pool.cursor + np.arange(count)) % pool.size
        seen.append(pool.rows[places])
        pool.advance(count)
    return np.concatenate(seen)


def test_no_level_comes_twice_and_the_order_does_not_depend_on_the_calls(make_pool):
    one = read(make_pool(), [1, 0, 300, 699, 700, 43])
    other = read(make_pool(), [600, 600, 543])
    assert np.array_equal(one, other)
    assert len(np.unique(one, axis=0)) == len(one)
    assert not np.array_equal(one, read(make_pool(seed=1), [600, 600, 543]))


def test_a_call_that_reads_more_than_the_pool_holds_is_counted(make_pool):
    pool = make_pool(size=700)
    read(pool, [200, 1000])
    assert (pool.started, pool.reused, pool.window, pool.cursor) == (1200, 300, 700, 500)
    assert len(np.unique(pool.rows, axis=0)) == 700


def test_the_stream_goes_on_after_a_restore(make_pool):
    law = Curriculum(0.5, difficulty=3, horizon=12)
    straight = make_pool(curriculum=law)
    read(straight, [BLOCK, 33])
    numbers, rows = straight.get_state()
    rows = rows.copy()
    again = make_pool(curriculum=law)
    again.set_state(numbers, rows)
    assert np.array_equal(read(again, [400, 700, 5]), read(straight, [400, 700, 5]))
    assert again.get_state()[0] == straight.get_state()[0]
    with pytest.raises(ValueError, match=r"has rows \(700, 42\); received rows \(3, 42\)"):
        again.set_state(numbers, rows[:3])


def test_rows_carry_type_curriculum_and_horizon(make_pool):
    config = dataclasses.replace(BRIDGE, horizon=120)
    pool = make_pool(config=config, size=4096, curriculum=Curriculum(0.25, 3, horizon=12))
    place = pool.layout.slices
    tag, horizon, kind = (
        pool.rows[:, place[name]][:, 0] for name in ("curriculum", "horizon", "kind")
    )
    assert set(tag.tolist()) == {0, 3} and pool.difficulty == 3
    assert abs((tag == 3).mean() - 0.25) < 0.05
    assert np.array_equal(horizon, np.where(tag == 3, 12, 120))
    assert set(kind.tolist()) == set(range(len(puzzle_types(config))))
    start = pool.rows[:, place["start"]][:, 0]
    assert (start[tag == 0] == 0).all() and (start[tag == 3] != 0).mean() > 0.9


def test_a_new_law_replaces_every_level(make_pool):
    pool = make_pool()
    assert (pool.rows[:, pool.layout.slices["horizon"]] == NO_LIMIT).all()
    before = pool.rows
    pool.set_curriculum(Curriculum(1.0, 2, horizon=9))
    assert (pool.rows[:, pool.layout.slices["horizon"]] == 9).all()
    assert len(np.unique(np.concatenate([before, pool.rows]), axis=0)) == 2 * pool.size
    after = pool.rows
    pool.set_curriculum(Curriculum(1.0, 2, horizon=9))
    assert pool.rows is after
