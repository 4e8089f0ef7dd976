"""What a step saved last is kept, if the step before saved tensors of the same sizes."""

import pytest

from darkpy.memory.suffix import Suffix

SIZES = [100, 40, 60, 90, 50, 40]


def step(suffix: Suffix, sizes: list[int]) -> list[bool]:
    suffix.begin()
    return [suffix.takes(size) for size in sizes]


@pytest.mark.parametrize(("tight", "kept"), [(True, [False] * 3 + [True] * 3), (False, [False] + [True] * 5)])
def test_the_last_ones_are_kept_up_to_some_of_the_largest(tight: bool, kept: list[bool]) -> None:
    suffix = Suffix(tight=tight)
    assert step(suffix, SIZES) == [False] * 6
    assert step(suffix, SIZES) == kept
    assert step(suffix, SIZES) == kept


def test_a_step_of_other_sizes_keeps_nothing_from_there_on() -> None:
    suffix = Suffix(tight=True)
    step(suffix, SIZES)
    assert not any(step(suffix, [2 * size for size in SIZES]))
    assert not suffix.has_kept
    assert any(step(suffix, [2 * size for size in SIZES]))
    assert suffix.has_kept
    assert step(suffix, [*(2 * size for size in SIZES[:-1]), 1])[-1] is False


def test_a_longer_step_keeps_nothing_beyond_the_known_end() -> None:
    suffix = Suffix(tight=True)
    step(suffix, SIZES)
    assert step(suffix, [*SIZES, 10]) == [False] * 3 + [True] * 3 + [False]


def test_a_step_that_was_broken_off_tells_nothing() -> None:
    suffix = Suffix(tight=True)
    step(suffix, SIZES[:3])
    suffix.forget()
    assert not any(step(suffix, SIZES))
