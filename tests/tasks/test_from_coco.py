"""`data from-coco` (darkpy/tasks/from_coco.py)."""

from pathlib import Path
from typing import Any

import pytest
from data_sets import coco, picture, rows, snapshot

from darkpy.cfg.datafile import read_datafile, read_names
from darkpy.data.index import label_path, read_image_list
from darkpy.errors import DataError
from darkpy.tasks._classes import difficult_list
from darkpy.tasks.from_coco import from_coco

BOX = [10.0, 7.5, 20.0, 15.0]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*files: str, **changes: Any) -> int:
    options: dict[str, Any] = {
        "images": None, "out": Path("out"), "names": None, "crowd": "skip", "link": False, "force": False,
    }  # fmt: skip
    return from_coco([Path(file) for file in files], **{**options, **changes})


def image(number: int, name: str, **changes: Any) -> dict[str, Any]:
    return {"id": number, "file_name": name, "width": 40, "height": 30, **changes}


def mark(image_id: int, category: int, bbox: list[float] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": 1, "image_id": image_id, "category_id": category, "bbox": bbox or BOX, "iscrowd": 0, **more}


TRAIN, VALID = "coco/annotations/instances_train2017.json", "coco/annotations/instances_val2017.json"


def small() -> Path:
    picture(Path("coco/train2017/1.jpg"), shade=1)
    picture(Path("coco/train2017/2.jpg"), shade=2)
    picture(Path("coco/val2017/1.jpg"), shade=3)
    coco(Path(TRAIN), [image(1, "1.jpg"), image(2, "2.jpg")], [mark(1, 90), mark(1, 1, [-1.5, 0, 11.5, 30])])
    coco(Path(VALID), [image(1, "1.jpg")], [mark(1, 18), mark(1, 18, [0, 0, 40, 30], iscrowd=1)])
    return Path("coco")


def test_a_set_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(small())
    assert run(TRAIN, VALID) == 0
    assert snapshot(Path("coco")) == before
    data = read_datafile(Path("out/obj.data"))
    assert data.integer("classes") == 3
    assert read_names(data.required("names", purpose="")) == ["cat", "dog", "hair drier"]
    assert data.text("train") == "out/train2017.txt"
    assert read_image_list(Path("out/train2017.txt")) == ["out/obj/1.jpg", "out/obj/2.jpg"]
    assert read_image_list(data.required("valid", purpose="")) == ["out/obj/1_2.jpg"]
    assert rows(Path("out/obj/1.txt")) == [[2, 0.5, 0.5, 0.5, 0.5], [0, 0.10625, 0.5, 0.2875, 1]]
    assert rows(Path("out/obj/1_2.txt")) == [[1, 0.5, 0.5, 0.5, 0.5]]
    assert Path("out/obj/2.txt").read_bytes() == b""
    assert Path("out/obj/1_2.jpg").read_bytes() == Path("coco/val2017/1.jpg").read_bytes()
    error = capsys.readouterr().err
    assert "crowds, left out (-crowd keep takes them): 1 (first: 1.jpg)" in error
    assert "overhang the picture, kept as they are: 1" in error
    assert "Classes from categories: 0 from id 1, 1 from id 18, 2 from id 90." in error


def test_crowds_can_be_kept() -> None:
    small()
    run(TRAIN, VALID, crowd="keep")
    assert len(rows(Path("out/obj/1_2.txt"))) == 2


def test_crowds_can_be_the_difficult_list() -> None:
    small()
    run(TRAIN, VALID, crowd="list")
    data = read_datafile(Path("out/obj.data"))
    other = difficult_list(data, read_image_list(Path("out/val2017.txt")), Path("out/val2017.txt"))
    assert other is not None
    assert [rows(Path(label_path(path))) for path in other] == [[[1, 0.5, 0.5, 1, 1]]]
    assert rows(Path("out/obj/1_2.txt")) == [[1, 0.5, 0.5, 0.5, 0.5]]


def test_names_give_the_order_and_leave_others_out(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    Path("my.names").write_text("hair drier\nzebra\n")
    run(TRAIN, names=Path("my.names"))
    assert rows(Path("out/obj/1.txt")) == [[0, 0.5, 0.5, 0.5, 0.5]]
    assert read_datafile(Path("out/obj.data")).integer("classes") == 2
    assert "objects of class 'cat', which -names does not have, left out: 1" in capsys.readouterr().err


def test_the_json_of_valid_alone(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    run(VALID)
    assert read_datafile(Path("out/obj.data")).text("train") is None
    assert "No train list" in capsys.readouterr().err


def test_a_list_of_crowds_needs_a_valid_list(capsys: pytest.CaptureFixture[str]) -> None:
    small()
    run(TRAIN, crowd="list")
    assert "-crowd list has no effect without a valid list" in capsys.readouterr().err


def test_two_files_of_one_name_are_two_lists() -> None:
    for part in ("a", "b"):
        picture(Path(part) / "train" / f"{part}.jpg")
        coco(Path(part) / "train" / "_annotations.coco.json", [image(1, f"{part}.jpg")], [mark(1, 1)])
    run("a/train/_annotations.coco.json", "b/train/_annotations.coco.json")
    assert read_image_list(Path("out/train.txt")) == ["out/obj/a.jpg"]
    assert read_image_list(Path("out/train_2.txt")) == ["out/obj/b.jpg"]


@pytest.mark.parametrize("again", [TRAIN, f"./coco/../{TRAIN}"])
def test_one_file_twice_is_refused(again: str) -> None:
    small()
    with pytest.raises(DataError, match=r"is named twice, but each file becomes a list of its own\. Name it once"):
        run(TRAIN, VALID, again)
    assert not Path("out").exists()


def test_lists_whose_names_differ_in_letter_case_only_are_two() -> None:
    picture(Path("c/1.jpg"))
    for folder, name in (("a", "Train"), ("b", "train")):
        coco(Path(f"{folder}/{name}.json"), [image(1, "1.jpg")], [mark(1, 1)])
    assert run("a/Train.json", "b/train.json", images=Path("c")) == 0
    assert sorted(path.name for path in Path("out").glob("*.txt")) == ["Train.txt", "train_2.txt"]


def test_a_list_that_is_called_as_that_of_the_crowds() -> None:
    picture(Path("c/1.jpg"), shade=1)
    picture(Path("c/2.jpg"), shade=2)
    coco(Path("c/difficult.json"), [image(1, "1.jpg")], [mark(1, 1)])
    coco(Path("c/valid.json"), [image(1, "2.jpg")], [mark(1, 1), mark(1, 1, iscrowd=1)])
    assert run("c/difficult.json", "c/valid.json", crowd="list") == 0
    data = read_datafile(Path("out/obj.data"))
    assert (data.text("train"), data.text("difficult")) == ("out/difficult_2.txt", "out/difficult.txt")
    assert read_image_list(Path("out/difficult_2.txt")) == ["out/obj/1.jpg"]


def test_a_file_name_that_a_data_file_cannot_hold() -> None:
    picture(Path("c/1.jpg"))
    coco(Path("c/a # b.json"), [image(1, "1.jpg")], [mark(1, 1)])
    assert run("c/a # b.json") == 0
    assert read_image_list(read_datafile(Path("out/obj.data")).required("train", purpose="")) == ["out/obj/1.jpg"]


@pytest.mark.parametrize("name", ["a\ud800", "a\0b", "a\x7fb"])
def test_a_name_that_a_names_file_cannot_hold_is_an_error(name: str) -> None:
    picture(Path("c/1.jpg"))
    coco(Path("c/a.json"), [image(1, "1.jpg")], [mark(1, 1)], [(1, name)])
    with pytest.raises(DataError, match="without odd characters") as caught:
        run("c/a.json")
    assert str(caught.value).isprintable()
    assert not Path("out").exists()


def test_missing_sizes_are_read_from_the_picture() -> None:
    picture(Path("d/1.jpg"))
    coco(Path("d/train.json"), [{"id": 1, "file_name": "1.jpg"}], [mark(1, 1)])
    run("d/train.json")
    assert rows(Path("out/obj/1.txt")) == [[0, 0.5, 0.5, 0.5, 0.5]]


def test_a_picture_that_was_scaled() -> None:
    picture(Path("d/1.jpg"), 20, 15)
    coco(Path("d/train.json"), [image(1, "1.jpg")], [mark(1, 1)])
    run("d/train.json")
    assert rows(Path("out/obj/1.txt")) == [[0, 0.5, 0.5, 0.5, 0.5]]


def test_fractions_of_a_pixel_come_back() -> None:
    """To a thousandth of a pixel and better."""
    picture(Path("d/1.png"), 1999, 1333)
    box = [123.456789, 7.000123, 1000.33333, 11.1]
    coco(Path("d/train.json"), [image(1, "1.png", width=1999, height=1333)], [mark(1, 1, box)])
    run("d/train.json")
    ((_, x, y, w, h),) = rows(Path("out/obj/1.txt"))
    back = [(x - w / 2) * 1999, (y - h / 2) * 1333, w * 1999, h * 1333]
    assert back == pytest.approx(box, abs=1e-6)


def test_pictures_that_are_not_there_or_share_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    picture(Path("d/1.jpg"))
    coco(Path("d/train.json"), [image(1, "a/1.jpg"), image(2, "b/1.jpg"), image(3, "none.jpg")], [mark(1, 1)])
    run("d/train.json")
    assert read_image_list(Path("out/train.txt")) == ["out/obj/1.jpg"]
    error = capsys.readouterr().err
    assert "pictures that have the file of another one, left out: 1 (first: b/1.jpg of d/train.json)" in error
    assert "pictures that are not there, left out: 1 (first: none.jpg of d/train.json)" in error


def test_no_picture_at_all_is_an_error() -> None:
    coco(Path("d/train.json"), [image(1, "1.jpg")], [])
    with pytest.raises(
        DataError, match=r"0 of 1 pictures, such as 1\.jpg, are in pics, .*Name their folder with -images"
    ):
        run("d/train.json", images=Path("pics"))
    coco(Path("d/train.json"), [], [])
    with pytest.raises(DataError, match="0 of 0 pictures are in"):
        run("d/train.json")


def test_no_categories_are_an_error() -> None:
    coco(Path("d/train.json"), [image(1, "1.jpg")], [], categories=())
    with pytest.raises(DataError, match=r"d/train\.json: 0 class names"):
        run("d/train.json")
