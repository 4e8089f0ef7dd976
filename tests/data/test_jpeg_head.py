"""The head of a JPEG (darkpy/data/jpeg_head.py)."""

import struct
from io import BytesIO

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.data.jpeg_head import JpegHead, exif_orientation, read_jpeg_head

JPEG = cv2.imencode(".jpg", np.zeros((5, 7, 3), np.uint8))[1].tobytes()


def tiff(orientation: int, order: str = "<") -> bytes:
    mark = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0)
    return mark + struct.pack(f"{order}IH", 8, 1) + entry + b"\0\0\0\0"


def with_block(jpeg: bytes, body: bytes) -> bytes:
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def with_exif(jpeg: bytes, block: bytes) -> bytes:
    return with_block(jpeg, b"Exif\0\0" + block)


def head_of(raw: bytes) -> JpegHead | None:
    return read_jpeg_head(BytesIO(raw))


def loaded_size(raw: bytes) -> tuple[int, int]:
    height, width = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR).shape[:2]
    return width, height


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(10))
def test_exif_turns_as_opencv_does(orientation: int, order: str) -> None:
    raw = with_exif(JPEG, tiff(orientation, order))
    head = head_of(raw)
    assert head is not None
    assert head.upright == loaded_size(raw)
    assert head.orientation == (orientation if 1 <= orientation <= 8 else 1)
    assert (head.width, head.height, head.channels, head.bits) == (7, 5, 3, 8)


@pytest.mark.parametrize(("first", "second"), [(6, 1), (1, 6), (8, 3)])
def test_of_two_exif_blocks_the_first_counts(first: int, second: int) -> None:
    raw = with_exif(with_exif(JPEG, tiff(second)), tiff(first))
    head = head_of(raw)
    assert head is not None
    assert head.orientation == first
    assert head.upright == loaded_size(raw)


def test_a_block_of_another_kind_before_exif_does_not_count() -> None:
    raw = with_block(with_exif(JPEG, tiff(6)), b"http://ns.adobe.com/xap/1.0/\0")
    head = head_of(raw)
    assert head is not None
    assert head.upright == loaded_size(raw) == (5, 7)


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"II*\0",
        b"II*\0\xff\xff\xff\xff",
        b"II*\0\x08\0\0\0\0\0",
        b"XX*\0\0\0\0\0",
        tiff(9),
        tiff(0),
        tiff(6)[:16],
        b"II\0*" + tiff(6)[4:],
    ],
)
def test_a_broken_exif_block_turns_nothing(block: bytes) -> None:
    assert exif_orientation(block) == 1


def test_other_tags_come_before_the_orientation() -> None:
    first = struct.pack("<HHII", 0x010F, 2, 4, 0)
    block = b"II*\0" + struct.pack("<IH", 8, 2) + first + struct.pack("<HHIHH", 0x0112, 3, 1, 8, 0)
    assert exif_orientation(block) == 8


@given(st.binary(max_size=60))
def test_no_head_is_too_odd(tail: bytes) -> None:
    head = head_of(b"\xff\xd8" + tail)
    assert head is None or head.width * head.height > 0


@given(st.binary(max_size=40), st.sampled_from([b"II*\0", b"MM\0*"]))
def test_no_exif_block_is_too_odd(block: bytes, order: bytes) -> None:
    assert 1 <= exif_orientation(order + block) <= 8


def test_fill_bytes_and_a_marker_without_a_length() -> None:
    head = head_of(JPEG[:2] + b"\xff\xff\x01\xff\xff\xff" + JPEG[2:])
    assert head == JpegHead(7, 5, 3, 8)


def test_a_head_without_a_size_is_left_to_the_decoder() -> None:
    assert head_of(b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x00\x00\x10\x01\x00\x00\x00") is None


def test_a_frame_behind_the_start_of_the_data_does_not_count() -> None:
    assert head_of(b"\xff\xd8\xff\xda" + JPEG[2:]) is None
