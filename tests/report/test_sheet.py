"""The sheet of samples (darkpy/report/sheet.py)."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.data.image import load_image
from darkpy.errors import DataError
from darkpy.report.predictions import class_colour
from darkpy.report.sheet import SheetSample, draw_sheet, save_sheet

NAMES = ("cat", "Bär")
CELL = 320


def sample(folder: Path, *boxes: tuple[float, ...], width: int = 640, height: int = 320) -> SheetSample:
    path = folder / f"{width}x{height}.png"
    cv2.imwrite(str(path), np.full((height, width, 3), 90, np.uint8))
    return SheetSample(str(path), np.array(boxes, np.float32).reshape(-1, 5))


@pytest.mark.parametrize(("count", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (5, 2, 3), (16, 4, 4)])
def test_samples_stand_in_a_square(count: int, rows: int, columns: int, tmp_path: Path) -> None:
    sheet = draw_sheet([sample(tmp_path)] * count, NAMES)
    assert sheet.shape == (rows * 350 + 8, columns * 328 + 8, 3)


def test_a_frame_in_its_class_colour_at_its_place(tmp_path: Path) -> None:
    sheet = draw_sheet([sample(tmp_path, (0.5, 0.5, 0.5, 0.5, 0), (0.5, 0.5, 0.1, 0.1, 1))], NAMES)
    top = 8 + 80  # the picture is 320 x 160, in the middle of its cell
    for class_id, (left, upper, right, lower) in ((0, (80, 40, 240, 120)), (1, (144, 72, 176, 88))):
        colour = list(class_colour(class_id, 2))
        assert sheet[top + upper, 8 + left].tolist() == colour
        assert sheet[top + lower, 8 + right].tolist() == colour
        assert (sheet[top + lower, 8 + left : 8 + right] == colour).all()
    assert sheet[top + 100, 8 + 120].tolist() == [90, 90, 90]  # inside, nothing is covered


def test_an_upright_picture_keeps_its_form(tmp_path: Path) -> None:
    sheet = draw_sheet([sample(tmp_path, width=100, height=200)], NAMES)
    is_picture = (sheet[8 : 8 + CELL, 8 : 8 + CELL] == 90).all(axis=2)
    assert np.flatnonzero(is_picture.any(axis=0)).tolist() == list(range(80, 240))
    assert is_picture.any(axis=1).all()


@pytest.mark.parametrize("box", [(0, 0, 3, 3, 0), (0.99, 0.99, 0.5, 0.5, 1), (0.5, 0.01, 0.001, 0.001, 1)])
def test_a_box_over_the_edge_stays_in_its_cell(box: tuple[float, ...], tmp_path: Path) -> None:
    sheet = draw_sheet([sample(tmp_path, box), sample(tmp_path)], NAMES)
    assert (sheet[:, 8 + CELL : 8 + CELL + 8] == sheet[0, 0]).all()


def test_an_unreadable_picture_leaves_its_place_dark(tmp_path: Path) -> None:
    sheet = draw_sheet([SheetSample(str(tmp_path / "none.jpg"), np.zeros((0, 5), np.float32))], NAMES)
    assert sheet[8 : 8 + CELL, 8 : 8 + CELL].max() <= 50


@pytest.mark.parametrize("name", ["a.png", "b.jpg", "c.JPEG"])
def test_the_file_holds_the_sheet(name: str, tmp_path: Path) -> None:
    sheet = draw_sheet([sample(tmp_path)], NAMES)
    save_sheet(tmp_path / name, sheet)
    difference = load_image(str(tmp_path / name), channels=3).astype(int) - sheet
    assert np.abs(difference).mean() < 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["640x320.png", name])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"-sheet .*none.a\.png: cannot be written: No such file"):
        save_sheet(tmp_path / "none" / "a.png", np.zeros((8, 8, 3), np.uint8))
