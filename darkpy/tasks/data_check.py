"""`data check`: say what is wrong with a data set, and what it holds."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from darkpy.checks.data_check import Outcome, Plan, finish_check, plan_check
from darkpy.checks.data_reading import Sample, read_samples, usable_cores
from darkpy.checks.data_set import DataSet
from darkpy.data.index import label_path
from darkpy.diagnostics import exit_status
from darkpy.errors import DataError
from darkpy.files import is_among
from darkpy.report.data_report import summary_lines
from darkpy.report.diagnostics import diagnostic_lines, diagnostics_json, summary_line
from darkpy.report.sheet import EXTENSIONS, SheetSample, draw_sheet, save_sheet
from darkpy.tasks._progress import items_with_progress
from darkpy.tasks._say import say

_SHOWN = 8  # findings of one kind
_ON_A_SHEET = 16


def check(
    obj: Path,
    net: Path | None = None,
    *,
    as_json: bool = False,
    show_all: bool = False,
    sheet: Path | None = None,
    force: bool = False,
    workers: int | None = None,
) -> int:
    """Print what a data set holds and what is wrong with it; return 0, or 3 for warnings, or 1 for errors.

    Args:
        obj: The .data file.
        net: The network that it is meant for, or None.
        as_json: Print JSON.
        show_all: Print every finding, not the first few of each kind.
        sheet: A picture to write, with samples and their boxes.
        force: Replace the sheet's file if it exists.
        workers: Threads that read pictures; None takes one for each core.

    Raises:
        DataError: If the sheet cannot be written, or would replace a file of the set.
    """
    plan = plan_check(obj, net)
    if sheet is not None:
        check_sheet(sheet, _files(plan, obj, net), force=force)
    paths = list(plan.pictures.values())
    samples = read_samples(paths, classes=plan.classes_bound, workers=workers or usable_cores())
    outcome = finish_check(plan, list(items_with_progress(samples, len(paths))))
    _print(outcome, as_json=as_json, show_all=show_all)
    if sheet is not None:
        _write_sheet(sheet, outcome)
    return exit_status(outcome.diagnostics)


def _print(outcome: Outcome, *, as_json: bool, show_all: bool) -> None:
    if as_json:
        summary = outcome.summary.as_json() if outcome.summary else None
        print(diagnostics_json(outcome.diagnostics, summary=summary))
        return
    lines = [] if outcome.summary is None else list(summary_lines(outcome.summary))
    lines += diagnostic_lines(outcome.diagnostics, most=None if show_all else _SHOWN)
    print("\n".join([*lines, summary_line(outcome.diagnostics)]), flush=True)


def _files(plan: Plan, obj: Path, net: Path | None) -> Iterator[str]:
    """Yield every file that the check reads."""
    yield str(obj)
    yield plan.names.path
    yield from () if net is None else (str(net),)
    keys = ("train", "valid", "difficult", "labels")
    yield from (str(found) for key in keys if plan.data and (found := plan.data.file(key)))
    for path in plan.pictures.values():
        yield path
        yield label_path(path)


def check_sheet(sheet: Path, files: Iterable[str], *, force: bool) -> None:
    """Check that a sheet can be written without harm.

    Args:
        sheet: The new file.
        files: Those of the set, which are never replaced.
        force: Whether another file may be replaced.

    Raises:
        DataError: If it has no extension of a picture, or no folder, or would replace a file.
    """
    if sheet.suffix.lower() not in EXTENSIONS:
        raise DataError(f"-sheet {sheet}: must end in {', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]}.")
    if not os.path.isdir(sheet.parent):
        raise DataError(f"-sheet {sheet}: there is no folder {sheet.parent}. Make it first.")
    if os.path.isdir(sheet) or is_among(sheet, files):
        raise DataError(f"-sheet {sheet}: is a folder, or a file of the data set. Name a new file.")
    if os.path.lexists(sheet) and not force:
        raise DataError(f"-sheet {sheet}: exists. Name a new file, or add -force to replace it.")


def _write_sheet(sheet: Path, outcome: Outcome) -> None:
    chosen = sheet_samples(outcome.data, len(outcome.names)) if outcome.data else []
    if not chosen:
        say(f"-sheet {sheet}: not written, as there is no picture to show.")
        return
    save_sheet(sheet, draw_sheet(chosen, outcome.names))
    say(f"{sheet}: {len(chosen)} of {len(outcome.data.samples) if outcome.data else 0} pictures with their boxes.")


def sheet_samples(data: DataSet, classes: int) -> list[SheetSample]:
    """Return up to 16 pictures: first one for each class, the rarest first, then others, spread over the set."""
    usable = [index for index, sample in enumerate(data.samples) if not sample.picture.failure]
    readable = np.isin(data.boxes.owners, usable)
    owners, ids = data.boxes.owners[readable], data.boxes.classes[readable]
    counts = np.bincount(ids, minlength=classes)
    chosen: dict[int, None] = {}
    for class_id in np.argsort(counts, kind="stable"):
        holders = owners[ids == class_id]
        if len(holders) and len(chosen) < _ON_A_SHEET and not np.isin(holders, list(chosen)).any():
            chosen[int(holders[len(holders) // 2])] = None
    rest = [index for index in dict.fromkeys([*np.unique(owners).tolist(), *usable]) if index not in chosen]
    wanted = min(_ON_A_SHEET - len(chosen), len(rest))
    for place in np.linspace(0, len(rest) - 1, num=max(wanted, 0)).round().astype(int):
        chosen[rest[place]] = None
    return [_sheet_sample(data.samples[index]) for index in sorted(chosen)]


def _sheet_sample(sample: Sample) -> SheetSample:
    return SheetSample(sample.path, sample.label.labels.truths)
