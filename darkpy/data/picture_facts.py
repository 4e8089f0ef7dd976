"""What is true of a picture's file: whether it decodes, its size, form and colours.

A JPEG is decoded at an eighth of its size: all its data is read, at half of the time. The size comes from its head.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from darkpy.data.image import JPEG_END, Bytes, import_cv2, is_cut_off

_FORMS = (  # first bytes of a file
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG", "PNG"),
    (b"BM", "BMP"),
    (b"GIF8", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    *((b"P%d" % number, "PNM") for number in range(1, 7)),
)
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a length
_START_OF_SCAN, _APP1, _EXIF = 0xDA, 0xE1, b"Exif\0\0"
_ORIENTATION = 0x0112  # a tag of EXIF
_SIDEWAYS = 5  # orientations from here on swap width and height


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """A picture's file. Width and height are those of the picture as it is loaded, turned as its EXIF tag says."""

    failure: str = ""  # "missing", "empty" or "unreadable"; the rest is then not known
    reason: str = ""  # of the failure, in words
    form: str = ""  # by its content: "JPEG", "PNG", ...; empty for any other
    width: int = 0
    height: int = 0
    channels: int = 3
    bits: int = 8  # of a channel
    orientation: int = 1  # of EXIF: 1 is upright
    is_cut_off: bool = False  # a JPEG without its end
    digest: bytes = b""  # equal for equal files


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the head of a JPEG says."""

    width: int
    height: int
    channels: int
    bits: int


def picture_facts(path: str) -> PictureFacts:
    """Read and decode a picture's file. It never raises: ``failure`` says what is wrong."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        return PictureFacts("missing", "not found")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        return PictureFacts("unreadable", str(getattr(error, "strerror", None) or error))
    if not raw:
        return PictureFacts("empty", "the file is empty, 0 bytes")
    form = form_of(raw)
    facts = _jpeg_facts(raw) if form == "JPEG" else _decoded_facts(raw, form)
    return facts or PictureFacts("unreadable", "not a picture that OpenCV reads", form)


def form_of(raw: bytes) -> str:
    """Return the form of a picture by its first bytes, such as ``JPEG``; empty for an unknown one."""
    if raw.startswith(b"RIFF") and raw[8:12] == b"WEBP":
        return "WebP"
    return next((form for start, form in _FORMS if raw.startswith(start)), "")


def _jpeg_facts(raw: bytes) -> PictureFacts | None:
    cut_off = is_cut_off(raw)
    frame, orientation = jpeg_head(raw)
    if frame is None:  # a head that only the decoder understands
        return _decoded_facts(raw, "JPEG")
    if _decoded(raw + JPEG_END if cut_off else raw, import_cv2().IMREAD_REDUCED_COLOR_8) is None:
        return None
    turned = orientation >= _SIDEWAYS
    return PictureFacts(
        form="JPEG",
        width=frame.height if turned else frame.width,
        height=frame.width if turned else frame.height,
        channels=frame.channels,
        bits=frame.bits,
        orientation=orientation,
        is_cut_off=cut_off,
        digest=_digest(raw),
    )


def _decoded_facts(raw: bytes, form: str) -> PictureFacts | None:
    cv2 = import_cv2()
    pixels = _decoded(raw, cv2.IMREAD_UNCHANGED)
    if pixels is None:
        return None
    return PictureFacts(
        form=form,
        width=pixels.shape[1],
        height=pixels.shape[0],
        channels=1 if pixels.ndim == 2 else pixels.shape[2],
        bits=8 * pixels.dtype.itemsize,
        digest=_digest(raw),
    )


def _decoded(raw: bytes, flag: int) -> Bytes | None:
    cv2 = import_cv2()
    try:
        return cv2.imdecode(np.frombuffer(raw, np.uint8), flag)  # type: ignore[no-any-return]
    except cv2.error:  # a head that promises an impossible size
        return None


def _digest(raw: bytes) -> bytes:
    return hashlib.sha1(raw, usedforsecurity=False).digest()  # of the hashes the one with its own CPU instructions


def jpeg_head(raw: bytes) -> tuple[_Frame | None, int]:
    """Return a JPEG's frame (None where there is none before the pixels) and its EXIF orientation, 1 without a tag."""
    orientation = 1
    for marker, start, end in _segments(raw):
        if marker in _START_OF_FRAME and end - start >= 6:
            bits, height, width, channels = struct.unpack_from(">BHHB", raw, start)
            return (_Frame(width, height, channels, bits) if width and height else None), orientation
        if marker == _APP1 and raw.startswith(_EXIF, start):
            orientation = _exif_orientation(raw[start + len(_EXIF) : end])
    return None, orientation


def _segments(raw: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield marker, start and end of the contents of each segment of a JPEG before its pixels."""
    place = 2
    while place + 4 <= len(raw) and raw[place] == 0xFF:
        marker = raw[place + 1]
        if marker == 0xFF or marker in _STANDALONE:  # a fill byte, or a marker alone
            place += 1 if marker == 0xFF else 2
            continue
        if marker == _START_OF_SCAN:
            return
        (length,) = struct.unpack_from(">H", raw, place + 2)
        yield marker, place + 4, min(place + 2 + length, len(raw))
        place += 2 + max(length, 2)


def _exif_orientation(tiff: bytes) -> int:
    """Return the orientation in the first directory of an EXIF block; 1 where it has none that counts."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < 8:
        return 1
    (offset,) = struct.unpack_from(order + "I", tiff, 4)
    if offset + 2 > len(tiff):
        return 1
    (entries,) = struct.unpack_from(order + "H", tiff, offset)
    for place in range(offset + 2, min(offset + 2 + 12 * entries, len(tiff) - 11), 12):
        tag, _, _, value = struct.unpack_from(order + "HHIH", tiff, place)
        if tag == _ORIENTATION:
            return int(value) if 1 <= value <= 8 else 1
    return 1
