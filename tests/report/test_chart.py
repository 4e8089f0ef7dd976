import math
from array import array
from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.events import IterationTrained, MapMeasured, Note, TrainingEnded
from darkpy.report.chart import Chart, duration, means_of, some_of

WHITE = (255, 255, 255)


def trained(iteration: int, *, loss: float = 1.0, max_batches: int = 400, hours_left: float = 0.5) -> IterationTrained:
    return IterationTrained(
        iteration, max_batches, loss, loss, 0.001, 1.0, iteration * 8, hours_left, None, -1.0, -1.0, 0.5
    )  # fmt: skip


def measured(iteration: int, value: float) -> MapMeasured:
    return MapMeasured(iteration, value, 0.5, True)


def pixels(path: Path) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)


def reddish(image: np.ndarray) -> np.ndarray:
    """Mark the pixels in the mAP's colour."""
    blue, _, red = (image[..., channel].astype(int) for channel in range(3))
    return (red > 180) & (blue < 120)


@pytest.fixture
def chart(tmp_path: Path) -> Chart:
    return Chart("net", max_loss=20.0, folder=tmp_path)


def test_both_files_are_written_at_every_100th_iteration(chart: Chart, tmp_path: Path) -> None:
    for iteration in range(1, 100):
        chart(trained(iteration))
    assert list(tmp_path.iterdir()) == []
    chart(trained(100))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chart.png", "chart_net.png"]
    assert (tmp_path / "chart.png").read_bytes() == (tmp_path / "chart_net.png").read_bytes()
    assert pixels(tmp_path / "chart.png").shape == (800, 1200, 3)


def test_a_map_is_on_file_at_once(chart: Chart, tmp_path: Path) -> None:
    chart(trained(1))
    chart(measured(1, 0.5))
    assert reddish(pixels(tmp_path / "chart.png")).any()


def test_the_last_map_of_a_short_run_is_on_the_chart(chart: Chart, tmp_path: Path) -> None:
    for iteration in range(1, 31):
        chart(trained(iteration, max_batches=30))
    chart(TrainingEnded(30, interrupted=False))
    assert not reddish(pixels(tmp_path / "chart.png")).any()
    chart(measured(30, 0.8))
    assert reddish(pixels(tmp_path / "chart.png")).any()


def test_the_map_point_stands_at_its_iteration_and_value(chart: Chart, tmp_path: Path) -> None:
    chart(trained(200))
    chart(measured(200, 0.5))
    marked = reddish(pixels(tmp_path / "chart.png"))
    assert marked[390, 600]  # half of the plotted area, x from 90 to 1110 and y from 80 to 700
    assert not marked[390, 640]


def test_the_average_loss_falls_on_its_scale(chart: Chart, tmp_path: Path) -> None:
    for iteration in range(1, 401):
        chart(trained(iteration, loss=20.0 if iteration < 200 else 2.0))
    image = pixels(tmp_path / "chart.png").astype(int)
    blue = (image[..., 0] > 150) & (image[..., 2] < 60)
    high, low = (np.flatnonzero(blue[:, x]).mean() for x in (300, 900))
    assert high == pytest.approx(80, abs=2)
    assert low == pytest.approx(700 - 620 * math.log10(2.0 / 1.0) / math.log10(20.0 / 1.0), abs=2)


@pytest.mark.parametrize("loss", [math.nan, math.inf, 0.0, -1.0, 1e9])
def test_odd_losses_are_drawn_without_a_warning(loss: float, chart: Chart, tmp_path: Path) -> None:
    for iteration in range(99, 101):
        chart(trained(iteration, loss=loss))
    assert (tmp_path / "chart.png").exists()


def test_nothing_is_written_before_the_first_iteration(chart: Chart, tmp_path: Path) -> None:
    chart(Note("loading"))
    chart(TrainingEnded(0, interrupted=True))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_vanishes_is_said_once_and_training_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = Chart("net", max_loss=20.0, folder=tmp_path / "gone")
    chart(trained(100))
    chart(trained(200))
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "chart.png cannot be written: No such file or directory. Training goes on." in error


@pytest.mark.parametrize(
    ("hours_left", "iteration", "end"), [(0.5, 100, "about 30 min left"), (-1.0, 100, ""), (0.0, 400, "done")]
)
def test_the_status_says_how_long(hours_left: float, iteration: int, end: str, chart: Chart) -> None:
    chart(trained(iteration, hours_left=hours_left))
    plot = chart.plot()
    assert plot is not None
    assert plot.status.strip() == f"iteration {iteration} of 400   average loss 1.0000   rate 0.001   {end}".strip()


@pytest.mark.parametrize(
    ("hours", "text"), [(0.01, "36 s"), (0.2, "12 min"), (3.34, "3 h 20 min"), (1.0, "1 h 00 min"), (53.0, "2 d 5 h")]
)
def test_durations(hours: float, text: str) -> None:
    assert duration(hours) == text


def test_long_runs_are_thinned() -> None:
    iterations, values = array("d", range(1, 10_001)), array("d", [1.0, 3.0] * 5_000)
    dots, line = some_of(iterations, values, most=6_000), means_of(iterations, values, most=1_000)
    assert len(dots.values) == 5_000
    assert len(line.values) == 1_000
    assert line.values == pytest.approx(2.0)
    assert line.iterations[0] == pytest.approx(5.5)


def test_means_leave_out_what_is_no_number() -> None:
    line = means_of(array("d", [1, 2, 3]), array("d", [4.0, math.nan, 6.0]), most=10)
    assert line.values.tolist() == [4.0, 6.0]
    assert line.iterations.tolist() == [1.0, 3.0]
