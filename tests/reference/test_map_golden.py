"""`detector map` prints the reference program's lines, digit for digit."""

import re
from pathlib import Path
from typing import Any

import pytest
from commands import MAP_OPTIONS as OPTIONS

from darkpy.tasks.map import measure

pytestmark = [pytest.mark.reference, pytest.mark.slow]

SMALL = ("model/yolo-fastest-1.1.cfg", "model/yolo-fastest-1.1.weights")


def from_seen(text: str) -> str:
    """Return the lines from the one on the weights on, without the progress through the ranks."""
    return re.sub(r" rank = \d+ of ranks = \d+ \r", "", text[text.index(" seen ") :])


def printed(capsys: pytest.CaptureFixture[str], data: str, cfg: str | Path, weights: str | Path, **options: Any) -> str:
    """Run the command on the CPU and return what it printed."""
    assert measure(Path(data), Path(cfg), Path(weights), **{**OPTIONS, **options}) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "data", "options"),
    [
        ("map_default", "obj.data", {}),
        ("map_p11", "obj.data", {"points": 11}),
        ("map_t50", "obj.data", {"threshold": 0.5}),
        ("map_difficult", "obj_difficult.data", {}),
    ],
)
def test_f12_five_pictures(
    name: str,
    data: str,
    options: dict[str, Any],
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """F12: also the progress through the ranks is the same here."""
    folder = (shared / "golden/evaluation").resolve()
    monkeypatch.chdir(folder)
    expected = (folder / "out" / f"{name}.stdout").read_bytes().decode()
    found = printed(capsys, data, *SMALL, **options)
    assert found[found.index(" seen ") :] == expected[expected.index(" seen ") :]


@pytest.mark.parametrize(("name", "options"), [("map", {}), ("mappoints11", {"points": 11})])
def test_f12_blood_cells(
    name: str,
    options: dict[str, Any],
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """F12."""
    golden = (shared / "golden/evaluation/bccd").resolve()
    monkeypatch.chdir(shared / "data/bccd")
    found = printed(capsys, "bccd.data", "demo.cfg", golden / "demo.weights", **options)
    assert from_seen(found) == from_seen((golden / f"{name}.stdout").read_bytes().decode())


@pytest.mark.parametrize(
    ("cfg", "options", "lines"),
    [
        (
            SMALL[0],
            {"points": 101},
            [
                "detections_count = 357",
                "person, ap = 83.50% ",
                "horse, ap = 73.27% ",
                "zebra, ap = 50.50% ",
                "0.082158",
            ],
        ),
        (SMALL[0], {"points": 2}, ["person, ap = 83.33% ", "horse, ap = 65.00% ", "0.081042"]),
        (
            SMALL[0],
            {"iou_threshold": 0.75},
            [
                "horse, ap = 26.27%   \t (TP = 1, FP = 3)",
                "precision = 0.27, recall = 0.44, F1-score = 0.33",
                "TP = 7, FP = 19, FN = 9, average IoU = 22.08 %",
                "IoU threshold = 75 %",
                "(mAP@0.75) = 0.053284, or 5.33 %",
            ],
        ),
        (
            "model/yolo-fastest-1.1-letterbox.cfg",
            {},
            [
                "detections_count = 366",
                "horse, ap = 64.73%   \t (TP = 3, FP = 0)",
                "dog, ap = 100.00%   \t (TP = 1, FP = 1)",
                "TP = 10, FP = 13, FN = 6, average IoU = 33.25 %",
                "0.076842, or 7.68 %",
            ],
        ),
    ],
)
def test_variants(
    cfg: str,
    options: dict[str, Any],
    lines: list[str],
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(shared / "golden/evaluation")
    found = printed(capsys, "obj.data", cfg, SMALL[1], **options)
    assert [line for line in lines if line not in found] == []
