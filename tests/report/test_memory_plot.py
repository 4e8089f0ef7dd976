import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.errors import DataError
from darkpy.memory.costs import Lifetime, Linear, Operation, Trace, Trip
from darkpy.memory.plan import Costs, States, Tier, Way
from darkpy.report.memory_plot import LayerBytes, draw_memory, layer_bytes, ticks, write_plot

MB = 10**6
OPERATIONS = tuple(Operation("conv", "", i > 1, 0, Linear()) for i in range(4))
KEPT = Trace(
    OPERATIONS,
    (
        Lifetime(Linear(30 * MB), 0, 3, "layers.0", is_saved=True),
        Lifetime(Linear(10 * MB), 1, 2, "layers.2", is_saved=True),
        Lifetime(Linear(50 * MB), 1, 1, "layers.1"),
        Lifetime(Linear(2 * MB), 0, 3, "", is_saved=True),
    ),
)
AWAY = Trace(OPERATIONS, (), (Trip(Lifetime(Linear(30 * MB), 0, 0, "layers.0.part"), 0, (), ()),))
BLUE, GREEN = (184, 94, 20), (120, 170, 60)


def picture(trace: Trace) -> np.ndarray:
    costs = Costs(States(20 * MB, 0, 20 * MB), (Tier(2, (Way(trace),)),), Trace((), ()), 64, 0)
    return draw_memory(costs, costs.tiers[0], 2, title="net.cfg at 416x416")


def count(pixels: np.ndarray, colour: tuple[int, int, int]) -> int:
    return int((pixels == colour).all(-1).sum())


def test_layers_are_told_apart_by_what_they_leave() -> None:
    assert layer_bytes(KEPT) == [
        LayerBytes(-1, 2 * MB, 0),
        LayerBytes(0, 30 * MB, 0),
        LayerBytes(1, 0, 0),
        LayerBytes(2, 10 * MB, 0),
    ]
    assert layer_bytes(AWAY)[1] == LayerBytes(0, 0, 30 * MB)
    assert layer_bytes(Trace((), ())) == []


def test_bars_have_the_colour_of_where_the_bytes_are() -> None:
    kept, away = picture(KEPT), picture(AWAY)
    assert kept.shape == (800, 1200, 3)
    assert count(kept, BLUE) > 10_000
    assert count(kept, GREEN) < 200  # the key alone
    assert count(away, GREEN) > 10_000
    assert count(away, BLUE) < 200


def test_a_bar_is_as_high_as_its_bytes() -> None:
    bars = (picture(KEPT)[90:370] == BLUE).all(-1).sum(0)  # pixels of each column
    heights = sorted({int(height) for height in bars if height > 5}, reverse=True)
    assert heights[0] == pytest.approx(280, abs=3)
    assert any(abs(height - 280 / 3) < 3 for height in heights)


def test_a_step_of_nothing_can_be_drawn() -> None:
    assert picture(Trace((), ())).shape == (800, 1200, 3)


@pytest.mark.parametrize(
    ("high", "found"), [(22.1, [0, 5, 10, 15, 20]), (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (6, [*range(7)])]
)
def test_ticks_are_round(high: float, found: list[float]) -> None:
    assert ticks(high) == pytest.approx(found)


def test_the_picture_is_written_as_png(tmp_path: Path) -> None:
    write_plot(tmp_path / "plot.png", picture(KEPT))
    assert (cv2.imread(str(tmp_path / "plot.png")) == picture(KEPT)).all()


def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "plot.png"
    with pytest.raises(DataError, match=f"^-plot {re.escape(str(path))}: cannot be written: .*Name a file in a folder"):
        write_plot(path, picture(KEPT))
