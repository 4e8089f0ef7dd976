import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.conversion.picture_size import PictureSize, picture_size
from darkpy.errors import DataError


def tiff(orientation: int, order: str = "<") -> bytes:
    mark = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0)
    return mark + struct.pack(f"{order}IH", 8, 1) + entry + b"\0\0\0\0"


def with_exif(jpeg: bytes, block: bytes) -> bytes:
    body = b"Exif\0\0" + block
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def encoded(kind: str, width: int = 7, height: int = 5) -> bytes:
    return cv2.imencode(kind, np.zeros((height, width, 3), np.uint8))[1].tobytes()


@pytest.mark.parametrize("kind", [".jpg", ".png", ".bmp", ".webp", ".ppm", ".tiff"])
def test_size_is_that_of_the_picture(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(encoded(kind))
    assert picture_size(tmp_path / "a") == PictureSize(7, 5)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_as_opencv_does(orientation: int, order: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(with_exif(encoded(".jpg"), tiff(orientation, order)))
    size = picture_size(path)
    assert (size.height, size.width) == cv2.imread(str(path)).shape[:2]
    assert size.orientation == orientation
    assert size.stored == (7, 5)


def test_a_png_with_exif_is_decoded(tmp_path: Path) -> None:
    png = encoded(".png")
    body = tiff(6)
    chunk = struct.pack(">I", len(body)) + b"eXIf" + body
    chunk += struct.pack(">I", zlib.crc32(chunk[4:]))
    (tmp_path / "a.png").write_bytes(png[:33] + chunk + png[33:])
    size = picture_size(tmp_path / "a.png")
    assert (size.height, size.width) == cv2.imread(str(tmp_path / "a.png")).shape[:2]


def test_a_grey_jpeg_with_filled_markers(tmp_path: Path) -> None:
    raw = cv2.imencode(".jpg", np.zeros((5, 7), np.uint8))[1].tobytes()
    (tmp_path / "a.jpg").write_bytes(raw[:2] + b"\xff\xff\x01\xff\xff\xff" + raw[2:])  # TEM, which has no length
    assert picture_size(tmp_path / "a.jpg") == PictureSize(7, 5)


@pytest.mark.parametrize("raw", [b"", b"text", b"\xff\xd8", b"\xff\xd8\xff\xe0\0", b"\x89PNG\r\n\x1a\n\0\0"])
def test_what_is_no_picture_is_an_error(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(raw)
    with pytest.raises(DataError, match="Cannot load image"):
        picture_size(tmp_path / "a.jpg")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jpg: not found"):
        picture_size(tmp_path / "none.jpg")
    with pytest.raises(DataError, match="Name a file"):
        picture_size(tmp_path)
    with pytest.raises(DataError, match="Cannot load image"):
        picture_size(Path("a\0b"))
