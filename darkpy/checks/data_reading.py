"""Reads pictures and label files in threads; what is read is reduced to facts at once, so that memory stays small."""

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from darkpy.cfg.text import decode
from darkpy.checks.data_text import oddities
from darkpy.data.index import label_path
from darkpy.data.labels import Labels, label_elsewhere, parse_labels
from darkpy.data.picture_facts import PictureFacts, picture_facts

_AT_A_TIME = 8  # pictures of a task of one thread
_DOTTED = re.compile(rb"^[ \t]*\d+\.0*[ \t]", re.MULTILINE)  # a class number
_NOT_UTF8 = "not-utf-8"  # in a label file each such line is no record, which says more


@dataclass(frozen=True, slots=True, eq=False)
class LabelFile:
    """What one label file says, and what its bytes show."""

    path: str
    failure: str  # "missing", or why it cannot be read; empty for a good one
    elsewhere: str | None  # of a missing one: the file that was perhaps meant, in a folder labels/ or named .TXT
    odd: tuple[str, ...]  # codes of oddities
    labels: Labels
    dotted: int | None = None  # line of the first class number such as 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One picture and its label file."""

    path: str  # as the list has it
    picture: PictureFacts
    label: LabelFile


def read_samples(paths: Sequence[str], *, classes: int, workers: int) -> Iterator[Sample]:
    """Yield what is true of each picture and its labels, in order.

    Args:
        paths: Pictures.
        classes: Number of classes; ids run from 0 to one less.
        workers: Threads; OpenCV decodes without Python's lock.
    """
    groups = [paths[start : start + _AT_A_TIME] for start in range(0, len(paths), _AT_A_TIME)]
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from chain.from_iterable(pool.map(partial(_read_group, classes=classes), groups))
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing more is read


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_group(paths: Sequence[str], *, classes: int) -> list[Sample]:
    return [Sample(path, picture_facts(path), read_label_file(label_path(path), classes=classes)) for path in paths]


def read_label_file(path: str, *, classes: int) -> LabelFile:
    """Read a label file. It never raises: ``failure`` says what is wrong.

    Args:
        path: The label file.
        classes: Number of classes.
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        return LabelFile(path, "missing", label_elsewhere(path), (), _nothing(missing=True))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = str(getattr(error, "strerror", None) or error)
        return LabelFile(path, why, None, (), _nothing(missing=True))
    odd = tuple(code for code in oddities(raw) if code != _NOT_UTF8)
    if "binary" in odd:
        return LabelFile(path, "", None, odd, _nothing(missing=False))
    labels = parse_labels(decode(raw), path=path, classes=classes)
    dotted = _DOTTED.search(raw)
    line = raw.count(b"\n", 0, dotted.start()) + 1 if dotted else None
    return LabelFile(path, "", None, odd, labels, line)


def _nothing(*, missing: bool) -> Labels:
    none, no_lines = np.zeros((0, 5), np.float32), np.zeros(0, np.int64)
    return Labels(none, no_lines, (), missing, none, no_lines)
