"""Diagnostics: their text, order and exit status."""

from pathlib import Path

import pytest

from darkpy.diagnostics import Diagnostic, Severity, exit_status, from_message, in_file_order, worst


def made(severity: Severity = Severity.ERROR, *, path: str = "a.cfg", line: int | None = 3) -> Diagnostic:
    return Diagnostic(severity, "filters", path, line, "filters=13, but 18 are needed.", "filters=18")


def test_a_diagnostic_reads_as_compilers_write_it() -> None:
    assert str(made()) == "a.cfg:3: error: filters=13, but 18 are needed."
    assert str(made(Severity.NOTE, line=None)) == "a.cfg: note: filters=13, but 18 are needed."


@pytest.mark.parametrize(
    ("severities", "status"),
    [((), 0), ((0,), 0), ((0, 1), 3), ((1, 2, 0), 1)],
)
def test_the_worst_gives_the_exit_status(severities: tuple[int, ...], status: int) -> None:
    diagnostics = [made(Severity(number)) for number in severities]
    assert exit_status(diagnostics) == status
    assert worst(diagnostics) == max(severities, default=0)


def test_order_is_by_file_as_met_and_line_and_equal_ones_count_once() -> None:
    second, first, other, whole = made(line=9), made(line=2), made(path="b.data"), made(line=None)
    assert in_file_order([second, first, other, second, whole]) == [whole, first, second, other]


@pytest.mark.parametrize("path", ["a.cfg", "/data/a b.cfg", "C:\\nets\\a.cfg"])
def test_a_message_is_taken_apart_at_its_place(path: str) -> None:
    place = f"{path}:12: [net] batch=x: is no number: write 3."
    one = from_message(place, severity=Severity.ERROR, code="value", path="x")
    assert (one.path, one.line, one.message) == (path, 12, "[net] batch=x: is no number: write 3.")


def test_a_message_without_a_line_concerns_the_file() -> None:
    one = from_message("a.cfg: no sections.", severity=Severity.NOTE, code="x", path=str(Path("a.cfg")), expected="y")
    assert (one.path, one.line, one.message, one.expected) == ("a.cfg", None, "no sections.", "y")
