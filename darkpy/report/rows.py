"""The losses and mAPs of a run as rows of a .csv file, each on disk as soon as it is known."""

import csv
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from darkpy.events import Event, IterationTrained, MapMeasured, TrainingEnded
from darkpy.files import free_name, replaced

COLUMNS = ("iteration", "loss", "average_loss", "rate", "images", "seconds", "map")
_MAP = COLUMNS.index("map")


class Rows:
    """Appends a row for each iteration, and one for each mAP: a sink of events.

    Args:
        path: The .csv file. It is opened at the first row.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None
        self._failed = False

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case IterationTrained():
                loss, average = f"{event.loss:.9g}", f"{event.average_loss:.9g}"
                self._append(event.iteration, loss, average, f"{event.rate:.9g}", event.images, f"{event.seconds:.3f}")
            case MapMeasured():
                self._append(event.iteration, "", "", "", "", "", f"{event.mean_average_precision:.6f}")
            case TrainingEnded():
                self.close()

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:  # rows that a full disk did not take
                self._tell(error)

    def _open(self) -> TextIO:
        return self.path.open("a", encoding="utf-8", newline="")

    def _write(self, file: TextIO, row: Sequence[object]) -> None:
        csv.writer(file, lineterminator="\n").writerow(row)
        file.flush()

    def _append(self, *values: object) -> None:
        row = [*values, *[""] * (len(COLUMNS) - len(values))]
        try:
            if not self.path.exists():  # a new file, or a folder that vanished and was made again
                self.close()
            if self._file is None:
                self._file = self._open()
                if not self._file.tell():
                    self._write(self._file, COLUMNS)
            self._write(self._file, row)
        except OSError as error:  # a full disk or a read-only folder must not end the training
            self._tell(error)
            self.close()

    def _tell(self, error: OSError) -> None:
        if not self._failed:
            print(f"Note: {self.path} cannot be written: {error.strerror}. Training goes on.", file=sys.stderr)
        self._failed = True


def best_map_in(path: Path) -> float:
    """Return the best mAP (0..1) among the rows; -1 if there is none, or no such file."""
    best = -1.0
    try:
        rows = _whole_rows(path)
    except OSError:
        return best
    for row in rows:
        try:
            if row[_MAP]:
                best = max(best, float(row[_MAP]))
        except (ValueError, IndexError):
            continue  # the header, or no line of ours
    return best


def begin_rows(path: Path, *, completed: int, is_exact: bool) -> None:
    """Make the file ready for a run that goes on after ``completed`` iterations: rows of later ones would be doubled.

    A file with later rows is kept under a new name (``net.1.csv``), unless the run repeats them exactly; so is one with
    other columns.

    Args:
        path: The .csv file; it may be missing.
        completed: Iterations of the run so far.
        is_exact: Whether the iterations to come are those that were rowed before.

    Raises:
        OSError: If the file cannot be written.
    """
    try:
        rows = _whole_rows(path)
    except FileNotFoundError:
        return
    is_ours = bool(rows) and rows[0] == list(COLUMNS)
    kept = [row for row in rows[1:] if is_ours and row and row[0].isdigit() and int(row[0]) <= completed]
    repeats = is_ours and (is_exact or len(kept) + 1 == len(rows))
    if rows and not repeats:
        os.replace(path, free_name(path))
    if not kept:
        path.unlink(missing_ok=True)
        return
    with replaced(path) as file:
        for row in (COLUMNS, *kept):
            file.write((",".join(row) + "\n").encode())


def _whole_rows(path: Path) -> list[list[str]]:
    """Return the rows of the file; one that was cut in writing is left out.

    Raises:
        OSError: If it cannot be read.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    return list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
