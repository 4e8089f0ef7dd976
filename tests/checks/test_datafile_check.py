"""What is wrong with a .data file is found at its line; a good one has nothing to find."""

from pathlib import Path

import pytest

from darkpy.checks.datafile import check_datafile
from darkpy.diagnostics import Severity

GOOD = "classes = 2\ntrain = train.txt\nvalid = valid.txt\nnames = obj.names\nbackup = backup\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("train.txt", "valid.txt"):
        Path(name).write_text("a.jpg\n")
    Path("obj.names").write_text("traffic light\ncat\n")
    Path("backup").mkdir()
    return tmp_path


def found(
    text: str | bytes, *, classes: int | None = 2, cfg: str | None = "net.cfg"
) -> list[tuple[Severity, str, str, int | None]]:
    Path("obj.data").write_bytes(text if isinstance(text, bytes) else text.encode())
    _, diagnostics = check_datafile(Path("obj.data"), classes=classes, cfg=cfg)
    return [(one.severity, one.code, one.path, one.line) for one in diagnostics]


@pytest.mark.usefixtures("folder")
def test_a_good_file_has_nothing_to_find() -> None:
    """C11: a name with a blank is one name."""
    assert found(GOOD) == []
    assert found(GOOD.replace("\n", "\r\n")) == []
    assert found(GOOD, classes=None, cfg=None) == []


@pytest.mark.parametrize(
    ("case", "old", "new", "severity", "code", "line"),
    [
        ("C08", "classes = 2", "classes = 3", Severity.WARNING, "classes", 1),
        ("C12", "names = obj.names", "names = backup", Severity.ERROR, "missing-file", 4),
        ("C13", "valid = valid.txt", "valid = other.txt", Severity.ERROR, "missing-file", 3),
        ("train", "train = train.txt", "train = train", Severity.ERROR, "missing-file", 2),
        ("C20", "backup = backup", "backup = deep/backup", Severity.NOTE, "missing-folder", 5),
        ("file", "backup = backup", "backup = obj.names", Severity.ERROR, "no-folder", 5),
        ("no train", "train = train.txt\n", "", Severity.ERROR, "missing-key", None),
        ("no valid", "valid = valid.txt\n", "", Severity.WARNING, "missing-key", None),
        ("no names", "names = obj.names\n", "", Severity.WARNING, "missing-key", None),
        ("no backup", "backup = backup\n", "", Severity.NOTE, "missing-key", None),
        ("unknown", "backup = backup\n", "backup = backup\nvalidd = x\n", Severity.WARNING, "unknown-key", 6),
        ("twice", "backup = backup\n", "backup = backup\ntrain = x\n", Severity.WARNING, "duplicate-key", 6),
        ("no value", "backup = backup\n", "backup = backup\neval =\n", Severity.WARNING, "no-value", 6),
        ("eval", "backup = backup\n", "backup = backup\neval = pascal\n", Severity.WARNING, "value", 6),
        ("number", "classes = 2", "classes = two", Severity.ERROR, "value", 1),
        ("saveweights", "backup = backup\n", "backup = backup\nsaveweights = 0\n", Severity.ERROR, "value", 6),
        ("difficult", "backup = backup\n", "backup = backup\ndifficult = no.txt\n", Severity.ERROR, "missing-file", 6),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_planted_defect_is_found_and_nothing_else(
    case: str, old: str, new: str, severity: Severity, code: str, line: int | None
) -> None:
    assert found(GOOD.replace(old, new)) == [(severity, code, "obj.data", line)]


@pytest.mark.usefixtures("folder")
def test_c09_other_names_than_classes_are_an_error_with_both_numbers() -> None:
    Path("obj.names").write_text("".join(f"{number}\n" for number in range(80)))
    Path("obj.data").write_text(GOOD.replace("classes = 2", "classes = 1"))
    _, (one,) = check_datafile(Path("obj.data"), classes=1, cfg="net.cfg")
    assert (one.code, one.line) == ("names", 4)
    assert "80 names, but classes=1 in net.cfg" in one.message
    _, (one,) = check_datafile(Path("obj.data"), classes=None, cfg=None)
    assert "80 names, but classes=1 in obj.data" in one.message


@pytest.mark.usefixtures("folder")
def test_blank_and_repeated_lines_of_names_are_found_at_their_lines() -> None:
    Path("obj.names").write_text("cat\n\ncat\n\n")
    assert found(GOOD) == [
        (Severity.WARNING, "blank-line", "obj.names", 2),
        (Severity.WARNING, "blank-line", "obj.names", 4),
        (Severity.WARNING, "duplicate-name", "obj.names", 3),
    ]


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_no_data_file_is_one_error() -> None:
    """C22: a near name is suggested."""
    assert found("[net]\nbatch=1\n") == [(Severity.ERROR, "unreadable", "obj.data", 1)]
    Path("obj.data").rename("obj.data.txt")
    data, (one,) = check_datafile(Path("obj.data"), classes=2, cfg="net.cfg")
    assert data is None
    assert "obj.data: not found. Did you mean obj.data.txt?" in one.message
