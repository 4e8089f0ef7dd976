"""The .data file of a command and its names (darkpy/tasks/_classes.py)."""

from pathlib import Path

import pytest

from darkpy.cfg import shipped
from darkpy.errors import CfgError, DataError
from darkpy.tasks._classes import class_names, open_datafile


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a data set's files for two classes."""
    monkeypatch.chdir(tmp_path)
    Path("obj.names").write_text("cat\ndog\ncow\n")
    Path("obj.data").write_text("names = obj.names\nnames = other.names\n")
    return tmp_path


def test_oddities_of_the_data_file_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert open_datafile(Path("obj.data")).text("names") == "obj.names"
    assert "obj.data:2: 'names' stands in line 1 already" in capsys.readouterr().err


def test_files_that_come_with_darkpy_are_found_and_that_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "came" / "data").mkdir(parents=True)
    (folder / "came" / "data" / "x.names").write_text("bird\n")
    (folder / "came" / "data" / "x.data").write_text("names = data/x.names\n")
    monkeypatch.setattr(shipped, "shipped_folder", lambda name: folder / "came" / name)
    names = class_names(open_datafile(Path("x.data")), classes=1, cfg=Path("net.cfg"), exact=True)
    assert names == ["bird"]
    err = capsys.readouterr().err
    assert "x.data: not found as given; using the one that comes with darkpy" in err
    assert "x.names: not found as given; using the one that comes with darkpy" in err


def test_more_names_than_classes_are_cut_and_that_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = open_datafile(Path("obj.data"))
    assert class_names(data, classes=2, cfg=Path("net.cfg"), exact=False) == ["cat", "dog"]
    assert "obj.names: 3 names, but classes=2 in net.cfg: the first 2 count." in capsys.readouterr().err


def test_more_names_than_classes_are_an_error_where_they_must_fit(folder: Path) -> None:
    with pytest.raises(
        DataError, match=r"obj\.data:1: names: number of names 3 in obj\.names isn't equal to classes=2"
    ):
        class_names(open_datafile(Path("obj.data")), classes=2, cfg=Path("net.cfg"), exact=True)


def test_c12_names_that_are_a_folder(folder: Path) -> None:
    """C12."""
    Path("names").mkdir()
    Path("obj.data").write_text("names = names\n")
    with pytest.raises(CfgError, match=r"obj\.data:1: names: Couldn't open file: names: it is a folder"):
        class_names(open_datafile(Path("obj.data")), classes=2, cfg=Path("net.cfg"), exact=True)
