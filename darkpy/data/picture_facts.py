"""What is true of a picture's file: whether it decodes, its size, form and colours.

A JPEG is decoded at an eighth of its size: all its data is read, at half of the time. The size comes from its head.
"""

import hashlib
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np

from darkpy.data.image import JPEG_END, Bytes, import_cv2, is_cut_off
from darkpy.data.jpeg_head import read_jpeg_head

_FORMS = (  # first bytes of a file
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG", "PNG"),
    (b"BM", "BMP"),
    (b"GIF8", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    *((b"P%d" % number, "PNM") for number in range(1, 7)),
)
_EXIF_MARKS = (b"Exif\0\0", b"eXIf", b"EXIF")  # of JPEG, PNG, WebP


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
    head = read_jpeg_head(BytesIO(raw))
    whole = raw + JPEG_END if cut_off else raw
    if head is None or _decoded(whole, import_cv2().IMREAD_REDUCED_COLOR_8) is None:
        facts = _decoded_facts(whole, "JPEG")  # there are odd ones that decode at their full size only
        return replace(facts, is_cut_off=cut_off) if facts else None
    width, height = head.upright
    return PictureFacts(
        form="JPEG",
        width=width,
        height=height,
        channels=head.channels,
        bits=head.bits,
        orientation=head.orientation,
        is_cut_off=cut_off,
        digest=_digest(raw),
    )


def _decoded_facts(raw: bytes, form: str) -> PictureFacts | None:
    cv2 = import_cv2()
    pixels = _decoded(raw, cv2.IMREAD_UNCHANGED)
    upright = _decoded(raw, cv2.IMREAD_COLOR) if any(mark in raw for mark in _EXIF_MARKS) else pixels
    if pixels is None or upright is None:
        return None
    return PictureFacts(
        form=form,
        width=upright.shape[1],  # as it is loaded: OpenCV turns no picture that it is asked to leave unchanged
        height=upright.shape[0],
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
