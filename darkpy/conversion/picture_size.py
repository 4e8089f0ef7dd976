"""How large a picture is, mostly without decoding it.

OpenCV, and so darknet, turns a JPEG upright as its EXIF tag says: a size is that of the upright picture.
Source: PNG 1.2, 11.2.2.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from darkpy.data.image import cannot_load, load_image
from darkpy.data.jpeg_head import JPEG_START, is_quarter_turn, read_jpeg_head

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
        return (self.height, self.width) if is_quarter_turn(self.orientation) else (self.width, self.height)


def picture_size(path: Path) -> PictureSize:
    """Return the size of a picture, from its head where it is JPEG or PNG; other kinds are decoded.

    Raises:
        DataError: If the file cannot be read, or is no picture.
    """
    try:
        with path.open("rb") as file:
            found = _from_head(file)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise cannot_load(path, error) from error
    return found or _decoded(path)


def _from_head(file: BinaryIO) -> PictureSize | None:
    start = file.read(8)
    try:
        if start.startswith(JPEG_START):
            head = read_jpeg_head(file)
            return PictureSize(*head.upright, head.orientation) if head else None
        return _png(file) if start == _PNG_START else None
    except struct.error:  # the file ends within its head
        return None


def _decoded(path: Path) -> PictureSize:
    height, width = load_image(str(path), channels=3).shape[:2]
    return PictureSize(width, height)


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
