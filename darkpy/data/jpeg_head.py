"""What the head of a JPEG says: size, colours, and how EXIF turns the picture. Nothing is decoded.

Source: JPEG, ITU T.81 annex B; EXIF 2.32, tag 0x0112.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

JPEG_START = b"\xff\xd8"
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15 without DHT, JPG, DAC
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a length
_ENDS = frozenset((0xD9, 0xDA))  # end of the picture, start of its data
_APP1, _EXIF = 0xE1, b"Exif\0\0"
_ORIENTATION = 0x0112
_QUARTER_TURNS = (5, 6, 7, 8)


@dataclass(frozen=True, slots=True)
class JpegHead:
    """The frame of a JPEG. Width and height in pixels are those of the stored picture, before EXIF turns it."""

    width: int
    height: int
    channels: int
    bits: int  # of a channel
    orientation: int = 1  # of EXIF, 1 to 8; 1 is upright as stored

    @property
    def upright(self) -> tuple[int, int]:
        """Width and height of the picture as OpenCV, and so darknet, loads it."""
        return (self.height, self.width) if is_quarter_turn(self.orientation) else (self.width, self.height)


def is_quarter_turn(orientation: int) -> bool:
    """Return whether an EXIF orientation swaps width and height."""
    return orientation in _QUARTER_TURNS


def read_jpeg_head(file: BinaryIO) -> JpegHead | None:
    """Return what a JPEG's head says; None where there is no frame with a size before its data.

    Args:
        file: Open at its first byte.
    """
    file.seek(len(JPEG_START))
    try:
        return _frame(file)
    except struct.error:  # the file ends within its head
        return None


def _frame(file: BinaryIO) -> JpegHead | None:
    orientation = None  # of the first EXIF block, which counts for OpenCV
    while (marker := _next_marker(file)) is not None and marker not in _ENDS:
        if marker in _ALONE:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        body = file.read(max(length - 2, 0))
        if marker in _START_OF_FRAME:
            bits, height, width, channels = struct.unpack_from(">BHHB", body)
            return JpegHead(width, height, channels, bits, orientation or 1) if width and height else None
        if marker == _APP1 and orientation is None and body.startswith(_EXIF):
            orientation = exif_orientation(body[len(_EXIF) :])
    return None


def _next_marker(file: BinaryIO) -> int | None:
    """Return the marker that comes next, past fill bytes; None where there is none."""
    byte = file.read(1)
    if byte != b"\xff":
        return None
    while byte == b"\xff":
        byte = file.read(1)
    return byte[0] if byte else None


def exif_orientation(tiff: bytes) -> int:
    """Return the orientation in the first directory of an EXIF block, 1 to 8; 1 where it has none that counts.

    Args:
        tiff: The block from its byte order (``II`` or ``MM``) on.
    """
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(count):
            tag, _, _, value = struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * entry)
            if tag == _ORIENTATION:
                return int(value) if 1 <= value <= 8 else 1
    except struct.error:  # the block is cut off
        return 1
    return 1
