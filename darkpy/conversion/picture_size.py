"""How large a picture is, mostly without decoding it.

OpenCV, and so darknet, turns a JPEG upright as its EXIF tag says: a size is that of the upright picture.
Source: JPEG, ITU T.81 annex B; EXIF 2.32, tag 0x0112; PNG 1.2, 11.2.2.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from darkpy.errors import DataError

_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # SOF0 to SOF15 without DHT, JPG, DAC
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers that have no length
_ENDS = frozenset((0xD9, 0xDA))  # end of the picture, begin of its data
_ORIENTATION = 0x0112
_QUARTER_TURNS = (5, 6, 7, 8)
_PNG_START = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class PictureSize:
    """A picture's size in pixels, upright."""

    width: int
    height: int
    orientation: int = 1  # of EXIF, 1 to 8; 1 is upright as stored

    @property
    def stored(self) -> tuple[int, int]:
        """Width and height before the picture is turned upright."""
        turned = self.orientation in _QUARTER_TURNS
        return (self.height, self.width) if turned else (self.width, self.height)


def picture_size(path: Path) -> PictureSize:
    """Return the size of a picture, from its head where it is JPEG or PNG; other kinds are decoded.

    Raises:
        DataError: If the file cannot be read, or is no picture.
    """
    try:
        with path.open("rb") as file:
            found = _from_head(file)
    except FileNotFoundError as error:
        raise DataError(f"Cannot load image {path}: not found. Check the path, which counts from here.") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(
            f"Cannot load image {path}: {getattr(error, 'strerror', None) or error}. Name a file."
        ) from error
    return found or _decoded(path)


def _from_head(file: BinaryIO) -> PictureSize | None:
    start = file.read(8)
    try:
        if start.startswith(b"\xff\xd8"):
            file.seek(2)
            return _jpeg(file)
        return _png(file) if start == _PNG_START else None
    except struct.error:  # the file ends within its head
        return None


def _decoded(path: Path) -> PictureSize:
    from darkpy.data.image import load_image  # brings torch, which takes seconds, for odd pictures only

    height, width = load_image(str(path), channels=3).shape[:2]
    return PictureSize(width, height)


def _jpeg(file: BinaryIO) -> PictureSize | None:
    orientation = 1
    while True:
        marker = _next_marker(file)
        if marker is None or marker in _ENDS:
            return None
        if marker in _ALONE:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        body = file.read(length - 2) if length > 2 else b""
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack(">HH", body[1:5])
            return _turned(width, height, orientation) if width and height else None
        if marker == 0xE1 and body.startswith(b"Exif\0\0"):
            orientation = exif_orientation(body[6:])


def _next_marker(file: BinaryIO) -> int | None:
    """Return the marker that comes next, past fill bytes; None where there is none."""
    byte = file.read(1)
    if byte != b"\xff":
        return None
    while byte == b"\xff":
        byte = file.read(1)
    return byte[0] if byte else None


def _turned(width: int, height: int, orientation: int) -> PictureSize:
    if orientation in _QUARTER_TURNS:
        width, height = height, width
    return PictureSize(width, height, orientation)


def exif_orientation(tiff: bytes) -> int:
    """Return the orientation that an EXIF block says, 1 to 8; 1 if it says none.

    Args:
        tiff: The block from its byte order (``II`` or ``MM``) on.
    """
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for entry in range(count):
            tag, _, _, value = struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * entry)
            if tag == _ORIENTATION:
                return value if 1 <= value <= 8 else 1
    except struct.error:  # the block is cut off
        return 1
    return 1


def _png(file: BinaryIO) -> PictureSize | None:
    """Return the size that a PNG's head says; None where an EXIF block may turn the picture, or none is right."""
    size = None
    while True:
        head = file.read(8)
        if len(head) < 8:
            return None  # cut off: the decoder tells
        length, kind = struct.unpack(">I4s", head)
        if kind == b"IHDR":
            size = PictureSize(*struct.unpack(">II", file.read(8)))
            length -= 8
        elif kind == b"eXIf":
            return None
        elif kind == b"IEND":
            return size if size and size.width and size.height else None
        file.seek(length + 4, 1)
