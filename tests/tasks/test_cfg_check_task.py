"""`darkpy cfg check` as a person or an editor calls it."""

import json
from pathlib import Path

import pytest
from clean_cfg import CLEAN, line_of, write_cfg

from darkpy.cli.main import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clean_cfg_prints_nothing_and_gives_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cfg(folder, CLEAN)
    assert run("cfg check net.cfg".split()) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "net.cfg: 0 errors, 0 warnings, 0 notes.\n")


def test_errors_give_1_and_warnings_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = CLEAN.replace("filters=21", "filters=18", 1)
    write_cfg(folder, wrong)
    assert run("cfg check net.cfg".split()) == 1
    line = line_of(wrong, "filters=18")
    assert capsys.readouterr().out == (
        f"net.cfg:{line}: error: [convolutional] filters=18, but [yolo] at line {line + 3} needs 21 = 3 masks x "
        "(2 classes + 5). Set filters=21.\n"
    )
    write_cfg(folder, CLEAN.replace("mosaic=1", "mosaik=1"))
    assert run("cfg check net.cfg".split()) == 3


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cfg(folder, CLEAN.replace("filters=21", "filters=18", 1))
    assert run("cfg check net.cfg -json".split()) == 1
    document = json.loads(capsys.readouterr().out)
    (one,) = document["diagnostics"]
    assert (one["path"], one["code"], one["expected"]) == ("net.cfg", "filters", "filters=21")
    assert document["counts"] == {"error": 1, "warning": 0, "note": 0}


def test_a_data_file_is_checked_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cfg(folder, CLEAN)
    assert run("cfg check net.cfg obj.data".split()) == 1
    assert "obj.data: error: Couldn't open file: obj.data: not found." in capsys.readouterr().out


def test_a_missing_cfg_is_an_error_of_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cfg check net.cfg".split()) == 1
    assert capsys.readouterr().out == (
        "net.cfg: error: Couldn't open file: net.cfg: not found. Check the path; it counts from the current folder.\n"
    )


@pytest.mark.parametrize("name", ["yolov4.cfg", "yolov3-tiny.cfg", "demo.cfg", "yolov7-tiny.cfg"])
def test_what_comes_with_darkpy_has_no_error(name: str, folder: Path) -> None:
    assert run(["cfg", "check", name]) in (0, 3)
