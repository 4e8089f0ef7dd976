import pytest

from darkpy.memory.costs import Lifetime, Linear, Operation, Trace, Trip, total
from darkpy.memory.offload import AHEAD, WRITING

BIG = WRITING  # an image: a window holds no more than one


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
    away = tuple(Trip(alive(BIG, i, i), i, (alive(BIG, 5 - i, 5 - i),)) for i in range(3))
    return Trace(operations(3, 3), (), away)


def test_the_newest_tensor_waits_on_the_device_until_the_next_one_comes() -> None:
    """One tensor is in the window of what is written, one is fetched ahead; the last one never has to come back."""
    assert [live // BIG for live in trips().live(2)] == [2, 4, 4, 4, 4, 2]
    assert trips().waiting(2) == 2


def test_small_tensors_stay_in_the_window_together() -> None:
    small = WRITING // 4
    away = tuple(Trip(alive(small, i, i), i, (alive(small, 5 - i, 5 - i),)) for i in range(3))
    trace = Trace(operations(3, 3), (), away)
    assert trace.waiting(1) == 0  # all are still there when backward begins
    assert [live // small for live in trace.live(1)] == [1, 2, 3, 3, 2, 1]


def test_the_windows_are_those_of_the_store() -> None:
    assert WRITING == AHEAD  # what the figures above count on


def test_what_goes_away_and_what_stays_is_told_apart() -> None:
    kept = Lifetime(Linear(7), 0, 5, "", is_saved=True)
    trace = Trace(operations(3, 3), (kept, alive(5, 0, 0)), trips().trips)
    assert trace.saved == Linear(7)
    assert trace.offloaded == Linear(3 * BIG)


@pytest.mark.parametrize("mini_batch", [1, 2, 7])
def test_a_peak_grows_with_the_mini_batch(mini_batch: int) -> None:
    assert trips().peak(mini_batch) < trips().peak(mini_batch + 1)
