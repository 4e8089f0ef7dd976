from dataclasses import replace

import pytest

from darkpy.memory.costs import Lifetime, Linear, Operation, Trace, Trip, total
from darkpy.memory.offload import WINDOW

BIG = WINDOW  # an image: a window holds no more than one


def operations(forward: int, backward: int, **facts: int) -> tuple[Operation, ...]:
    return tuple(Operation("op", "", i >= forward, 0, Linear(), **facts) for i in range(forward + backward))


def alive(image: int, born: int, died: int, *, fixed: int = 0) -> Lifetime:
    return Lifetime(Linear(image, fixed), born, died, "")


def test_bytes_grow_with_the_mini_batch() -> None:
    assert Linear(3, 10).at(1) == 13
    assert Linear(3, 10).at(8) == 34
    assert total([Linear(1, 2), Linear(10, 20)]) == Linear(11, 22)
    assert total([]) == Linear()


def test_live_bytes_are_those_of_the_pieces_that_are_there() -> None:
    trace = Trace(operations(2, 2), (alive(10, 0, 2), alive(1, 1, 1, fixed=5), alive(4, 3, 3)))
    assert trace.live(1) == [10, 16, 10, 4]
    assert trace.live(3) == [30, 38, 30, 12]
    assert trace.peak(3) == 38
    assert trace.forward == 2


def test_a_convolution_may_copy_its_weights() -> None:
    trace = Trace(operations(1, 0, weights=100), (alive(10, 0, 0),))
    assert trace.peak(1) == 10
    assert trace.peak(1, copies=2) == 210


def test_an_empty_step_needs_nothing() -> None:
    assert Trace((), ()).peak(1) == 0


def trips() -> Trace:
    """Three tensors that go away after operations 0, 1 and 2 of three, and come back at 5, 4 and 3."""
    away = tuple(Trip(alive(BIG, i, i), i, (alive(BIG, 5 - i, 5 - i),), (5 - i,)) for i in range(3))
    return Trace(operations(3, 3), (), away)


def test_the_newest_tensor_waits_on_the_device_until_the_next_one_comes() -> None:
    """One tensor is in the window of what is written, one is fetched ahead; the last one never has to come back."""
    assert [live // BIG for live in trips().live(2)] == [2, 4, 4, 4, 4, 2]
    assert trips().waiting(2) == 2


def test_small_tensors_stay_in_the_window_together() -> None:
    small = WINDOW // 4
    away = tuple(Trip(alive(small, i, i), i, (alive(small, 5 - i, 5 - i),), (5 - i,)) for i in range(3))
    trace = Trace(operations(3, 3), (), away)
    assert trace.waiting(1) == 0  # all are still there when backward begins
    assert [live // small for live in trace.live(1)] == [1, 2, 3, 3, 2, 1]


def test_where_memory_is_tight_a_large_tensor_is_not_fetched_ahead() -> None:
    loose, tight = trips(), replace(trips(), tight=True)
    assert [live // BIG for live in tight.live(2)] == [2, 4, 4, 2, 2, 2]
    assert (loose.ahead(2), tight.ahead(2)) == (2 * BIG, BIG)


def test_what_is_loaded_out_of_turn_fetches_nothing() -> None:
    away = tuple(replace(trip, turns=()) for trip in trips().trips)
    assert [live // BIG for live in Trace(operations(3, 3), (), away).live(2)] == [2, 4, 4, 2, 2, 2]


def test_a_second_load_comes_at_its_own_time() -> None:
    """The first tensor is loaded for a sum at operation 3, and for itself at 5, fetched ahead from 4 on."""
    first = Trip(alive(BIG, 0, 0), 0, (alive(BIG, 3, 3), alive(BIG, 6, 6)), (6,))
    second = Trip(alive(BIG, 1, 1), 1, (alive(BIG, 5, 5),), (5,))
    last = Trip(alive(BIG, 2, 2), 2, (), ())
    trace = Trace(operations(3, 4), (), (first, second, last))
    assert [live // BIG for live in trace.live(1)] == [1, 2, 2, 1, 0, 2, 1]


def test_what_goes_away_and_what_stays_is_told_apart() -> None:
    kept = Lifetime(Linear(7), 0, 5, "", is_saved=True)
    trace = Trace(operations(3, 3), (kept, alive(5, 0, 0)), trips().trips)
    assert trace.saved == Linear(7)
    assert trace.offloaded == Linear(3 * BIG)


@pytest.mark.parametrize("mini_batch", [1, 2, 7])
def test_a_peak_grows_with_the_mini_batch(mini_batch: int) -> None:
    assert trips().peak(mini_batch) < trips().peak(mini_batch + 1)
