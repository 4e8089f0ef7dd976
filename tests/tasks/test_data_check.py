"""`data check` as a command (darkpy/tasks/data_check.py)."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clean_data import add, checked, write_clean_set

from darkpy.cli.main import run
from darkpy.errors import DataError
from darkpy.tasks.data_check import check, sheet_samples


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_clean_set()
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_clean_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", "obj.data", "net.cfg"]) == 0
    out, err = capsys.readouterr()
    assert "train         3      6" in out
    assert "    1  traffic light" in out
    assert out.splitlines()[-1] == "0 errors, 0 warnings, 0 notes"
    assert err == ""


def test_the_exit_status_follows_the_worst_finding() -> None:
    Path("obj/t1.txt").unlink()
    assert run(["data", "check", "obj.data"]) == 3
    Path("obj/t2.png").unlink()
    assert run(["data", "check", "obj.data", "-workers", "1"]) == 1


def test_no_file_changes(folder: Path) -> None:
    add("obj/bad.png", "7 .5 .5 .1 .1\nx\n")
    Path("obj/bad.png").write_bytes(b"x")
    Path("obj/t2.txt").unlink()
    before = contents(folder)
    assert check(Path("obj.data"), Path("net.cfg")) == 1
    assert contents(folder) == before
    check(Path("obj.data"), sheet=Path("sheet.png"))
    after = contents(folder)
    assert after.pop(str(folder / "sheet.png")).startswith(b"\x89PNG")
    assert after == before


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("obj/t2.txt").unlink()
    assert run(["data", "check", "obj.data", "-json"]) == 3
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    (one,) = document["diagnostics"]
    assert (one["code"], one["path"], one["line"], one["severity"]) == ("label-missing", "train.txt", 2, "warning")
    assert document["summary"]["lists"][0]["without_label"] == 1
    assert document["counts"] == {"error": 0, "warning": 1, "note": 0}


def test_a_kind_is_shown_a_few_times_unless_all_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(12):
        add(f"obj/n{number}.png", None)
    assert run(["data", "check", "obj.data"]) == 3
    out = capsys.readouterr().out
    assert "... and 4 more of kind 'label-missing' (-all shows them)." in out
    assert out.count("has no label file") == 8
    assert run(["data", "check", "obj.data", "-all"]) == 3
    assert capsys.readouterr().out.count("has no label file") == 12


def test_c22_without_a_data_file_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("obj.data").rename("obj.data.txt")
    assert run(["data", "check", "obj.data", "-sheet", "s.jpg"]) == 1
    out, err = capsys.readouterr()
    assert "Did you mean obj.data.txt?" in out
    assert out.splitlines()[-1] == "1 error, 0 warnings, 0 notes"
    assert err == "-sheet s.jpg: not written, as there is no picture to show.\n"
    assert not Path("s.jpg").exists()


def test_without_a_data_file_json_has_no_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", "none.data", "-json"]) == 1
    assert json.loads(capsys.readouterr().out)["summary"] is None


@pytest.mark.parametrize(
    ("sheet", "rule"),
    [
        ("sheet.txt", r"must end in \.jpg, \.jpeg or \.png"),
        ("none/sheet.png", "there is no folder none"),
        ("obj/t1.png", "a file of the data set"),
        ("./obj/../obj/v1.png", "a file of the data set"),
        ("taken.png", "exists. Name a new file, or add -force"),
        ("other.png", "exists. Name a new file, or add -force"),
        ("link.png", "exists. Name a new file, or add -force"),
        ("obj/missing.jpg", "a file of the data set"),
        ("folder.png", "is a folder"),
    ],
)
def test_a_sheet_never_takes_the_place_of_a_file_of_the_set(sheet: str, rule: str, folder: Path) -> None:
    Path("taken.png").write_text("notes")
    Path("other.png").write_bytes(Path("obj/t1.png").read_bytes())
    Path("link.png").symlink_to("nowhere.png")
    add("obj/missing.jpg", None)
    Path("obj/missing.jpg").unlink()
    Path("folder.png").mkdir()
    before = contents(folder)
    with pytest.raises(DataError, match=rule):
        check(Path("obj.data"), sheet=Path(sheet))
    assert contents(folder) == before


@pytest.mark.parametrize("sheet", ["obj/t1.png", "hard.png", "soft.png"])
def test_even_with_force_no_file_of_the_set_is_replaced(sheet: str, folder: Path) -> None:
    os.link("obj/t1.png", "hard.png")
    Path("soft.png").symlink_to("obj/t1.png")
    before = contents(folder)
    with pytest.raises(DataError, match="a file of the data set"):
        check(Path("obj.data"), sheet=Path(sheet), force=True)
    assert contents(folder) == before


def test_an_older_sheet_is_replaced_by_force(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", "obj.data", "-sheet", "sheet.jpg"]) == 0
    assert run(["data", "check", "obj.data", "-sheet", "sheet.jpg", "-force"]) == 0
    assert capsys.readouterr().err == "sheet.jpg: 5 of 5 pictures with their boxes.\n" * 2


def test_the_sheet_shows_each_class_and_no_unreadable_picture() -> None:
    for number in range(30):
        add(f"obj/n{number}.png", "0 .5 .5 .3 .4\n")
    add("obj/rare.png", "1 .5 .5 .3 .4\n")
    for name in ("t1", "t2", "t3", "v1", "v2"):
        Path(f"obj/{name}.png").write_bytes(b"")
    data = checked(None).data
    assert data is not None
    chosen = sheet_samples(data, 2)
    assert len(chosen) == 16
    assert "obj/rare.png" in [one.path for one in chosen]
    assert {one.path for one in chosen}.isdisjoint(f"obj/{name}.png" for name in ("t1", "t2", "t3", "v1", "v2"))
    assert all(isinstance(one.boxes, np.ndarray) for one in chosen)


def test_a_missing_cfg_is_a_finding_and_the_set_is_still_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", "obj.data", "none.cfg"]) == 1
    out = capsys.readouterr().out
    assert "none.cfg: error: Couldn't open file: none.cfg: not found." in out
    assert "train         3      6" in out
