import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from darkpy.conversion.shares import choose_valid, stay_together


def test_a_shared_key_joins_also_over_others() -> None:
    assert stay_together([["a"], ["b"], ["a", "c"], ["c", "d"], ["e"]]) == [[0, 2, 3], [1], [4]]


def test_a_long_chain_is_one_group() -> None:
    keys = [[number, number + 1] for number in reversed(range(3000))]
    assert stay_together(keys) == [list(range(3000))]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(
    classes=st.lists(st.integers(0, 4), min_size=2, max_size=60),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 9),
)
def test_each_class_is_in_both_parts_where_it_can(classes: list[int], share: float, seed: int) -> None:
    """With one class a picture nothing binds the parts."""
    counts = np.eye(5, dtype=np.int64)[classes]
    valid = choose_valid(counts, np.ones(len(classes), np.int64), share=share, rng=rng(seed))
    for class_id in range(5):
        inside = valid[np.array(classes) == class_id]
        if len(inside) > 1:
            assert 0 < inside.sum() < len(inside)
            assert abs(inside.sum() - share * len(inside)) <= 1


@given(
    counts=st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=4, max_size=40),
    seed=st.integers(0, 9),
)
def test_pictures_of_many_classes(counts: list[list[int]], seed: int) -> None:
    """A class of two groups or more is in train; it lacks in valid only if that would take another class's last."""
    table = np.array(counts)
    valid = choose_valid(table, np.ones(len(table), np.int64), share=0.2, rng=rng(seed))
    again = choose_valid(table, np.ones(len(table), np.int64), share=0.2, rng=rng(seed))
    np.testing.assert_array_equal(valid, again)
    has = table > 0
    for class_id in np.flatnonzero(has.sum(axis=0) > 1):
        for part in (valid, ~valid):
            if has[part, class_id].any():
                continue
            for group in np.flatnonzero(has[:, class_id]):
                others = has[~part].sum(axis=0) - has[group]
                assert (others[has[group]] == 0).any()


@given(
    counts=st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=2, max_size=8),
    share=st.floats(0.001, 0.999),
    data=st.data(),
)
def test_no_part_is_empty(counts: list[list[int]], share: float, data: st.DataObject) -> None:
    sizes = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(counts), max_size=len(counts))))
    valid = choose_valid(np.array(counts), sizes, share=share, rng=rng())
    assert 0 < valid.sum() < len(valid)


def test_pictures_without_objects_are_shared_out_too() -> None:
    counts = np.array([[1]] * 10 + [[0]] * 10)
    valid = choose_valid(counts, np.ones(20, np.int64), share=0.2, rng=rng())
    assert (valid[:10].sum(), valid[10:].sum()) == (2, 2)


def test_a_rare_class_is_in_both() -> None:
    counts = np.array([[1, 0]] * 98 + [[1, 1]] * 2)
    valid = choose_valid(counts, np.ones(100, np.int64), share=0.2, rng=rng())
    assert valid[98:].sum() == 1
    assert valid.sum() == 20


def test_groups_keep_the_share_of_pictures() -> None:
    sizes = np.array([10] * 20)
    valid = choose_valid(np.array([[10]] * 20), sizes, share=0.25, rng=rng())
    assert sizes[valid].sum() == 50


def test_another_seed_chooses_others() -> None:
    counts = np.ones((50, 1), np.int64)
    first, second = (choose_valid(counts, np.ones(50, np.int64), share=0.2, rng=rng(seed)) for seed in (1, 2))
    assert (first != second).any()
