"""The free ranges against a plain list of pages."""

from hypothesis import given
from hypothesis import strategies as st

from darkpy.memory.free_ranges import ENDLESS, FreeRanges


def test_all_is_free_at_first() -> None:
    free = FreeRanges()
    assert list(free) == [(0, ENDLESS)]
    assert free.rest == 0
    assert free.find(10**12) == 0


def test_the_lowest_range_that_is_large_enough_is_found() -> None:
    free = FreeRanges()
    free.remove(0, 100)
    free.add(10, 13)
    free.add(40, 44)
    free.add(50, 60)
    assert [free.find(size) for size in (1, 3, 4, 5, 11)] == [10, 10, 40, 50, 100]
    assert free.rest == 100


def test_a_range_joins_both_neighbours() -> None:
    free = FreeRanges()
    free.remove(0, 30)
    free.add(0, 10)
    free.add(20, 25)
    free.add(10, 20)
    assert list(free) == [(0, 25), (30, ENDLESS)]
    free.add(25, 30)
    assert list(free) == [(0, ENDLESS)]


def test_neighbours_join_across_groups() -> None:
    """Thousands of single ranges fill many groups; the ranges between them join all."""
    free = FreeRanges()
    free.remove(0, 4000)
    for start in range(0, 4000, 2):
        free.add(start, start + 1)
    assert len(list(free)) == 2001
    assert free.find(2) == 4000
    for start in range(3999, 0, -2):
        free.add(start, start + 1)
    assert list(free) == [(0, ENDLESS)]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=200))
def test_first_fit_as_a_plain_list_of_units_gives_it(steps: list[tuple[bool, int]]) -> None:
    free, taken, owned = FreeRanges(), [False] * 10_000, []
    for is_take, number in steps:
        if is_take:
            expected = next(at for at in range(10_000) if not any(taken[at : at + number]))
            start = free.find(number)
            assert start == expected
            free.remove(start, number)
            taken[start : start + number] = [True] * number
            owned.append((start, start + number))
        elif owned:
            start, stop = owned.pop(number % len(owned))
            free.add(start, stop)
            taken[start:stop] = [False] * (stop - start)
    assert sum(stop - start for start, stop in free if stop < ENDLESS) == taken[: free.rest].count(False)
