"""`data from-folders` (darkpy/tasks/from_folders.py)."""

import sys
from pathlib import Path
from typing import Any

import pytest
from data_sets import picture, snapshot

from darkpy.cfg.datafile import read_datafile, read_names
from darkpy.conversion.folders import matches
from darkpy.data.index import read_image_list
from darkpy.errors import DataError
from darkpy.tasks.from_folders import from_folders


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(folder: str = "in", **changes: Any) -> int:
    options: dict[str, Any] = {"out": Path("out"), "valid": None, "seed": None, "link": False, "force": False}
    return from_folders(Path(folder), **{**options, **changes})


def fill(*names: str) -> None:
    for shade, name in enumerate(names):
        picture(Path("in") / name, shade=shade)


def classes_found(listed: str, out: str = "out") -> list[list[str]]:
    """Return the classes that darknet finds in each path of a list."""
    labels, names = read_names(Path(out) / "labels.txt"), read_names(Path(out) / "classes.names")
    return [[names[number] for number in matches(path, labels)] for path in read_image_list(Path(out) / listed)]


def test_parts_become_lists(capsys: pytest.CaptureFixture[str]) -> None:
    fill("train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.png", "test/dog/3.jpg")
    before = snapshot(Path("in"))
    assert run() == 0
    assert snapshot(Path("in")) == before
    assert read_image_list(Path("out/train.list")) == ["out/train/cat/1.jpg", "out/train/dog/1.jpg"]
    assert read_image_list(Path("out/valid.list")) == ["out/valid/cat/2.png"]
    assert Path("out/train/dog/1.jpg").read_bytes() == Path("in/train/dog/1.jpg").read_bytes()
    assert Path("out/obj.data").read_text() == (
        "classes = 2\ntrain = out/train.list\nvalid = out/valid.list\ntest = out/test.list\nlabels = out/labels.txt\n"
        "names = out/classes.names\nbackup = out/backup/\ntop = 2\n"
    )
    assert read_datafile(Path("out/obj.data")).notes == ()
    captured = capsys.readouterr()
    assert "valid has no picture of dog." in captured.err
    assert "obj.data: 2 classes: 0 cat, 1 dog" in captured.out


def test_a_test_part_alone_is_valid() -> None:
    fill("train/cat/1.jpg", "test/cat/2.jpg")
    run()
    assert read_datafile(Path("out/obj.data")).text("valid") == "out/test.list"


@pytest.mark.parametrize("out", ["out", "cathy/dog/out", "train"])
def test_names_that_are_part_of_others_are_told_apart(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill("cat/dog_1.jpg", "cat/cat.jpg", "dog/1.jpg", "dog/2.jpg", "wildcat/1.jpg", "wildcat/2.jpg")
    run(out=Path(out), valid=0.5)
    found = classes_found("train.list", out) + classes_found("valid.list", out)
    assert sorted(found) == [["cat"], ["cat"], ["dog"], ["dog"], ["wildcat"], ["wildcat"]]
    assert ("The folder of class 'dog' is called dog_" in capsys.readouterr().err) == ("dog" in out)


def test_a_split_has_every_class_on_both_sides_and_copies_on_one() -> None:
    fill(*(f"a/{number}.jpg" for number in range(10)), *(f"b/{number}.jpg" for number in range(2)))
    Path("in/a/copy.jpg").write_bytes(Path("in/a/3.jpg").read_bytes())
    run(valid=0.2)
    train, valid = classes_found("train.list"), classes_found("valid.list")
    assert valid.count(["b"]) == train.count(["b"]) == 1
    sides = [
        {Path(path).name for path in read_image_list(Path(f"out/{part}.list")) if "/a/" in path}
        for part in ("train", "valid")
    ]
    assert [{"3.jpg", "copy.jpg"} <= side for side in sides].count(True) == 1


def test_a_train_part_alone_is_split() -> None:
    fill(*(f"train/a/{number}.jpg" for number in range(10)))
    run()
    assert len(read_image_list(Path("out/valid.list"))) == 2


def test_another_seed_chooses_others_and_the_same_the_same() -> None:
    fill(*(f"a/{number}.jpg" for number in range(40)))
    for name, seed in (("one", 1), ("two", 2), ("again", 1)):
        run(out=Path(name), seed=seed)
    chosen = {
        name: [Path(one).name for one in read_image_list(Path(name) / "valid.list")] for name in ("one", "two", "again")
    }
    assert chosen["one"] == chosen["again"] != chosen["two"]


def test_a_share_without_effect_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    fill("train/cat/1.jpg", "val/cat/2.jpg")
    run(valid=0.5)
    assert "-valid and -seed have no effect: in has parts of its own." in capsys.readouterr().err
    run(force=True)
    assert "no effect" not in capsys.readouterr().err


def test_unreadable_pictures_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    fill("train/cat/1.jpg", "val/cat/2.jpg")
    Path("in/train/cat/bad.jpg").write_bytes(b"no picture")
    run(link=True)
    assert Path("out/train/cat/1.jpg").samefile("in/train/cat/1.jpg")
    assert read_image_list(Path("out/train.list")) == ["out/train/cat/1.jpg"]
    err = capsys.readouterr().err
    assert "bad.jpg: not a picture that OpenCV reads. Replace it, or leave it out.\n" in err
    assert "pictures that cannot be read, left out: 1" in err


def test_no_readable_picture_is_an_error() -> None:
    fill("train/cat/1.jpg", "val/cat/2.jpg")
    Path("in/train/cat/1.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match="0 pictures for train can be read"):
        run()


def test_a_new_folder_in_the_old_one_is_refused() -> None:
    fill("train/cat/1.jpg", "val/cat/2.jpg")
    with pytest.raises(DataError, match="is in in, where a later run would take it for a class"):
        run(out=Path("in/new"))


def test_originals_are_never_replaced() -> None:
    fill("cat/1.jpg", "cat/2.jpg")
    run()
    before = snapshot(Path("out/train"))
    with pytest.raises(DataError, match="holds pictures that are to be converted"):
        run("out/train", out=Path("out"), force=True)
    assert snapshot(Path("out/train")) == before


def test_what_is_left_out_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    fill("cat/1.jpg", "cat/2.jpg", "dog/3.jpg", "dog/4.jpg", "5.jpg", "6.jpg")
    for name in ("in/cat/1.txt", "in/readme.md", "in/.hidden", "in/dog/.DS_Store"):
        Path(name).write_text("x")
    run()
    err = capsys.readouterr().err
    assert "pictures in no class's folder, left out: 2 (first: in/5.jpg)\n" in err
    assert "files that are no pictures, left out: 2 (first: in/readme.md)\n" in err


def test_pictures_beside_the_classes_of_a_part_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    fill("train/cat/1.jpg", "val/cat/2.jpg", "val/3.jpg")
    run()
    assert "pictures in no class's folder, left out: 1 (first: in/val/3.jpg)\n" in capsys.readouterr().err


def test_one_classs_folder_is_refused() -> None:
    fill("cat/1.jpg", "cat/2.jpg")
    with pytest.raises(
        DataError, match=r"in/cat: 2 pictures, but none in a class's folder\. If cat is a class, name the"
    ):
        run("in/cat")
    assert not Path("out").exists()


@pytest.mark.parametrize("part", ["", "train/"])
def test_a_picture_of_two_classes_is_said(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill(*(f"{part}{name}.jpg" for name in ("cat/1", "cat/2", "dog/3", "dog/4")), *(["val/cat/5.jpg"] if part else []))
    Path(f"in/{part}dog/3.jpg").write_bytes(Path(f"in/{part}cat/1.jpg").read_bytes())
    run()
    told = (
        f"pictures that are byte for byte one of another class, kept: 1 (first: in/{part}dog/3.jpg and in/{part}cat/1"
    )
    assert told in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="file names without letter case")
def test_the_true_reason_for_another_folder_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    fill("Cat/1.jpg", "Cat/2.jpg", "cat/3.jpg", "cat/4.jpg", "dog./5.jpg", "dog./6.jpg", "out/7.jpg", "out/8.jpg")
    run()
    err = capsys.readouterr().err
    assert "The folder of class 'cat' is called cat_: it differs from 'Cat' only in letter case" in err
    assert "The folder of class 'dog.' is called dog: Windows drops blanks and dots at the end of a name." in err
    assert "The folder of class 'out' is called out_: its own name is part of the path to it." in err
