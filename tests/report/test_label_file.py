"""-save_labels (darkpy/report/label_file.py)."""

import math
from pathlib import Path

import pytest
import torch

from darkpy.errors import DataError
from darkpy.report.label_file import label_text, save_labels
from darkpy.structures import Detections

BOX = (0.32571, 0.62849, 0.35404, 0.60217)


def found(*rows: tuple[float, ...]) -> Detections:
    """Make detections of rows x, y, w, h, two class probabilities."""
    table = torch.tensor(rows, dtype=torch.float32).reshape(-1, 6)
    return Detections(table[:, :4], torch.ones(len(table)), table[:, 4:])


def test_best_class_above_the_threshold_in_array_order() -> None:
    detections = found((*BOX, 0.3, 0.9), (*BOX, 0.25, 0.0), (-0.1, 0.5, 1.5, 0.5, 0.5, 0.5))
    assert label_text(detections, threshold=0.25) == ("1 0.3257 0.6285 0.3540 0.6022\n0 -0.1000 0.5000 1.5000 0.5000\n")


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_g16_no_inf_or_nan_is_written(bad: float) -> None:
    """G16."""
    text = label_text(found((0.5, 0.5, bad, 0.5, 0.9, 0.0), (*BOX, 0.9, 0.0)), threshold=0.25)
    assert text == "0 0.3257 0.6285 0.3540 0.6022\n"


def test_g09_nothing_found_gives_an_empty_file(tmp_path: Path) -> None:
    """G09."""
    assert save_labels(str(tmp_path / "a.jpg"), found(), threshold=0.25) is None
    assert (tmp_path / "a.txt").read_bytes() == b""


def test_existing_labels_are_replaced_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 .5 .5 .1 .1\n1 .5 .5 .1 .1\n")
    note = save_labels(str(tmp_path / "a.png"), found((*BOX, 0.9, 0.0)), threshold=0.25)
    assert note is not None
    assert "a.txt: replaced; it held 2 lines before." in note
    assert (tmp_path / "a.txt").read_text() == "0 0.3257 0.6285 0.3540 0.6022\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_picture_is_never_overwritten(tmp_path: Path) -> None:
    for name in ("a.webp", "b.unknown", "c"):
        picture = tmp_path / name
        picture.write_bytes(b"picture")
        save_labels(str(picture), found((*BOX, 0.9, 0.0)), threshold=0.25)
        assert picture.read_bytes() == b"picture"
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["a.txt", "b.unknown.txt", "c.txt"]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"-save_labels: .*gone.a\.txt: cannot be written: No such file"):
        save_labels(str(tmp_path / "gone" / "a.jpg"), found(), threshold=0.25)
