"""What is wrong with the pictures of a set: unreadable files, wrong names, odd forms, copies."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from darkpy.checks.data_lists import missing_diagnostics
from darkpy.checks.data_reading import Sample
from darkpy.checks.data_set import DataSet
from darkpy.data.picture_facts import PictureFacts
from darkpy.diagnostics import Diagnostic, Severity

_FORM_OF_EXTENSION = {
    **dict.fromkeys(("jpg", "jpeg", "jpe"), "JPEG"),
    **dict.fromkeys(("tif", "tiff"), "TIFF"),
    **dict.fromkeys(("bmp", "dib"), "BMP"),
    **dict.fromkeys(("ppm", "pgm", "pbm", "pnm"), "PNM"),
    "png": "PNG",
    "gif": "GIF",
    "webp": "WebP",
}


def picture_diagnostics(data: DataSet, *, channels: int, data_folder: Path) -> Iterator[Diagnostic]:
    """Yield what is wrong with pictures, at their lines of the lists.

    Args:
        data: The set.
        channels: Of the network: 3 for colour, 1 for grey.
        data_folder: Of the .data file.
    """
    yield from _missing(data, data_folder)
    for index, sample in enumerate(data.samples):
        facts = sample.picture
        if facts.failure != "missing" and not _is_plain(sample):
            for severity, code, message in _odd(sample):
                yield Diagnostic(severity, code, *data.place(index), message)
    if channels != 1:
        yield from _grey(data)
    yield from _copies(data)


def _missing(data: DataSet, data_folder: Path) -> Iterator[Diagnostic]:
    absent = [key for key, sample in zip(data.keys, data.samples, strict=True) if sample.picture.failure == "missing"]
    told: set[str] = set()
    for listed in data.lists:
        of_list = [key for key in absent if key in listed.first_lines and key not in told]
        told.update(of_list)
        yield from missing_diagnostics(listed, of_list, data_folder=data_folder)


def _is_plain(sample: Sample) -> bool:
    facts = sample.picture
    return (
        facts.channels in (1, 3)
        and facts.form == _named_form(sample.path)
        and facts
        == PictureFacts(
            form=facts.form, width=facts.width, height=facts.height, channels=facts.channels, digest=facts.digest
        )
    )


def _named_form(path: str) -> str | None:
    return _FORM_OF_EXTENSION.get(path.rpartition(".")[2].lower())


def _odd(sample: Sample) -> Iterator[tuple[Severity, str, str]]:
    """Yield severity, code and message of what is odd about a picture that is there."""
    facts, name = sample.picture, f"'{sample.path}'"
    if facts.failure == "empty":
        message = f"{name}: the file is empty, 0 bytes. Replace it, or take it off the list."
        yield Severity.ERROR, "picture-empty", message
        return
    if facts.failure and os.path.isdir(sample.path):
        message = f"{name} is a folder, but a line names one picture. Write the pictures in it, a line each."
        yield Severity.ERROR, "folder", message
        return
    if facts.failure:
        message = f"{name}: {facts.reason}. Replace it, or take it off the list."
        yield Severity.ERROR, "picture-unreadable", message
        return
    if facts.is_cut_off:
        yield Severity.WARNING, "cut-off", f"{name}: the JPEG is cut off; its rest is grey. Replace the file."
    named = _named_form(sample.path)
    if facts.form and named and facts.form != named:
        message = f"{name} is named as a {named}, but is a {facts.form}; it is read by its content. Rename it."
        yield Severity.NOTE, "wrong-name", message
    if facts.channels == 4:
        what = "four colour channels (CMYK)" if facts.form == "JPEG" else "an alpha channel (RGBA)"
        yield Severity.NOTE, "alpha", f"{name} has {what}, read as RGB."
    if facts.bits > 8:
        yield Severity.NOTE, "bits", f"{name} has {facts.bits} bits a channel, read as 8."
    if facts.orientation > 1:
        message = (
            f"{name} is turned by its EXIF tag (orientation {facts.orientation}): it is read as "
            f"{facts.width}x{facts.height}. See that its boxes were marked in that form (-sheet FILE)."
        )
        yield Severity.NOTE, "turned", message


def _grey(data: DataSet) -> Iterator[Diagnostic]:
    readable = [index for index, sample in enumerate(data.samples) if not sample.picture.failure]
    grey = [index for index in readable if data.samples[index].picture.channels <= 2]
    if len(grey) > len(readable) / 2 and len(readable) > 1:
        message = (
            f"{len(grey)} of {len(readable)} pictures are grey, read as RGB. A network with channels=1 takes less time."
        )
        yield Diagnostic(Severity.NOTE, "grey-set", data.place(grey[0])[0], None, message)
        return
    for index in grey:
        message = f"'{data.samples[index].path}' is grey among colour pictures, read as RGB."
        yield Diagnostic(Severity.NOTE, "grey", *data.place(index), message)


def _copies(data: DataSet) -> Iterator[Diagnostic]:
    """Yield pictures whose bytes are those of another one."""
    first: dict[bytes, int] = {}
    for index, sample in enumerate(data.samples):
        digest = sample.picture.digest
        original = first.setdefault(digest, index) if digest else index
        if original != index:
            yield _copy(data, original, index)


def _copy(data: DataSet, original: int, copy: int) -> Diagnostic:
    one, other = data.samples[original], data.samples[copy]
    path, line = data.place(copy)
    what = f"'{other.path}' is byte for byte '{one.path}' ({':'.join(map(str, data.place(original)))})"
    if not np.array_equal(np.sort(one.label.labels.truths, axis=0), np.sort(other.label.labels.truths, axis=0)):
        message = f"{what}, but has other labels. Keep the right ones."
        return Diagnostic(Severity.WARNING, "copy-differs", path, line, message)
    if not (data.members[:, original] & data.members[:, copy]).any():
        message = f"{what}, in the other list: mAP is then measured on a picture that the network has seen. Remove one."
        return Diagnostic(Severity.WARNING, "copy-in-valid", path, line, message)
    return Diagnostic(Severity.NOTE, "copy", path, line, f"{what}, so it counts twice. Remove one.")
