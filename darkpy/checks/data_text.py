"""What is odd in the bytes of a list, a label file or a .names file.  Source: darknet src/utils.c, fgetl."""

import codecs

from darkpy.diagnostics import Severity

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ODDITIES: dict[str, tuple[Severity, str]] = {  # code -> how bad, and the sentence
    "utf-16": (
        Severity.WARNING,
        "UTF-16, of which darknet reads no line (darkpy does). Save it as UTF-8 without a byte-order mark.",
    ),
    "binary": (Severity.ERROR, "has NUL bytes, so it is no text. Write it again as plain text, UTF-8."),
    "byte-order-mark": (
        Severity.WARNING,
        "begins with a UTF-8 byte-order mark, which darknet takes for text of the first line (darkpy skips it). "
        "Save it as UTF-8 without the mark.",
    ),
    "not-utf-8": (
        Severity.WARNING,
        "has bytes that are no UTF-8, as of an old Windows code page: its names read as other letters elsewhere. "
        "Save it as UTF-8.",
    ),
    "carriage-returns": (
        Severity.WARNING,
        "lines end in CR alone, as on old Macs: to darknet all of it is one line (darkpy reads it). "
        "Save it with LF line ends.",
    ),
    "crlf": (Severity.NOTE, "lines end in CRLF, as on Windows; darknet and darkpy read them."),
}


def oddities(raw: bytes) -> tuple[str, ...]:
    """Return the codes of ``ODDITIES`` that a text file's bytes show. Plain UTF-8 with LF line ends has none."""
    if raw.startswith(_UTF16_MARKS) or (raw[:2].count(0) == 1 and len(raw) > 3):  # as decode() takes it
        return ("utf-16",)
    if b"\0" in raw:
        return ("binary",)
    found = []
    if raw.startswith(codecs.BOM_UTF8):
        found.append("byte-order-mark")
    if not _is_utf8(raw):
        found.append("not-utf-8")
    if b"\r" in raw:
        pairs = raw.count(b"\r\n")
        found += ["carriage-returns"] if raw.count(b"\r") > pairs else []
        found += ["crlf"] if pairs else []
    return tuple(found)


def _is_utf8(raw: bytes) -> bool:
    if raw.isascii():
        return True
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
