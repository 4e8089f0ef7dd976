"""Four users' sets: what `data check` reports is what their descriptions state."""

from collections import Counter
from pathlib import Path

import pytest
from clean_data import checked

from darkpy.checks.data_check import Outcome
from darkpy.report.data_report import DataSummary

pytestmark = [pytest.mark.reference]


def report(folder: Path, monkeypatch: pytest.MonkeyPatch, data: str, net: str | None = None) -> Outcome:
    monkeypatch.chdir(folder)
    return checked(net, data)


def summary_of(outcome: Outcome) -> DataSummary:
    assert outcome.summary is not None
    return outcome.summary


def kinds(outcome: Outcome) -> Counter[str]:
    return Counter(one.code for one in outcome.diagnostics)


@pytest.mark.parametrize("net", [None, "yolov4_416_416_tiny.cfg"])
def test_robocup(net: str | None, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = report(shared / "data" / "robocup-msl", monkeypatch, "obj.data", net)
    summary = summary_of(outcome)
    assert [(one.pictures, one.negatives, one.without_label, one.unreadable) for one in summary.lists] == [
        (91, 5, 1, 0),
        (23, 1, 1, 0),
    ]
    assert {one.name: sum(one.boxes) for one in summary.classes} == {
        "ball": 122,
        "obstacle": 285,
        "human": 179,
        "parking": 20,
        "goal post": 148,
    }
    assert sum(one.boxes for one in summary.lists) == 754
    assert summary.sizes is not None
    assert summary.sizes.counts == ((608, 800, 114),)
    assert summary.sizes.upright == 114
    assert summary.thin_boxes == 12
    assert summary.advice is not None
    assert summary.advice.width < summary.advice.height
    found = kinds(outcome)
    assert found.pop("tiny-box", 0) + (net is None) > 0
    expected = {"thin-box": 12, "label-missing": 2, "missing-folder": 1}
    assert found == (expected if net is None else expected | {"aspect": 1, "unlearnt": 1})
    lost = [one.message for one in outcome.diagnostics if one.code == "unlearnt"]  # counted by a plain loop, too
    assert all("244 of 580 boxes" in text and "class 4 ('goal post') 83 of 121" in text for text in lost)
    missing = [(one.where, one.message) for one in outcome.diagnostics if one.code == "label-missing"]
    assert [where for where, _ in missing] == ["train.txt:43", "validation.txt:2"]
    assert "20250109/r2/cam1_20250109_205406.txt" in missing[0][1]
    assert "20190606/r4/cam3_20190606_211954.txt" in missing[1][1]


def test_cards(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = report(shared / "data" / "playing-cards", monkeypatch, "cards.data")
    summary = summary_of(outcome)
    assert [(one.pictures, one.boxes) for one in summary.lists] == [(48, 92), (12, 28)]
    assert {one.name: sum(one.boxes) for one in summary.classes} == {
        "nine": 21,
        "ten": 17,
        "jack": 20,
        "queen": 17,
        "king": 25,
        "ace": 20,
    }
    assert summary.extensions == ((".JPG", 49), (".jpg", 11))
    assert summary.sizes is not None
    assert summary.sizes.upright > 0
    assert summary.sizes.wide > 0
    assert [one.path for one in outcome.diagnostics if one.code == "crlf"][:4] == [
        "cards.data",
        "train.txt",
        "valid.txt",
        "cards.names",
    ]
    (labels,) = [one for one in outcome.diagnostics if one.path.startswith("train/")]
    assert "in 60 of 60 label files" in labels.message
    assert kinds(outcome) == {"crlf": 5, "missing-folder": 1}


def test_plastics(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = report(shared / "data" / "marine-plastics", monkeypatch, "cfg/obj.data")
    summary = summary_of(outcome)
    assert [(one.path, one.pictures) for one in summary.lists] == [("data/train.txt", 45), ("data/test.txt", 15)]
    assert [sum(one.boxes) for one in summary.classes] == [65]
    assert summary.sizes is not None
    assert sorted(summary.sizes.counts) == [(608, 342, 23), (608, 403, 37)]
    assert dict(summary.box_sides) == {"4-8 %": 5, "8-16 %": 55, "16-32 %": 5} | dict.fromkeys(
        ("< 1 %", "1-2 %", "2-4 %", "32-64 %", ">= 64 %"), 0
    )
    (blank,) = [one for one in outcome.diagnostics if one.code == "blank-line"]
    assert blank.where == "cfg/obj.names:2"
    assert kinds(outcome) == {"blank-line": 1, "missing-folder": 1}


def test_coco(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = report(shared / "data" / "coco-ccby", monkeypatch, "coco.data")
    summary = summary_of(outcome)
    train, valid = summary.lists
    assert (train.pictures, valid.pictures, valid.boxes, valid.negatives) == (15, 32, 179, 1)
    assert sum(one.boxes[1] > 0 for one in summary.classes) == 50
    assert len(summary.classes) == 80
    assert summary.sizes is not None
    assert len(summary.sizes.counts) == 18
    assert summary.sizes.upright > 0
    assert summary.sizes.wide > 0
    assert summary.thin_boxes == 5
    never = [one for one in outcome.diagnostics if one.code == "class-without-boxes"]
    assert sum("train.txt and all.txt" in one.message for one in never) == 30
    found = kinds(outcome)
    del found["class-without-boxes"]
    assert found == {"thin-box": 5, "grey": 1, "train-in-valid": 1, "missing-folder": 1}
    (both,) = [one for one in outcome.diagnostics if one.code == "train-in-valid"]
    assert both.where == "coco.data:3"
    assert "15 of the 32 pictures in all.txt" in both.message


def test_blood_cells(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = report(shared / "data" / "bccd", monkeypatch, "bccd.data", "demo.cfg")
    summary = summary_of(outcome)
    assert [(one.pictures, one.boxes) for one in summary.lists] == [(292, 3941), (72, 945)]
    assert {one.name: sum(one.boxes) for one in summary.classes} == {"RBC": 4153, "WBC": 372, "Platelets": 361}
    assert summary.sizes is not None
    assert summary.sizes.counts == ((640, 480, 364),)
    assert not any(one.severity.name == "ERROR" for one in outcome.diagnostics)


def test_cut_out_cells(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A classifier's set, without label files and names."""
    outcome = report(shared / "data" / "bccd-cells", monkeypatch, "cells.data")
    summary = summary_of(outcome)
    assert {one.name: one.pictures for one in summary.classes} == {
        "RBC": (200, 50),
        "WBC": (200, 49),
        "Platelets": (200, 50),
    }
    assert kinds(outcome) == {"missing-folder": 1}
