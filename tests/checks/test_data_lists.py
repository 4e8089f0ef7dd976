"""Lists of pictures without a look at the pictures (darkpy/checks/data_lists.py)."""

import os
import sys
import time
from pathlib import Path

import pytest

from darkpy.checks import data_lists
from darkpy.checks.data_lists import FolderNames, case_diagnostics, identity, quick_list_diagnostics, read_list
from darkpy.diagnostics import Severity


def codes(train: Path, valid: Path | None = None) -> list[tuple[str, int | None]]:
    return [(one.code, one.line) for one in quick_list_diagnostics(train, valid)]


needs_letter_case = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names without letter case")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        Path(name).write_bytes(b"never opened")
    Path("train.txt").write_text("a.jpg\nb.jpg\n")
    Path("valid.txt").write_text("c.jpg\n")
    return tmp_path


def test_good_lists_have_no_finding(folder: Path) -> None:
    assert codes(Path("train.txt"), Path("valid.txt")) == []


@needs_letter_case
def test_everything_that_is_cheap_is_found_at_once(folder: Path) -> None:
    Path("train.txt").write_bytes(b"\xef\xbb\xbfa.jpg\r\nA.JPG\r\na.jpg\r\nnone.jpg\r\n\r\nc.jpg")
    assert codes(Path("train.txt"), Path("valid.txt")) == [
        ("byte-order-mark", None),
        ("crlf", None),
        ("blank-line", 5),
        ("listed-twice", 3),
        ("letter-case", 2),
        ("picture-missing", 4),
        ("train-in-valid", 1),
    ]


def test_a_list_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (one,) = read_list(tmp_path / "none.txt", key="train").found
    assert (one.code, one.path) == ("unreadable", str(tmp_path / "none.txt"))
    assert "not found" in one.message
    (one,) = read_list(tmp_path, key="train").found
    assert "it is a folder" in one.message
    assert read_list(Path("a\0b"), key="train").found[0].code == "unreadable"


def test_a_picture_given_as_a_list_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    listed = read_list(tmp_path / "train.txt", key="train")
    assert [one.code for one in listed.found] == ["binary"]
    assert listed.entries == ()


@needs_letter_case
def test_the_message_of_another_letter_case_gives_the_right_path(folder: Path) -> None:
    Path("train.txt").write_text("a.jpg\nB.jpg\n")
    (one,) = quick_list_diagnostics(Path("train.txt"), None)
    assert one.message == "'B.jpg' is 'b.jpg' on disk, and Linux tells them apart. Write that."
    assert one.expected == "b.jpg"


def test_each_folder_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(data_lists.os, "listdir", lambda path: asked.append(path) or ["X.jpg"])
    names = FolderNames()
    assert [names.other_case(path) for path in ("x.jpg", "X.jpg", "y.jpg", "d/x.jpg")] == [
        "X.jpg",
        None,
        None,
        os.path.join("d", "X.jpg"),
    ]
    assert asked == [".", "d"]


def test_all_paths_of_another_folder_are_one_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "run").mkdir()
    monkeypatch.chdir(folder / "run")
    (one,) = quick_list_diagnostics(Path("../train.txt"), None)
    assert one.code == "wrong-folder"
    assert "none of its 2 pictures is there" in one.message


def test_paths_that_are_nowhere_are_named_one_by_one(folder: Path) -> None:
    Path("train.txt").write_text("x.jpg\ny.jpg\n")
    assert codes(Path("train.txt")) == [("picture-missing", 1), ("picture-missing", 2)]


def test_one_list_for_both_is_one_warning(folder: Path) -> None:
    found = quick_list_diagnostics(Path("train.txt"), Path("train.txt"), data=Path("obj.data"), valid_line=3)
    assert [(one.code, one.where) for one in found] == [("train-in-valid", "obj.data:3")]
    assert "2 of the 2 pictures in train.txt are in train.txt (2 pictures) too" in found[0].message


@pytest.mark.parametrize(
    ("name", "is_known"),
    [("x.jpg", True), ("x.JPEG", True), ("x.TIFF", True), ("x.Jpg", False), ("x.tif", False), ("d.v1/x", False)],
)
def test_extensions_that_darknet_finds_labels_for(folder: Path, name: str, is_known: bool) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(b"x")
    Path("train.txt").write_text(f"a.jpg\n{name}\n")
    assert codes(Path("train.txt")) == ([] if is_known else [("extension", 2)])


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_equal_paths_have_one_identity() -> None:
    assert identity("./a//b.jpg") == identity("a/b.jpg") == "a/b.jpg"
    assert identity("a/../b.jpg") == "b.jpg"
    assert identity("A.jpg") != identity("a.jpg")


@pytest.mark.slow
def test_a_hundred_thousand_lines_take_about_a_second(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"")
    lines = [f"{tmp_path}/{number}.jpg" for number in range(100_000)]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    (tmp_path / "valid.txt").write_text(f"{tmp_path}/x.jpg\n")
    started = time.process_time()
    found = quick_list_diagnostics(tmp_path / "train.txt", tmp_path / "valid.txt")
    assert len(found) == 100_000  # the worst case: a finding for each line
    assert time.process_time() - started < 5


def test_on_windows_another_letter_case_is_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_lists.os, "listdir", lambda _: ["A.jpg", "b.jpg"])
    listed = read_list(Path("train.txt"), key="train")
    (one,) = case_diagnostics(listed, platform="win32")
    assert (one.severity, one.code, one.line, one.expected) == (Severity.WARNING, "letter-case", 1, "A.jpg")
    assert list(case_diagnostics(listed, platform="linux")) == []
