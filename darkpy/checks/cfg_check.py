"""`cfg check`: all that is wrong with a cfg, at once, and whether it fits a .data file."""

from collections.abc import Iterator
from pathlib import Path

from darkpy.checks.cfg_graph import option_diagnostics, random_size_diagnostics, size_diagnostics, unread_diagnostics
from darkpy.checks.cfg_heads import class_diagnostics, head_diagnostics, usual_classes
from darkpy.checks.cfg_net import net_diagnostics
from darkpy.checks.cfg_shared import shared_diagnostics
from darkpy.checks.cfg_survey import survey_cfg
from darkpy.checks.data_text import ODDITIES, oddities
from darkpy.checks.datafile import check_datafile
from darkpy.diagnostics import Diagnostic, Severity, in_file_order, worst

_UNREAD_BY_DARKNET = ("byte-order-mark", "utf-16", "carriage-returns")


def check_cfg(path: Path, data: Path | None = None) -> list[Diagnostic]:
    """Return everything that is wrong with a cfg, and with it beside a .data file, in file order.

    Args:
        path: The cfg; it need not be there.
        data: The .data file, or None.
    """
    survey = survey_cfg(path)
    survey, classes = class_diagnostics(survey)
    survey, sizes = size_diagnostics(survey)  # last, since its survey has another size than the cfg
    found = [*_encoding(path), *survey.diagnostics, *sizes, *classes]
    for rule in (net_diagnostics, head_diagnostics, option_diagnostics, unread_diagnostics, shared_diagnostics):
        found += rule(survey)
    if worst(found) < Severity.ERROR:
        found += random_size_diagnostics(path)
    found = in_file_order(found)
    if data is not None:
        found += check_datafile(data, classes=usual_classes(survey), cfg=str(path))[1]
    return found


def _encoding(path: Path) -> Iterator[Diagnostic]:
    """Yield warnings of encodings and line ends that darknet cannot read."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError):
        return  # the survey says so
    for code in oddities(raw):
        if code in _UNREAD_BY_DARKNET:
            severity, text = ODDITIES[code]
            yield Diagnostic(severity, code, str(path), 1, text)
