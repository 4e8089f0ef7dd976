"""Label files: one ``class x y width height`` a line.  Source: darknet src/data.c, read_boxes, fill_truth_detection.

darknet reads a stream of numbers, so that one column too many shifts every later record; here a line is a record.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from darkpy.cfg.text import decode
from darkpy.data.index import label_path
from darkpy.errors import DataError
from darkpy.structures import Problem

Floats = npt.NDArray[np.float32]
Table = npt.NDArray[np.float64]

_COLUMNS = 5
_BOX_FIRST = [1, 2, 3, 4, 0]  # class x y w h -> x y w h class
_LARGEST = 2.0**31  # anything larger would only overflow
NO_NUMBER = "' in place of a class number"  # behind the name that stands in its place
_FARTHEST = 2.0  # a coordinate beyond this is no rounding and no overhang: it is in pixels


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """What one label file says. Coordinates are relative to the picture."""

    truths: Floats  # (N, 5): centre x, y, width, height, class
    lines: npt.NDArray[np.int64]  # (N,) line of each truth, counted from 1
    problems: tuple[Problem, ...]
    missing: bool
    outside: Floats  # (M, 5), as truths: a right class, but nothing of the picture; darknet's map counts them as missed
    ids: npt.NDArray[np.int64]  # (K,) every whole class number of the file, right or wrong


def read_labels(path: str, *, classes: int) -> Labels:
    """Read a label file. It never raises: what is wrong with the file is in ``problems``.

    Args:
        path: The label file. If it is missing, its picture counts as one without objects.
        classes: Number of classes; ids run from 0 to one less.
    """
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        return _missing(path, error)
    return parse_labels(decode(raw), path=path, classes=classes)


def parse_labels(text: str, *, path: str, classes: int) -> Labels:
    """Return the records of a label file's text; ``path`` is for messages."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    fields = [(number, words) for number, line in enumerate(lines, start=1) if (words := line.split())]
    table, numbers, problems = _numbers(fields, path)
    fate = np.zeros(len(table), dtype=np.int8)  # 0 good, 1 outside, 2 unusable
    for rule in () if _is_plain(table, classes) else _rules(table, classes):
        for row in np.flatnonzero(rule.broken & (fate == 0)):
            fate[row] = rule.fate
            text = f"{path}:{numbers[row]}: {rule.complain(*table[row])}"
            problems.append(Problem("truth", path, text, rule.code))
    ids = table[np.abs(table[:, 0]) <= _LARGEST, 0].astype(np.int64)
    truths = table[:, _BOX_FIRST].clip(-_LARGEST, _LARGEST).astype(np.float32)
    return Labels(truths[fate == 0], numbers[fate == 0], tuple(problems), False, truths[fate == 1], ids)


def _is_plain(table: Table, classes: int) -> bool:
    """Return whether no rule can be broken: known classes, centres in the picture. Most files, at a tenth of the cost.

    Args:
        table: (N, 5) class, x, y, w, h.
        classes: Number of classes.
    """
    if not len(table):
        return True
    low, high = table.min(axis=0), table.max(axis=0)  # no number compares as false
    fits = low[0] >= 0 and high[0] < classes and (low[1:] > 0).all() and (high[1:] <= 1).all()
    return bool(fits and not (table[:, 0] % 1).any())


def _missing(path: str, error: Exception) -> Labels:
    why = "not found" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or str(error)
    other = label_elsewhere(path)
    mend = (
        f"{other} exists, but darknet looks beside the picture: move it to {path}."
        if other
        else "Write an empty file if there are no objects."
    )
    message = (
        f"Can't open label file. (This can be normal only if you use MSCOCO): {path}: {why}, "
        f"so the picture counts as one without objects. {mend}"
    )
    nothing, no_lines = np.zeros((0, _COLUMNS), np.float32), np.zeros(0, np.int64)
    return Labels(nothing, no_lines, (Problem("label", path, message, "label-missing"),), True, nothing, no_lines)


def label_elsewhere(path: str) -> str | None:
    """Return the file that was perhaps meant by ``images/1.txt``, which is missing: ``labels/1.txt`` or ``1.TXT``."""
    for slash in ("/", "\\"):
        before, found, after = f"{slash}{path}".rpartition(f"{slash}images{slash}")
        other = f"{before}{slash}labels{slash}{after}".removeprefix(slash)
        if found and os.path.isfile(other):
            return other
    capital = f"{path.removesuffix('.txt')}.TXT"
    return capital if os.path.isfile(capital) else None


def _numbers(fields: Sequence[tuple[int, list[str]]], path: str) -> tuple[Table, npt.NDArray[np.int64], list[Problem]]:
    """Return the (N, 5) table of the lines that are records, their line numbers, and what is wrong with the others."""
    if all(len(words) == _COLUMNS for _, words in fields):
        try:
            values = map(float, chain.from_iterable(words for _, words in fields))  # NumPy reads text at half the speed
            table = np.fromiter(values, dtype=np.float64).reshape(-1, _COLUMNS)
        except ValueError:
            pass
        else:
            return table, np.array([number for number, _ in fields], dtype=np.int64), []
    return _numbers_line_by_line(fields, path)


def _numbers_line_by_line(
    fields: Sequence[tuple[int, list[str]]], path: str
) -> tuple[Table, npt.NDArray[np.int64], list[Problem]]:
    rows: list[list[float]] = []
    numbers: list[int] = []
    problems: list[Problem] = []
    for number, words in fields:
        row = _record(words)
        if isinstance(row, str):
            code = "class-name" if NO_NUMBER in row else "record"
            problems.append(Problem("truth", path, f"{path}:{number}: Wrong annotation: {row}", code))
        else:
            rows.append(row)
            numbers.append(number)
    read = set(numbers)
    six = next((number for number, words in fields if len(words) == _COLUMNS + 1 and number in read), None)
    if six is not None:
        note = "6 columns, but a record has 5: class x y width height. The sixth is not used; remove it."
        problems.append(Problem("note", path, f"{path}:{six}: {note}", "six-columns"))
    return np.array(rows, dtype=np.float64).reshape(-1, _COLUMNS), np.array(numbers, dtype=np.int64), problems


def _record(words: Sequence[str]) -> list[float] | str:
    """Return the five numbers of a line, or what is wrong with it."""
    name = list(takewhile(lambda word: not _is_number(word), words))
    if name and len(words) - len(name) in (_COLUMNS - 1, _COLUMNS):
        return f"'{' '.join(name)}{NO_NUMBER}, which counts from 0. The line is left out."
    if not _COLUMNS <= len(words) <= _COLUMNS + 1:
        count = f"{len(words)} column{'s' if len(words) > 1 else ''}"
        return f"{count}, but a record has 5: class x y width height, with blanks between. The line is left out."
    try:
        return [float(word) for word in words[:_COLUMNS]]
    except ValueError:
        return f"'{' '.join(words)}' is not five numbers, such as 0 0.5 0.5 0.2 0.2. The line is left out."


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    broken: npt.NDArray[np.bool_]  # (N,)
    fate: int  # 1 outside, 2 unusable
    code: str
    complain: Callable[..., str]  # of class, x, y, w, h


def _rules(table: Table, classes: int) -> tuple[_Rule, ...]:
    """Return what a record must not be, in the order in which it is tested."""
    identity, x, y, w, h = np.nan_to_num(table.T).clip(-_LARGEST, _LARGEST)
    far = np.maximum.reduce([np.abs(x), np.abs(y), np.abs(w), np.abs(h)]) > _FARTHEST
    beside = (x + w / 2 < 0) | (x - w / 2 > 1) | (y + h / 2 < 0) | (y - h / 2 > 1)
    return (
        _Rule(np.isfinite(table).sum(axis=1) < _COLUMNS, 2, "not-finite", _not_finite),
        _Rule(np.trunc(identity) != identity, 2, "class-id", _fractional_class),
        _Rule(
            (identity < 0) | (identity >= classes),
            2,
            "class-id",
            lambda c, *_: (
                f"Wrong annotation: class_id = {c:.0f}. But class_id should be [from 0 to {classes - 1}]. "
                "The record is left out; mend the number, or raise classes."
            ),
        ),
        _Rule(far, 1, "not-normalised", _in_pixels),
        _Rule((w <= 0) | (h <= 0), 1, "box-without-size", _without_size),
        _Rule((x == 0) & (y == 0), 1, "box-at-origin", _at_origin),
        _Rule(beside, 1, "box-outside", _beside_picture),
    )


def _not_finite(*row: float) -> str:
    return (
        f"Wrong annotation: '{_shown(*row)}' has a value that is no finite number. The record is left out; rewrite it."
    )


def _fractional_class(c: float, *_: float) -> str:
    return f"Wrong annotation: class_id = {c:g} is no whole number. The record is left out; the class comes first."


def _in_pixels(_: float, *box: float) -> str:
    return (
        f"Wrong annotation: not normalised: x y w h = {_shown(*box)}, but they are parts of the picture, from 0 to 1. "
        "The record is not used; divide by the picture's width and height."
    )


def _without_size(_: float, __: float, ___: float, w: float, h: float) -> str:
    return f"Wrong annotation: w = {w:g}, h = {h:g}, but both must be above 0. The record is not used; remove it."


def _at_origin(*_: float) -> str:
    return "Wrong annotation: x = 0 and y = 0, which darknet takes for no box. The record is not used; remove it."


def _beside_picture(_: float, *box: float) -> str:
    return (
        f"Wrong annotation: x y w h = {_shown(*box)} lies fully outside the picture, which is 0 to 1. "
        "The record is not used; remove it."
    )


def _shown(*values: float) -> str:
    return " ".join(f"{value:g}" for value in values)


def survey(paths: Sequence[str], *, classes: int, limit: int = 2000) -> tuple[Problem, ...]:
    """Look at the class ids of a set before a run begins.

    Args:
        paths: Picture paths.
        classes: Number of classes.
        limit: Label files to read at most, spread evenly over the list.

    Returns:
        As ``check_ids``.

    Raises:
        DataError: As ``check_ids``.
    """
    chosen = sorted(set(np.linspace(0, len(paths) - 1, num=min(limit, len(paths)), dtype=np.int64).tolist()))
    files = [label_path(paths[index]) for index in chosen]
    return check_ids([read_labels(file, classes=classes) for file in files], classes=classes, example=files[0])


def check_ids(labels: Iterable[Labels], *, classes: int, example: str) -> tuple[Problem, ...]:
    """Refuse a set in which no object has a class of the network; note one that seems to count from 1.

    Args:
        labels: What the label files say.
        classes: Number of classes.
        example: A label file of the set, for the message.

    Returns:
        A note, or nothing.

    Raises:
        DataError: If there are objects, and the class of every one is out of range.
    """
    ids = np.concatenate([np.zeros(0, np.int64), *(one.ids for one in labels)])
    if not len(ids) or ids.max() < classes:
        return ()
    low, high = int(ids.min()), int(ids.max())
    span = f"all ids are {low}" if low == high else f"the ids run from {low} to {high}"
    if low >= classes:
        raise DataError(
            f"{example} and others: {span}; ids start at 0, and classes={classes} allows 0 to {classes - 1}. "
            f"Subtract {low} from every id if they count from {low}, or set classes={high + 1}."
        )
    if low == 1 and high == classes:
        note = f"{span}; ids start at 0, so {classes} is left out. Subtract 1 from every id if they count from 1."
        return (Problem("note", example, f"{example} and others: {note}", "ids-from-one"),)
    return ()
