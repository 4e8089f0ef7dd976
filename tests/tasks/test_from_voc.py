"""`data from-voc` (darkpy/tasks/from_voc.py)."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from data_sets import annotation, picture, rows, snapshot, thing, voc

from darkpy.cfg.datafile import read_datafile, read_names
from darkpy.data.index import label_path, read_image_list
from darkpy.data.labels import read_labels
from darkpy.errors import DataError
from darkpy.tasks._classes import difficult_list
from darkpy.tasks.from_voc import from_voc


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*folders: str, **changes: Any) -> int:
    options: dict[str, Any] = {
        "out": Path("out"), "names": None, "difficult": "skip", "first_pixel": 1, "link": False, "force": False,
    }  # fmt: skip
    return from_voc([Path(folder) for folder in folders], **{**options, **changes})


def small(root: str = "VOC") -> Path:
    return voc(
        Path(root),
        {
            "a": [thing("dog", 1, 1, 20, 15), thing("traffic light", 21, 16, 40, 30)],
            "b": [thing("dog", 1, 1, 20, 15), thing("cat", 1, 1, 20, 15, difficult=1)],
            "c": [],
            "d": [thing("cat", 1, 1, 40, 30)],
        },
        {"train": ["a", "c"], "val": ["b", "d"]},
    )


def test_a_set_is_written_and_reads_without_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(small())
    assert run("VOC") == 0
    assert snapshot(Path("VOC")) == before
    data = read_datafile(Path("out/obj.data"))
    assert data.notes == ()
    assert data.integer("classes") == 3
    assert read_names(data.required("names", purpose="")) == ["cat", "dog", "traffic light"]
    train = read_image_list(data.required("train", purpose=""))
    assert train == ["out/obj/a.jpg", "out/obj/c.jpg"]
    assert read_image_list(data.required("valid", purpose="")) == ["out/obj/b.jpg", "out/obj/d.jpg"]
    assert rows(Path("out/obj/a.txt")) == [[1, 0.25, 0.25, 0.5, 0.5], [2, 0.75, 0.75, 0.5, 0.5]]
    assert all(read_labels(label_path(path), classes=3).problems == () for path in train)
    assert Path("out/obj/c.txt").read_bytes() == b""
    assert Path("out/backup").is_dir()
    assert Path("out/obj/a.jpg").read_bytes() == Path("VOC/JPEGImages/a.jpg").read_bytes()
    captured = capsys.readouterr()
    assert "train.txt: 2 pictures, 2 boxes, 1 pictures without objects" in captured.out
    assert "obj.data: 3 classes: 0 cat, 1 dog, 2 traffic light" in captured.out
    assert "difficult objects, left out (-difficult keep takes them): 1 (first: VOC/Annotations/b.xml)" in captured.err


def test_names_give_the_order_and_leave_others_out(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    Path("my.names").write_text("dog\ncat\n")
    run("VOC", names=Path("my.names"))
    assert rows(Path("out/obj/a.txt")) == [[0, 0.25, 0.25, 0.5, 0.5]]
    assert rows(Path("out/obj/d.txt")) == [[1, 0.5, 0.5, 1, 1]]
    assert "class 'traffic light', which -names does not have, left out: 1" in capsys.readouterr().err


def test_difficult_objects_can_be_kept() -> None:
    small()
    run("VOC", difficult="keep")
    assert [row[0] for row in rows(Path("out/obj/b.txt"))] == [1, 0]


def test_difficult_objects_can_be_the_list_that_map_reads(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    annotation(Path("VOC/Annotations/a.xml"), thing("dog", 1, 1, 20, 15, difficult=1))
    run("VOC", difficult="list")
    data = read_datafile(Path("out/obj.data"))
    valid = read_image_list(data.required("valid", purpose=""))
    other = difficult_list(data, valid, Path("out/valid.txt"))
    assert other is not None
    assert [rows(Path(label_path(path))) for path in other] == [[[0, 0.25, 0.25, 0.5, 0.5]], []]
    assert [row[0] for row in rows(Path("out/obj/b.txt"))] == [1]
    assert rows(Path("out/obj/a.txt")) == []
    captured = capsys.readouterr()
    assert "difficult.txt: 1 boxes" in captured.out
    assert "difficult objects, left out (-difficult keep takes them): 1 (first: VOC/Annotations/a.xml)" in captured.err


def test_an_object_with_a_size_of_0x0_and_a_box_at_the_edge(capsys: pytest.CaptureFixture[str]) -> None:
    picture(Path("d/a.png"))
    annotation(Path("d/a.xml"), thing("cat", 0, 0, 20, 15), thing("cat", "20.5", 1, 60, 30), size=(0, 0))
    run("d")
    assert rows(Path("out/obj/a.txt")) == [[0, 0.25, 0.25, 0.5, 0.5], [0, 0.74375, 0.5, 0.5125, 1]]
    error = capsys.readouterr().err
    assert "boxes that overhang the picture, cut at its edge: 2" in error
    assert "No valid list" in error


def test_a_difficult_list_without_a_valid_list_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    picture(Path("d/a.png"))
    annotation(Path("d/a.xml"), thing("cat", 1, 1, 20, 15, difficult=1))
    run("d", difficult="list")
    assert read_datafile(Path("out/obj.data")).text("difficult") is None
    assert "-difficult list has no effect without a valid list" in capsys.readouterr().err


def test_a_list_without_readable_pictures_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    for name in "bd":
        Path(f"VOC/JPEGImages/{name}.jpg").write_bytes(b"no picture")
    run("VOC")
    assert not Path("out/valid.txt").exists()
    assert read_datafile(Path("out/obj.data")).text("valid") is None
    assert "valid.txt is not written: 0 pictures are left for it." in capsys.readouterr().err


def test_pictures_of_other_forms_and_pictures_without_xml(capsys: pytest.CaptureFixture[str]) -> None:
    picture(Path("d/a.webp"))
    picture(Path("d/unmarked.jpg"))
    annotation(Path("d/a.xml"), thing("cat", 1, 1, 20, 15))
    annotation(Path("d/b.xml"), thing("cat", 1, 1, 20, 15))
    run("d", first_pixel=0)
    assert sorted(path.name for path in Path("out/obj").iterdir()) == ["a.txt", "a.webp"]
    assert rows(Path("out/obj/a.txt")) == [[0, 0.2625, 0.2666666667, 0.475, 0.4666666667]]
    error = capsys.readouterr().err
    assert "annotations whose picture is not there, left out: 1 (first: d/b.xml)" in error
    assert "Pictures of .webp: darkpy reads their labels, but C darknet knows" in error


def test_equal_names_of_two_folders_do_not_collide() -> None:
    for root, shade in (("one", 10), ("two", 200)):
        picture(Path(root) / "a.jpg", shade=shade)
        annotation(Path(root) / "a.xml", thing(root, 1, 1, 20, 15))
    run("one", "two")
    assert read_image_list(Path("out/train.txt")) == ["out/obj/a.jpg", "out/obj/a_2.jpg"]
    assert Path("out/obj/a_2.jpg").read_bytes() == Path("two/a.jpg").read_bytes()
    assert rows(Path("out/obj/a_2.txt"))[0][0] == 1


def test_annotations_in_no_set_are_not_read() -> None:
    small()
    Path("VOC/Annotations/more.xml").write_text("no XML")
    assert run("VOC") == 0


def test_an_unreadable_picture_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    Path("VOC/JPEGImages/a.jpg").write_bytes(b"no picture")
    run("VOC")
    assert read_image_list(Path("out/train.txt")) == ["out/obj/c.jpg"]
    error = capsys.readouterr().err
    assert "Cannot load image VOC/JPEGImages/a.jpg" in error
    assert "pictures that cannot be read, left out: 1" in error


def test_a_picture_that_exif_turns(capsys: pytest.CaptureFixture[str]) -> None:
    """The XML has the stored size, so its box turns with the picture: a quarter clockwise."""
    raw = cv2.imencode(".jpg", np.zeros((30, 40, 3), np.uint8))[1].tobytes()
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    Path("d").mkdir()
    Path("d/a.jpg").write_bytes(raw[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + raw[2:])
    annotation(Path("d/a.xml"), thing("cat", 1, 1, 10, 30))
    run("d")
    assert rows(Path("out/obj/a.txt")) == [[0, 0.5, 0.125, 1, 0.25]]
    assert "turned by EXIF after they were marked, boxes turned too: 1" in capsys.readouterr().err


@pytest.mark.parametrize("link", [False, True])
def test_force_over_a_linked_set_leaves_the_originals(link: bool) -> None:
    before = snapshot(small())
    run("VOC", link=True)
    assert Path("out/obj/a.jpg").samefile("VOC/JPEGImages/a.jpg")
    run("VOC", link=link, force=True)
    assert Path("out/obj/a.jpg").samefile("VOC/JPEGImages/a.jpg") == link
    assert snapshot(Path("VOC")) == before


def test_a_full_folder_is_left_as_it_is() -> None:
    small()
    Path("out").mkdir()
    Path("out/obj.data").write_text("mine")
    with pytest.raises(DataError, match="-o out: the folder is not empty"):
        run("VOC")
    assert [path.name for path in Path("out").iterdir()] == ["obj.data"]


def test_no_picture_is_an_error() -> None:
    annotation(Path("d/a.xml"), thing("cat", 1, 1, 2, 2))
    with pytest.raises(DataError, match="d: 0 of 1 annotations have a picture"):
        run("d")
    Path("d/a.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match="0 pictures are left for it"):
        run("d")


def test_no_objects_are_an_error() -> None:
    picture(Path("d/a.jpg"))
    annotation(Path("d/a.xml"))
    with pytest.raises(DataError, match="0 class names"):
        run("d")


def test_classes_that_differ_in_letter_case_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    voc(Path("VOC"), {"a": [thing("RBC", 1, 1, 20, 15), thing("rbc", 1, 1, 9, 15)]}, {"train": ["a"]})
    run("VOC")
    told = "Classes 'RBC' and 'rbc' differ only in letter case: if they are one, write it the same everywhere."
    assert told in capsys.readouterr().err
