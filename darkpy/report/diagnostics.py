"""Diagnostics as lines for people (and editors that read compilers' lines), or as JSON."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from darkpy.diagnostics import Diagnostic, Severity, in_file_order

_OF_A_FILE = 3  # lines of one code and file, before other files have had their turn


def diagnostic_lines(
    diagnostics: Iterable[Diagnostic], *, most: int | None = None, hint: str = " (-all shows them)"
) -> Iterator[str]:
    """Yield one line for each diagnostic, ``path:line: severity: message``, in file order.

    Args:
        diagnostics: What was found.
        most: Lines of one code at most, of as many files as possible; how many more there are is said. None yields all.
        hint: How to see the others.
    """
    ordered = in_file_order(diagnostics)
    chosen = range(len(ordered)) if most is None else _chosen(ordered, most)
    yield from (str(ordered[number]) for number in chosen)
    if most is not None:
        for code, count in Counter(one.code for one in ordered).items():
            if count > most:
                yield f"... and {count - most} more of kind '{code}'{hint}."


def _chosen(ordered: Sequence[Diagnostic], most: int) -> list[int]:
    """Return the places of those to show, in order: of each code the first of each file, then others."""
    of_file: Counter[tuple[str, str]] = Counter()
    first: list[int] = []
    others: list[int] = []
    for number, one in enumerate(ordered):
        of_file[one.code, one.path] += 1
        (first if of_file[one.code, one.path] <= _OF_A_FILE else others).append(number)
    shown: Counter[str] = Counter()
    chosen = []
    for number in (*first, *others):
        shown[ordered[number].code] += 1
        if shown[ordered[number].code] <= most:
            chosen.append(number)
    return sorted(chosen)


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
    text = json.dumps(document, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # odd bytes of a file name, which raw would be no JSON
        return json.dumps(document, indent=1)
    return text
