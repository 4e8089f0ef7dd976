"""Facts of a picture's file (darkpy/data/picture_facts.py)."""

import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from clean_data import with_orientation

from darkpy.data.image import load_image
from darkpy.data.picture_facts import PictureFacts, form_of, picture_facts


def pixels(height: int = 30, width: int = 41, channels: int = 3) -> np.ndarray:
    shape = (height, width, channels) if channels > 1 else (height, width)
    return np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)


def jpeg(**form: int) -> bytes:
    return cv2.imencode(".jpg", pixels(**form))[1].tobytes()


def facts_of(raw: bytes, folder: Path) -> PictureFacts:
    (folder / "x").write_bytes(raw)
    return picture_facts(str(folder / "x"))


@pytest.mark.parametrize(
    ("extension", "form", "channels"),
    [
        (".jpg", "JPEG", 3),
        (".jpg", "JPEG", 1),
        (".png", "PNG", 4),
        (".png", "PNG", 3),
        (".bmp", "BMP", 3),
        (".webp", "WebP", 3),
        (".tiff", "TIFF", 3),
        (".ppm", "PNM", 3),
    ],
)
def test_form_size_and_channels(extension: str, form: str, channels: int, tmp_path: Path) -> None:
    raw = cv2.imencode(extension, pixels(channels=channels))[1].tobytes()
    facts = facts_of(raw, tmp_path)
    assert (facts.failure, facts.form, facts.width, facts.height) == ("", form, 41, 30)
    assert (facts.channels, facts.bits, facts.is_cut_off) == (channels, 8, False)


def test_sixteen_bits(tmp_path: Path) -> None:
    raw = cv2.imencode(".png", pixels().astype(np.uint16))[1].tobytes()
    assert facts_of(raw, tmp_path).bits == 16


@pytest.mark.parametrize("orientation", range(1, 9))
def test_e11_the_size_is_that_of_the_turned_picture(orientation: int, tmp_path: Path) -> None:
    facts = facts_of(with_orientation(jpeg(), orientation), tmp_path)
    loaded = load_image(str(tmp_path / "x"), channels=3)
    assert (facts.height, facts.width) == loaded.shape[:2]
    assert facts.orientation == orientation


def test_a_png_that_exif_turns_has_the_size_that_is_loaded(tmp_path: Path) -> None:
    png = cv2.imencode(".png", pixels(channels=4))[1].tobytes()
    tiff = b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)
    chunk = b"eXIf" + tiff
    chunk = struct.pack(">I", len(tiff)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    facts = facts_of(png[:33] + chunk + png[33:], tmp_path)
    assert (facts.height, facts.width) == load_image(str(tmp_path / "x"), channels=3).shape[:2]
    assert facts.channels == 4


def test_a_jpeg_that_decodes_at_its_full_size_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, raw = cv2.imdecode, with_orientation(jpeg(), 6)

    def no_reduced(buffer: np.ndarray, flag: int) -> np.ndarray | None:
        return None if flag == cv2.IMREAD_REDUCED_COLOR_8 else whole(buffer, flag)

    monkeypatch.setattr(cv2, "imdecode", no_reduced)
    facts = facts_of(raw[: len(raw) * 6 // 10], tmp_path)
    assert (facts.failure, facts.width, facts.height, facts.is_cut_off) == ("", 30, 41, True)


def test_e04_a_cut_jpeg_still_decodes(tmp_path: Path) -> None:
    raw = jpeg()
    facts = facts_of(raw[: len(raw) * 6 // 10], tmp_path)
    assert (facts.failure, facts.is_cut_off, facts.width) == ("", True, 41)


def test_a_progressive_jpeg_with_a_thumbnail_in_its_head(tmp_path: Path) -> None:
    raw = cv2.imencode(".jpg", pixels(), [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes()
    thumbnail = jpeg(height=8, width=8)
    block = b"JFXX\0\x10" + thumbnail
    with_block = raw[:2] + b"\xff\xe0" + (len(block) + 2).to_bytes(2, "big") + block + raw[2:]
    facts = facts_of(with_block, tmp_path)
    assert (facts.width, facts.height, facts.is_cut_off) == (41, 30, False)


@pytest.mark.parametrize(
    ("raw", "failure", "reason"),
    [
        (b"", "empty", "the file is empty, 0 bytes"),
        (b"<html>", "unreadable", "not a picture that OpenCV reads"),
        (b"\xff\xd8\xff\xe0", "unreadable", "not a picture that OpenCV reads"),
        (jpeg()[:160], "unreadable", "not a picture that OpenCV reads"),
        (b"\x89PNG\r\n\x1a\n", "unreadable", "not a picture that OpenCV reads"),
    ],
)
def test_what_cannot_be_read(raw: bytes, failure: str, reason: str, tmp_path: Path) -> None:
    facts = facts_of(raw, tmp_path)
    assert (facts.failure, facts.reason) == (failure, reason)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    assert picture_facts(str(tmp_path / "none.jpg")).failure == "missing"
    assert picture_facts(str(tmp_path)).failure == "unreadable"
    assert picture_facts("a\0b").failure == "unreadable"


def test_a_size_that_is_impossible(tmp_path: Path) -> None:
    raw = bytearray(cv2.imencode(".png", pixels())[1].tobytes())
    raw[16:24] = b"\x7f\xff\xff\xff" * 2
    assert facts_of(bytes(raw), tmp_path).failure == "unreadable"


def test_equal_files_have_equal_digests(tmp_path: Path) -> None:
    first, again = facts_of(jpeg(), tmp_path), facts_of(jpeg(), tmp_path)
    other = facts_of(jpeg(height=31), tmp_path)
    assert first.digest == again.digest != other.digest


def test_unknown_forms_have_no_name() -> None:
    assert form_of(b"abc") == ""
    assert form_of(b"RIFF1234AVI ") == ""
