import numpy as np
import pytest

from darkpy.report._plot import Curve, iteration_ticks, labelled, loss_range, loss_ticks


@pytest.mark.parametrize(
    ("averages", "expected"),
    [
        ([], (5.0, 20.0)),
        ([600.0, 3.0, 0.9], (0.5, 20.0)),
        ([0.05], (0.02, 20.0)),
        ([1e-9], (2e-4, 20.0)),
        ([2.6], (2.0, 20.0)),
    ],
)
def test_the_loss_axis_goes_from_a_round_number_to_max_chart_loss(
    averages: list[float], expected: tuple[float, float]
) -> None:
    assert loss_range(np.array(averages), max_loss=20.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.5, 20.0, [0.5, 1, 2, 5, 10, 20]),
        (2.0, 3.0, [2, 3.0]),
        (0.0002, 20.0, [0.001, 0.01, 0.1, 1, 10, 20]),
        (5.0, 22.0, [5, 10, 22]),  # 20 would touch the top's label
    ],
)
def test_loss_ticks(low: float, high: float, expected: list[float]) -> None:
    assert loss_ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("last", "step"), [(600, 50), (6_000, 500), (500_200, 50_000), (7, 1), (1, 1), (30, 5), (13, 2)]
)
def test_iteration_ticks_are_whole_and_at_most_13(last: int, step: int) -> None:
    ticks = iteration_ticks(last)
    assert ticks == list(range(0, last + 1, step))
    assert len(ticks) <= 13


def test_the_last_and_the_best_map_are_labelled() -> None:
    maps = Curve(np.arange(4.0), np.array([0.1, 0.9, 0.2, 0.3]))
    assert {1, 3} <= set(labelled(maps, np.array([100.0, 300.0, 310.0, 400.0])))


def test_labels_keep_their_distance() -> None:
    xs = np.linspace(100, 1100, 200)
    chosen = xs[labelled(Curve(xs, np.linspace(0.1, 0.9, 200)), xs)]
    assert np.diff(chosen).min() >= 46
