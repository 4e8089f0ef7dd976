"""What a check of a user's files finds: where, how bad, what, and what to write instead."""

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass

_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+): (?P<message>.*)", re.DOTALL)  # C:\net.cfg:12: ... has two colons


class Severity(enum.IntEnum):
    """How much a finding matters. Names and order are those of editors and compilers."""

    NOTE = 0  # right, but worth knowing
    WARNING = 1  # a run works, perhaps not as meant
    ERROR = 2  # a run stops, or learns nothing


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding in one place."""

    severity: Severity
    code: str  # names the rule, for editors and scripts: "filters", "duplicate-key"
    path: str  # the file, as the user wrote it
    line: int | None  # counted from 1; None for the file as a whole
    message: str  # what, the rule and the mend, without the place
    expected: str | None = None  # what to write there, such as "filters=18", where one value is right

    @property
    def where(self) -> str:
        """Return ``path:line``, or the path alone."""
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        return f"{self.where}: {self.severity.name.lower()}: {self.message}"


def worst(diagnostics: Iterable[Diagnostic]) -> Severity:
    """Return the highest severity; NOTE where there is none."""
    return max((diagnostic.severity for diagnostic in diagnostics), default=Severity.NOTE)


def exit_status(diagnostics: Iterable[Diagnostic]) -> int:
    """Return a check's exit status: 0 for nothing or notes, 3 for warnings, 1 for errors; 2 is for the command line."""
    return {Severity.NOTE: 0, Severity.WARNING: 3, Severity.ERROR: 1}[worst(diagnostics)]


def in_file_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics by path (in order of first appearance) and line, equal ones once."""
    unique = list(dict.fromkeys(diagnostics))
    paths = {path: number for number, path in enumerate(dict.fromkeys(one.path for one in unique))}
    return sorted(unique, key=lambda one: (paths[one.path], one.line or 0))


def from_message(text: str, *, severity: Severity, code: str, path: str, expected: str | None = None) -> Diagnostic:
    """Return the diagnostic of one of darkpy's own one-line messages, which begin with their place.

    Args:
        text: ``path:line: message`` or ``path: message``, as every error's text; without a place it concerns ``path``.
        severity: How much it matters.
        code: Of the rule.
        path: The file that was checked.
        expected: What to write instead, if that is one value.
    """
    place = _PLACE.match(text)
    if place is not None:
        return Diagnostic(severity, code, place["path"], int(place["line"]), place["message"], expected)
    return Diagnostic(severity, code, path, None, text.removeprefix(f"{path}: "), expected)
