"""Diagnostics as lines and as JSON."""

import json

from darkpy.diagnostics import Diagnostic, Severity
from darkpy.report.diagnostics import diagnostic_lines, diagnostics_json, summary_line


def tiny(line: int) -> Diagnostic:
    return Diagnostic(Severity.NOTE, "tiny-box", "a.txt", line, "small.")


WRONG = Diagnostic(Severity.ERROR, "filters", "ä.cfg", 3, "filters=13.", "filters=18")


def test_lines_of_one_code_end_where_told_and_the_rest_is_counted() -> None:
    lines = list(diagnostic_lines([tiny(3), tiny(1), WRONG, tiny(2)], most=2))
    assert lines == [
        "a.txt:1: note: small.",
        "a.txt:2: note: small.",
        "ä.cfg:3: error: filters=13.",
        "... and 1 more of kind 'tiny-box' (-all shows them).",
    ]
    assert len(list(diagnostic_lines([tiny(3), tiny(1), tiny(2)]))) == 3


def test_one_file_does_not_hide_the_others() -> None:
    found = [Diagnostic(Severity.ERROR, "record", path, line, "no.") for path in "abcd" for line in range(1, 9)]
    shown = [line[:3] for line in diagnostic_lines(found, most=8)]
    assert shown == ["a:1", "a:2", "a:3", "b:1", "b:2", "b:3", "c:1", "c:2", "..."]
    shown = [line[:3] for line in diagnostic_lines(found[:10], most=8)]
    assert shown == ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "b:1", "b:2", "..."]
    assert len(list(diagnostic_lines(found))) == 32


def test_the_summary_counts_each_severity() -> None:
    assert summary_line([tiny(1), WRONG, tiny(2)]) == "1 error, 0 warnings, 2 notes"


def test_json_holds_every_field_and_more_members() -> None:
    document = json.loads(diagnostics_json([WRONG, tiny(1)], pictures=4))
    assert document == {
        "version": 1,
        "diagnostics": [
            {"path": "ä.cfg", "line": 3, "severity": "error", "code": "filters", "message": "filters=13.",
             "expected": "filters=18"},
            {"path": "a.txt", "line": 1, "severity": "note", "code": "tiny-box", "message": "small.", "expected": None},
        ],
        "counts": {"error": 1, "warning": 0, "note": 1},
        "pictures": 4,
    }  # fmt: skip


def test_json_of_a_path_with_odd_bytes_is_json_and_names_the_file() -> None:
    odd = Diagnostic(Severity.NOTE, "x", "b\udce4r.txt", 1, "small.")
    text = diagnostics_json([odd])
    assert json.loads(text.encode())["diagnostics"][0]["path"] == "b\udce4r.txt"
    assert "ä" in diagnostics_json([WRONG])
