"""`detector map` (darkpy/tasks/map.py), with a network that finds what it is told."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from commands import MAP_OPTIONS as OPTIONS

from darkpy.errors import CfgError, DarkpyError, DataError, WeightsError
from darkpy.structures import Detections, NmsRule
from darkpy.tasks import map as task

BOX = "0.5 0.5 0.25 0.25"


class FakeNetwork:
    """Finds one box of class 0 in every picture."""

    classes = 2
    nms_rule = NmsRule()
    detection_layers = ((16, 28),)
    blueprint = SimpleNamespace(bflops=1.0)
    net = SimpleNamespace(width=32, height=32, channels=3, letter_box=False)

    def detect(self, images: torch.Tensor, threshold: float) -> list[Detections]:
        found = Detections(torch.tensor([[0.5, 0.5, 0.25, 0.25]]), torch.ones(1), torch.tensor([[0.9, 0.0]]))
        return [found] * len(images)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with three pictures, an object of class 0 in each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(task, "open_network", lambda *_, **__: FakeNetwork())
    for name in "abc":
        cv2.imwrite(f"{name}.png", np.full((40, 40, 3), 60, np.uint8))
        Path(f"{name}.txt").write_text(f"0 {BOX}\n")
    Path("valid.txt").write_text("a.png\nb.png\nc.png\n")
    Path("obj.names").write_text("cat\ndog\n")
    Path("obj.data").write_text("classes = 2\nvalid = valid.txt\nnames = obj.names\n")
    return tmp_path


def measure(weights: Path | None = Path("net.weights"), **options: Any) -> int:
    """Run the command on the CPU, pictures loaded in this process."""
    return task.measure(Path("obj.data"), Path("net.cfg"), weights, **{**OPTIONS, **options})


def test_printed_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure() == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(
        "\n calculation mAP (mean average precision)...\n Detection layer: 16 - type = 28 \n"
        "\n detections_count = 3, unique_truth_count = 3  \n rank = 0 of ranks = 3 \r"
        "class_id = 0, name = cat, ap = 100.00%   \t (TP = 3, FP = 0) \n"
        "class_id = 1, name = dog, ap = 0.00%   \t (TP = 0, FP = 0) \n"
    )
    assert " mean average precision (mAP@0.50) = 0.500000, or 50.00 % \n" in captured.out
    assert "Total Detection Time: 0 Seconds\n" in captured.err


def test_c23_class_without_objects_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C23."""
    measure()
    assert "1 of 2 classes have no objects in this list and count as 0 in mAP (dog)" in capsys.readouterr().err


def test_e02_unreadable_picture_is_named_and_missed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """E02: exit status 1."""
    Path("b.png").unlink()
    assert measure() == 1
    captured = capsys.readouterr()
    assert "Cannot load image b.png" in captured.err
    assert "1 pictures could not be read; their objects count as missed." in captured.err
    assert "TP = 2, FP = 0, FN = 1," in captured.out


def test_d05_label_beyond_the_classes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """D05: reported with file and line, and left out."""
    Path("b.txt").write_text(f"2 {BOX}\n0 {BOX}\n")
    assert measure() == 0
    captured = capsys.readouterr()
    assert "b.txt:1" in captured.err
    assert "unique_truth_count = 3 " in captured.out


def test_missing_label_file_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.txt").unlink()
    assert measure() == 0
    captured = capsys.readouterr()
    assert "c.txt" in captured.err
    assert "TP = 2, FP = 1, FN = 0," in captured.out


def test_difficult_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.txt").write_text("")
    Path("hard").mkdir()
    Path("hard/c.txt").write_text(f"0 {BOX}\n")
    Path("hard.txt").write_text("hard/a.png\nhard/b.png\nhard/c.png\n")
    with Path("obj.data").open("a") as file:
        file.write("difficult = hard.txt\n")
    assert measure() == 0
    out = capsys.readouterr().out
    assert "detections_count = 2, unique_truth_count = 2 " in out
    assert "ap = 100.00%   \t (TP = 2, FP = 1)" in out


def test_difficult_list_of_another_length(folder: Path) -> None:
    Path("hard.txt").write_text("hard/a.png\n")
    with Path("obj.data").open("a") as file:
        file.write("difficult = hard.txt\n")
    with pytest.raises(DataError, match=r"obj\.data:4: difficult: 1 images in hard\.txt, but 3 in valid\.txt"):
        measure()


@pytest.mark.parametrize("names", ["cat\n", "cat\ndog\ncow\n"])
def test_c09_names_must_fit_the_classes(folder: Path, names: str) -> None:
    """C09: both numbers and both files."""
    Path("obj.names").write_text(names)
    count = names.count("\n")
    with pytest.raises(DataError, match=rf"number of names {count} in obj\.names isn't equal to classes=2 in net\.cfg"):
        measure()


def test_valid_list_is_required(folder: Path) -> None:
    Path("obj.data").write_text("names = obj.names\n")
    with pytest.raises(CfgError, match=r"obj\.data: no 'valid = \.\.\.' line, which detector map needs"):
        measure()


def test_empty_valid_list(folder: Path) -> None:
    Path("valid.txt").write_text("\n\n")
    with pytest.raises(DataError, match=r"obj\.data:2: valid: valid\.txt: the list is empty"):
        measure()


@pytest.mark.parametrize("points", [1, -3])
def test_points_that_make_no_sense(folder: Path, points: int) -> None:
    with pytest.raises(DarkpyError, match=rf"-points {points}: must be 0 .* or at least 2"):
        measure(points=points)


def test_weights_are_required(folder: Path) -> None:
    with pytest.raises(WeightsError, match="no weights given"):
        measure(None)


def test_points_and_thresholds_are_passed_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure(points=11, threshold=0.95, iou_threshold=0.75)
    out = capsys.readouterr().out
    assert " for conf_thresh = 0.95, TP = 0, FP = 0, FN = 3, average IoU = 0.00 % \n" in out
    assert " IoU threshold = 75 %, used 11 Recall-points \n" in out


@pytest.mark.slow
def test_workers_change_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    alone = capsys.readouterr().out
    measure(workers=2)
    assert capsys.readouterr().out == alone


def test_cocos_figures_stand_behind_darknets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure()
    alone = capsys.readouterr().out
    assert measure(coco=True) == 0
    both = capsys.readouterr().out
    assert both.startswith(alone)
    added = both.removeprefix(alone)
    assert "threshold 0.001, NMS 0.6" in added
    assert added.count(" = 1.000\n") == 8  # the objects are small, as all are; medium and large have none
    assert added.count(" = -1.000\n") == 4


def test_cocos_figures_and_a_difficult_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("obj.data").open("a") as file:
        file.write("difficult = valid.txt\n")
    measure(coco=True)
    assert "-coco: the difficult list has no effect on COCO's figures" in capsys.readouterr().err
