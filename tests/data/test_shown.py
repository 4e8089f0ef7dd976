from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.data.shown import save_row, shown_name
from darkpy.errors import DataError

TRUTHS = np.array([(0.5, 0.5, 0.5, 0.5, 0)], np.float32)
KEY = (12, 3, 7)


def test_names_tell_iteration_row_and_seed() -> None:
    assert shown_name(iteration=12, row=3, seed=7) == "aug_12_3_7.jpg"


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_a_picture_is_saved_with_its_boxes(tmp_path: Path, channels: int, kind: type) -> None:
    level = 40 if kind is np.uint8 else 40 / 255
    pixels = np.full((64, 96, channels), level, kind)
    save_row(tmp_path, pixels, TRUTHS, key=KEY)
    saved = cv2.imread(str(tmp_path / "aug_12_3_7.jpg"), cv2.IMREAD_UNCHANGED)
    assert saved.shape == ((64, 96, 3) if channels == 3 else (64, 96))
    expected = (206, 156, 106) if channels == 3 else 150  # BGR
    lightness = saved if channels == 1 else saved.mean(axis=2)
    assert (lightness[[16, 48], 28:68] > 90).all()  # the box: rows 16 and 48, columns 24 and 72
    assert (lightness[20:44, [24, 72]] > 90).all()
    assert np.abs(saved[16, 40].astype(int) - expected).max() < 50  # JPEG halves the resolution of colours
    assert np.abs(lightness[24:40, 32:64] - 40).max() < 3
    assert (pixels == np.asarray(level, kind)).all()  # the training picture stays


def test_colours_are_not_swapped(tmp_path: Path) -> None:
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[..., 0] = 200
    save_row(tmp_path, pixels, np.zeros((0, 5), np.float32), key=KEY)
    blue, green, red = cv2.imread(str(tmp_path / "aug_12_3_7.jpg"))[16, 16]
    assert red > 190
    assert max(blue, green) < 10


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^-show_imgs: .*gone/aug_12_3_7\.jpg cannot be written: No such file or dir"):
        save_row(tmp_path / "gone", np.zeros((8, 8, 3), np.uint8), TRUTHS, key=KEY)
