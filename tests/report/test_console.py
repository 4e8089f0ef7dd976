from io import StringIO
from pathlib import Path

import pytest

from darkpy.events import (
    BatchLoaded,
    BoxesCounted,
    Event,
    HeadTrained,
    IterationTrained,
    Line,
    MapMeasured,
    NetworkResized,
    Note,
    TrainingEnded,
    WeightsSaved,
)
from darkpy.report.console import Console

ITERATION = IterationTrained(
    iteration=101,
    max_batches=215,
    loss=0.000045,
    average_loss=0.000045,
    rate=0.0,
    seconds=0.017224,
    images=404,
    hours_left=0.002539,
    next_map=200,
    last_map=1.0,
    best_map=1.0,
    iou_threshold=0.5,
)
HEAD = HeadTrained(3, "mse", (0.75, 1.0, 1.0), 0.410713, 4, 121.289268, 1.95195, 123.241219)


def printed(*events: Event) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    console = Console(out, err)
    for event in events:
        console(event)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (BatchLoaded(0.022393, after_first=False), "Loaded: 0.022393 seconds\n"),
        (
            BatchLoaded(0.2, after_first=True),
            "Loaded: 0.200000 seconds - performance bottleneck on CPU or Disk HDD/SSD\n",
        ),
        (BatchLoaded(0.2, after_first=False), "Loaded: 0.200000 seconds\n"),
        (NetworkResized(128, 96, 1.4), "Resizing, random_coef = 1.40 \n\n 128 x 96 \n"),
        (NetworkResized(416, 416, 1.4, is_initial=True), "Resizing to initial size: 416 x 416 \n"),
        (MapMeasured(100, 1.0, 0.5, True), "\n mean_average_precision (mAP@0.50) = 1.000000 \nNew best mAP!\n"),
        (MapMeasured(200, 0.5, 0.5, False), "\n mean_average_precision (mAP@0.50) = 0.500000 \n"),
        (
            ITERATION,
            "\n (next mAP calculation at 200 iterations) "
            "\n Last accuracy mAP@0.50 = 100.00 %, best = 100.00 % "
            "101/215: loss=0.0 map=1.00 best=1.00 hours left=0.0\n"
            " 101: 0.000045, 0.000045 avg loss, 0.000000 rate, 0.017224 seconds, 404 images, 0.002539 hours left\n",
        ),
        (Line(" EMA initialization "), " EMA initialization \n"),
        (
            TrainingEnded(600, interrupted=False),
            "If you want to train from the beginning, then use flag in the end of training command: -clear \n",
        ),
    ],
)
def test_lines_that_scripts_parse_go_to_stdout(event: Event, line: str) -> None:
    """The measured lines of the reference's log, without the codes that clear the screen and ring the bell."""
    assert printed(event) == (line, "")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            HEAD,
            "v3 (mse loss, Normalizer: (iou: 0.75, obj: 1.00, cls: 1.00) Region 3 Avg (IOU: 0.410713), count: 4, "
            "class_loss = 121.289268, iou_loss = 1.951950, total_loss = 123.241219 \n",
        ),
        (BoxesCounted(200, 1), " total_bbox = 200, rewritten_bbox = 0.500000 % \n"),
        (WeightsSaved(Path("backup/net_last.weights")), f"Saving weights to {Path('backup/net_last.weights')}\n"),
        (Note("odd"), "odd\n"),
    ],
)
def test_the_rest_goes_to_stderr(event: Event, line: str) -> None:
    assert printed(event) == ("", line)


def test_without_map_the_status_names_none() -> None:
    from dataclasses import replace

    bare = replace(ITERATION, next_map=None, last_map=-1.0, best_map=-1.0, iteration=1, loss=73.212837, hours_left=-1.0)
    out, _ = printed(bare)
    assert out.startswith("1/215: loss=73.2 hours left=-1.0\n 1: 73.212837, ")


def test_a_head_without_details_prints_its_total_alone() -> None:
    from dataclasses import replace

    _, err = printed(replace(HEAD, detailed=False))
    assert err.endswith("count: 4, total_loss = 123.241219 \n")
    assert "class_loss" not in err


def test_an_interrupted_run_says_how_to_go_on() -> None:
    out, err = printed(TrainingEnded(42, interrupted=True))
    assert out == ""
    assert "iteration 42" in err
    assert "_last.weights" in err
