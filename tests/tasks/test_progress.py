"""What a command says while it works (darkpy/tasks/_progress.py)."""

import io

import pytest
import torch

from darkpy.structures import EvaluationBatch, Problem
from darkpy.tasks._progress import ProblemLog, items_with_progress, with_progress


def batch(count: int) -> EvaluationBatch:
    """Make a batch of so many pictures."""
    none = (torch.zeros(0, 5),) * count
    return EvaluationBatch(
        torch.zeros(count, 3, 8, 8), ((8, 8),) * count, none, none, ("a.jpg",) * count, (True,) * count
    )


def test_a_line_every_ten_seconds_without_a_terminal() -> None:
    stream = io.StringIO()
    clock = iter([0.0, 4.0, 11.0, 11.0, 12.0, 20.5])
    batches = [batch(8), batch(8), batch(8), batch(3)]
    assert list(with_progress(batches, 27, stream=stream, clock=lambda: next(clock))) == batches
    assert stream.getvalue() == "16 of 27 images\n"


def test_a_bar_on_a_terminal() -> None:
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    list(with_progress([batch(8), batch(3)], 11, stream=stream))
    assert "/11" in stream.getvalue()
    assert "images\n" not in stream.getvalue()


def test_problems_are_named_then_counted(capsys: pytest.CaptureFixture[str]) -> None:
    log = ProblemLog()
    for index in range(12):
        log(Problem("label", f"{index}.txt", f"{index}.txt: missing"))
        log(Problem("image", f"{index}.jpg", f"{index}.jpg: unreadable"))
    err = capsys.readouterr().err
    assert err.count("unreadable") == 12
    assert err.count("missing") == 10
    assert log.unreadable == 12
    assert log.summary() == [
        "2 more problems of this kind: pictures without a label file.",
        "12 pictures could not be read; their objects count as missed.",
    ]


def test_nothing_wrong_needs_no_summary() -> None:
    assert ProblemLog().summary() == []


def test_single_items_count_one_each() -> None:
    stream = io.StringIO()
    clock = iter([0.0, 4.0, 11.0, 11.0])
    assert list(items_with_progress("abc", 3, stream=stream, clock=lambda: next(clock, 12.0))) == ["a", "b", "c"]
    assert stream.getvalue() == "2 of 3 images\n"
