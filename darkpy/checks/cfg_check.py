"""`cfg check`: all that is wrong with a cfg, at once, and whether it fits a .data file."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from darkpy.cfg.text import BYTE_ORDER_MARKS
from darkpy.checks.cfg_graph import option_diagnostics, random_size_diagnostics, size_diagnostics, unread_diagnostics
from darkpy.checks.cfg_heads import head_diagnostics
from darkpy.checks.cfg_net import net_diagnostics
from darkpy.checks.cfg_survey import Survey, survey_cfg
from darkpy.checks.datafile import check_datafile
from darkpy.diagnostics import Diagnostic, Severity, in_file_order, worst


def check_cfg(path: Path, data: Path | None = None) -> list[Diagnostic]:
    """Return everything that is wrong with a cfg, and with it beside a .data file, in file order.

    Args:
        path: The cfg; it need not be there.
        data: The .data file, or None.
    """
    survey = survey_cfg(path)
    survey, sizes = size_diagnostics(survey)
    found = [*_byte_order_mark(path), *survey.diagnostics, *sizes]
    for rule in (net_diagnostics, head_diagnostics, option_diagnostics, unread_diagnostics):
        found += rule(survey)
    if worst(found) < Severity.ERROR:
        found += random_size_diagnostics(path)
    found = in_file_order(found)
    if data is not None:
        found += check_datafile(data, classes=cfg_classes(survey), cfg=str(path))[1]
    return found


def cfg_classes(survey: Survey) -> int | None:
    """Return the number of classes that most heads have, or None without a head that can be read."""
    counts = Counter(head.spec.rules.classes for head in reversed(survey.heads))  # type: ignore[union-attr]
    return counts.most_common(1)[0][0] if counts else None


def _byte_order_mark(path: Path) -> Iterator[Diagnostic]:
    """Yield a note on a mark at the file's start, which darknet takes for a part of ``[net]``."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except (OSError, ValueError):
        return  # the survey says so
    for mark, encoding in BYTE_ORDER_MARKS:
        if start.startswith(mark):
            text = f"begins with a byte-order mark ({encoding}): darkpy reads it, darknet does not. Save it without."
            yield Diagnostic(Severity.WARNING, "byte-order-mark", str(path), 1, text)
            return
