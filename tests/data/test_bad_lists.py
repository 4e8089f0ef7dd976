from pathlib import Path

from darkpy.data.bad_lists import BadLists
from darkpy.data.labels import parse_labels
from darkpy.structures import Problem

IMAGE = Problem("image", "a b.jpg", "Cannot load image a b.jpg: not found.")
LABEL = Problem("label", "c.txt", "Can't open label file: c.txt")
NOTE = Problem("note", "d.jpg", "d.jpg: cut off")


def test_pictures_and_missing_labels_go_to_bad_list(tmp_path: Path) -> None:
    assert BadLists(tmp_path).add([IMAGE, NOTE, LABEL]) == (IMAGE, NOTE, LABEL)
    assert (tmp_path / "bad.list").read_text() == "a b.jpg\nc.txt\n"
    assert not (tmp_path / "bad_label.list").exists()


def test_bad_records_go_to_bad_label_list(tmp_path: Path) -> None:
    BadLists(tmp_path).add(parse_labels("\n7 .5 .5 .1 .1", path="c.txt", classes=2).problems)
    line = (tmp_path / "bad_label.list").read_text()
    assert line.startswith("c.txt Wrong annotation: class_id = 7. But class_id should be [from 0 to 1]")
    assert line.endswith("(line 2)\n")
    assert not (tmp_path / "bad.list").exists()


def test_a_problem_is_new_only_once_a_run(tmp_path: Path) -> None:
    lists = BadLists(tmp_path)
    assert lists.add([IMAGE, IMAGE]) == (IMAGE,)
    assert lists.add([IMAGE, LABEL]) == (LABEL,)
    assert BadLists(tmp_path).add([IMAGE]) == (IMAGE,)
    assert (tmp_path / "bad.list").read_text() == "a b.jpg\nc.txt\na b.jpg\n"


def test_a_list_that_cannot_be_written_is_noted_once(tmp_path: Path) -> None:
    lists = BadLists(tmp_path / "nowhere")
    fresh = lists.add([IMAGE])
    assert fresh[0] == IMAGE
    assert "bad.list: cannot be written: No such file or directory. The run goes on." in fresh[1].message
    assert lists.add([LABEL]) == (LABEL,)


def test_a_path_that_is_no_utf8_is_written_byte_for_byte(tmp_path: Path) -> None:
    BadLists(tmp_path).add([Problem("image", b"\xff.jpg".decode("utf-8", "surrogateescape"), "x")])
    assert (tmp_path / "bad.list").read_bytes() == b"\xff.jpg\n"
