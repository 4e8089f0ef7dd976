"""Facts of a picture's file (darkpy/data/picture_facts.py)."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from clean_data import with_orientation
from hypothesis import given
from hypothesis import strategies as st

from darkpy.data.image import load_image
from darkpy.data.picture_facts import PictureFacts, form_of, jpeg_head, picture_facts


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


@given(st.binary(max_size=60))
def test_no_head_is_too_odd(tail: bytes) -> None:
    frame, orientation = jpeg_head(b"\xff\xd8" + tail)
    assert 1 <= orientation <= 8
    assert frame is None or frame.width > 0


@given(st.binary(max_size=40), st.sampled_from([b"II", b"MM"]))
def test_no_exif_block_is_too_odd(tiff: bytes, order: bytes) -> None:
    block = b"Exif\0\0" + order + tiff
    head = b"\xff\xd8\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block
    assert 1 <= jpeg_head(head)[1] <= 8


def test_big_endian_exif() -> None:
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01\x00\x08\x00\x00"
    block = b"Exif\0\0MM\0*\x00\x00\x00\x08\x00\x01" + entry
    head = b"\xff\xd8\xff\xff\xe1" + (len(block) + 2).to_bytes(2, "big") + block  # a fill byte before the marker
    assert jpeg_head(head) == (None, 8)


def test_a_head_without_a_size_is_left_to_the_decoder() -> None:
    assert jpeg_head(b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x00\x00\x10\x01\x00\x00\x00") == (None, 1)


def test_unknown_forms_have_no_name() -> None:
    assert form_of(b"abc") == ""
    assert form_of(b"RIFF1234AVI ") == ""
