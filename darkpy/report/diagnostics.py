"""Diagnostics as lines for people (and editors that read compilers' lines), or as JSON."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from darkpy.diagnostics import Diagnostic, Severity, in_file_order


def diagnostic_lines(
    diagnostics: Iterable[Diagnostic], *, most: int | None = None, hint: str = " (-all shows them)"
) -> Iterator[str]:
    """Yield one line for each diagnostic, ``path:line: severity: message``, in file order.

    Args:
        diagnostics: What was found.
        most: Lines of one code at most; how many more there are is said. None yields all.
        hint: How to see the others.
    """
    shown: Counter[str] = Counter()
    for one in in_file_order(diagnostics):
        shown[one.code] += 1
        if most is None or shown[one.code] <= most:
            yield str(one)
    if most is not None:
        for code, count in shown.items():
            if count > most:
                yield f"... and {count - most} more of kind '{code}'{hint}."


def summary_line(diagnostics: Sequence[Diagnostic]) -> str:
    """Return ``2 errors, 1 warning, 0 notes``."""
    counts = Counter(one.severity for one in diagnostics)
    words = (
        f"{counts[severity]} {severity.name.lower()}{'' if counts[severity] == 1 else 's'}"
        for severity in sorted(Severity, reverse=True)
    )
    return ", ".join(words)


def diagnostics_json(diagnostics: Iterable[Diagnostic], **more: Any) -> str:
    """Return the JSON text for editors and scripts.

    Args:
        diagnostics: What was found.
        **more: Further members of the document; their values must be what JSON can hold.
    """
    ordered = in_file_order(diagnostics)
    records = [
        {
            "path": one.path,
            "line": one.line,
            "severity": one.severity.name.lower(),
            "code": one.code,
            "message": one.message,
            "expected": one.expected,
        }
        for one in ordered
    ]
    counts = {
        severity.name.lower(): sum(one.severity is severity for one in ordered)
        for severity in sorted(Severity, reverse=True)
    }
    document = {"version": 1, "diagnostics": records, "counts": counts, **more}
    return json.dumps(document, indent=1, ensure_ascii=False)
