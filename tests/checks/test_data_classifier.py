"""Sets of a classifier (darkpy/checks/data_classifier.py): the class of a picture is in its path."""

from pathlib import Path

import pytest
from clean_data import LABEL, add, checked, found

from darkpy.tasks.from_folders import from_folders


@pytest.fixture(autouse=True)
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write two pictures of each of two classes for train, and one of each for valid."""
    monkeypatch.chdir(tmp_path)
    for place, listed in (("train/1_red.png", "train.list"), ("train/2_red.png", "train.list")):
        add(place, None, to=listed)
        add(place.replace("red", "white"), None, to=listed)
    for name in ("red", "white"):
        add(f"valid/9_{name}.png", None, to="valid.list")
    Path("labels.txt").write_text("red\nwhite\n")
    Path("backup").mkdir()
    Path("cells.names").write_text("red cell\nwhite cell\n")
    Path("cells.data").write_text(
        "classes=2\ntrain=train.list\nvalid=valid.list\nlabels=labels.txt\nnames=cells.names\nbackup=backup\n"
    )


def test_no_label_file_is_missed() -> None:
    assert found(None, "cells.data") == []
    summary = checked(None, "cells.data").summary
    assert summary is not None
    assert [(one.name, one.pictures) for one in summary.classes] == [("red cell", (2, 1)), ("white cell", (2, 1))]


def test_without_names_the_labels_name_the_classes() -> None:
    text = Path("cells.data").read_text()
    Path("cells.data").write_text(text.replace("names=cells.names\n", ""))
    outcome = checked(None, "cells.data")
    assert (outcome.names, outcome.diagnostics) == (("red", "white"), ())
    Path("cells.data").write_text(text.replace("cells.names", "none.names"))
    assert [code for _, code, _, _ in found(None, "cells.data")] == ["missing-file"]


def test_a_path_has_one_label() -> None:
    add("train/1_blue.png", None, to="train.list")
    add("train/red_white.png", None, to="valid.list")
    rows = [(one.severity.name, one.where, one.message) for one in checked(None, "cells.data").diagnostics]
    assert [row[:2] for row in rows] == [("ERROR", "train.list:5"), ("ERROR", "valid.list:3")]
    assert "'train/1_blue.png' holds 0 labels of labels.txt" in rows[0][2]
    assert "holds 2 labels ('red', 'white') of labels.txt" in rows[1][2]


def test_a_class_without_a_picture() -> None:
    Path("labels.txt").write_text("red\nwhite\nblue\n")
    rows = [row for row in found(None, "cells.data") if row[1] == "class-without-pictures"]
    assert rows == [("WARNING", "class-without-pictures", "labels.txt", 3)] * 2


def test_a_missing_file_of_labels_is_an_error() -> None:
    Path("labels.txt").unlink()
    (one,) = [one for one in checked(None, "cells.data").diagnostics if one.code == "missing-file"]
    assert one.where == "cells.data:4"
    assert "labels.txt: not found" in one.message


def test_with_one_label_file_it_is_a_set_of_a_detector() -> None:
    Path("train/1_red.txt").write_text(LABEL)
    assert "label-missing" in [code for _, code, _, _ in found(None, "cells.data")]


def test_odd_pictures_are_found_here_too() -> None:
    Path("valid/9_red.png").unlink()
    Path("valid/9_white.png").write_bytes(b"")
    assert [row[1:] for row in found(None, "cells.data")] == [
        ("picture-missing", "valid.list", 1),
        ("picture-empty", "valid.list", 2),
    ]


def test_what_from_folders_writes_is_clean() -> None:
    for name in ("cat/a.png", "cat/b.png", "dog/c.png", "dog/d.png"):
        add(f"in/{name}", None, to="unused.txt")
    from_folders(Path("in"), out=Path("out"), valid=0.5, seed=0, link=False, force=False)
    assert found(None, "out/obj.data") == []
