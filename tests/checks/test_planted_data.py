"""One defect planted in a clean set is found at its line, and nothing else is. Names carry the ids of the cases."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from clean_data import (
    LABEL,
    add,
    checked,
    found,
    with_orientation,
    write_cfg,
    write_clean_set,
    write_data,
    write_picture,
)

Found = list[tuple[str, str, str, int | None]]
WARNING, ERROR, NOTE = "WARNING", "ERROR", "NOTE"


@pytest.fixture(autouse=True)
def clean_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clean_set()


@pytest.mark.parametrize("net", [None, "net.cfg"])
def test_a_clean_set_has_no_finding(net: str | None) -> None:
    assert found(net) == []


def _label(text: str, name: str = "obj/t2.txt") -> Callable[[], None]:
    return lambda: _append(name, text)


def _append(name: str, text: str) -> None:
    with Path(name).open("a") as file:
        file.write(text)


def _rewrite(name: str, change: Callable[[bytes], bytes]) -> Callable[[], None]:
    return lambda: _changed(Path(name), change)


def _changed(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def _jpeg(name: str, change: Callable[[bytes], bytes], *, width: int = 64, height: int = 64) -> None:
    add(name, width=width, height=height)
    _changed(Path(name), change)


def _c16() -> None:
    add("d/JPEGImages/1.png", None)
    Path("d/labels").mkdir()
    Path("d/labels/1.txt").write_text(LABEL)


def _c17() -> None:
    add("d/images/1.png", None)
    Path("d/labels").mkdir()
    Path("d/labels/1.txt").write_text(LABEL)


def _yolov5(*pictures: str) -> None:
    for name in pictures:
        add(name, None)
        label = Path(name.replace("images", "labels")).with_suffix(".txt")
        label.parent.mkdir(parents=True, exist_ok=True)
        label.write_text(LABEL)


def _c19() -> None:
    add("data.v1/img.png")
    Path("data.v1/img.png").rename("data.v1/img")
    _changed(Path("train.txt"), lambda raw: raw.replace(b"data.v1/img.png", b"data.v1/img"))


def _c12() -> None:
    Path("folder").mkdir()
    write_data(names="folder")


def _c14(count: int) -> Callable[[], None]:
    def plant() -> None:
        Path("valid.txt").write_text("")
        for number in range(count):
            add(f"obj/w{number}.png", to="valid.txt")

    return plant


def _c23() -> None:
    for name in ("v1", "v2"):
        Path(f"obj/{name}.txt").write_text("0 .5 .5 .3 .4\n")


def _d15() -> None:
    write_cfg()
    for path in Path("obj").glob("*.txt"):
        path.write_text("2 .5 .5 .3 .4\n2 .3 .4 .25 .35\n")


def _e08() -> None:
    write_cfg(channels=1)
    add("obj/grey.png", channels=1)


def _e12() -> None:
    write_cfg(width=128, height=64, anchors="32,22, 38,26")


CASES: dict[str, tuple[Callable[[], object], Found]] = {
    "C02 a path with a blank": (lambda: add("a b/x 1.png"), []),
    "C03 blanks after the name": (
        _rewrite("train.txt", lambda raw: raw.replace(b"t2.png", b"t2.png  ")),
        [(WARNING, "blanks", "train.txt", 2)],
    ),
    "C04 a blank last line": (_label("\n", "train.txt"), [(WARNING, "blank-line", "train.txt", 4)]),
    "C05 CRLF, no last line end": (
        _rewrite("train.txt", lambda raw: raw.rstrip().replace(b"\n", b"\r\n")),
        [(NOTE, "crlf", "train.txt", None)],
    ),
    "C07 a byte-order mark": (
        _rewrite("train.txt", lambda raw: b"\xef\xbb\xbf" + raw),
        [(WARNING, "byte-order-mark", "train.txt", None)],
    ),
    "C08 other classes in .data": (lambda: write_data(classes=1), [(WARNING, "classes", "obj.data", 1)]),
    "C09 more names than classes": (_label("dog\n", "obj.names"), [(ERROR, "names", "obj.data", 4)]),
    "C11 a name with a blank": (_rewrite("obj.names", lambda _: b"cat\nbus stop sign\n"), []),
    "C12 names is a folder": (_c12, [(ERROR, "missing-file", "obj.data", 4)]),
    "C13 no valid list": (lambda: Path("valid.txt").unlink(), [(ERROR, "missing-file", "obj.data", 3)]),
    "C14 one valid picture": (_c14(1), []),
    "C14 two valid pictures": (_c14(2), []),
    "C14 three valid pictures": (_c14(3), []),
    "C16 JPEGImages": (_c16, []),
    "C17 a label in labels/ only": (_c17, [(WARNING, "label-elsewhere", "train.txt", 4)]),
    "a label in labels/, relative paths": (
        lambda: _yolov5("images/train/1.png"),
        [(WARNING, "label-elsewhere", "train.txt", 4)],
    ),
    "C19 no extension, a dot in a folder": (_c19, [(WARNING, "extension", "train.txt", 4)]),
    "C20 no backup folder": (lambda: Path("backup").rmdir(), [(NOTE, "missing-folder", "obj.data", 5)]),
    "C22 another file name": (
        lambda: Path("obj.data").rename("obj.data.txt"),
        [(ERROR, "unreadable", "obj.data", None)],
    ),
    "C23 a class never occurs": (_c23, [(WARNING, "class-without-boxes", "obj.names", 2)]),
    "D01 an empty label file": (_rewrite("obj/t2.txt", lambda _: b""), []),
    "D02 no label file": (lambda: Path("obj/t2.txt").unlink(), [(WARNING, "label-missing", "train.txt", 2)]),
    "D04 a class number too high": (_label("2 .5 .5 .2 .2\n"), [(ERROR, "class-id", "obj/t2.txt", 3)]),
    "D05 the same in the valid list": (
        _label("2 .5 .5 .2 .2\n", "obj/v1.txt"),
        [(ERROR, "class-id", "obj/v1.txt", 3)],
    ),
    "D06 a negative class number": (_label("-1 .5 .5 .2 .2\n"), [(ERROR, "class-id", "obj/t2.txt", 3)]),
    "D08 outside the picture": (_label("0 1.2 .5 .1 .1\n"), [(WARNING, "box-outside", "obj/t2.txt", 3)]),
    "D09 no size": (_label("0 .5 .5 0 0\n"), [(WARNING, "box-without-size", "obj/t2.txt", 3)]),
    "D11 exponents": (_label("0 5.0e-01 6.0e-01 2e-1 2e-1\n"), []),
    "D13 in pixels": (_label("0 320 240 50 60\n"), [(ERROR, "not-normalised", "obj/t2.txt", 3)]),
    "D15 all class numbers too high": (_d15, [(ERROR, "all-class-ids", "obj/t1.txt", 1)]),
    "D16 labelled twice": (_label("0 .5 .5 .3 .4\n"), [(WARNING, "twice-labelled", "obj/t2.txt", 3)]),
    "E01 a missing picture": (lambda: Path("obj/t2.png").unlink(), [(ERROR, "picture-missing", "train.txt", 2)]),
    "E02 a missing valid picture": (lambda: Path("obj/v2.png").unlink(), [(ERROR, "picture-missing", "valid.txt", 2)]),
    "E04 a cut JPEG": (
        lambda: _jpeg("obj/t4.jpg", lambda raw: raw[: len(raw) * 6 // 10]),
        [(WARNING, "cut-off", "train.txt", 4)],
    ),
    "E05 RGBA": (lambda: add("obj/t4.png", channels=4), [(NOTE, "alpha", "train.txt", 4)]),
    "E08 E09 grey and colour for channels=1": (_e08, []),
    "E11 turned by EXIF": (
        lambda: _jpeg("obj/t4.jpg", lambda raw: with_orientation(raw, 6)),
        [(NOTE, "turned", "train.txt", 4)],
    ),
    "E12 square pictures, a wide network": (_e12, [(NOTE, "aspect", "net.cfg", None)]),
    "E16 a picture of 0 bytes": (
        _rewrite("obj/t2.png", lambda _: b""),
        [(ERROR, "picture-empty", "train.txt", 2)],
    ),
    # what the cases do not have
    "UTF-16": (
        _rewrite("train.txt", lambda raw: raw.decode().encode("utf-16")),
        [(WARNING, "utf-16", "train.txt", None)],
    ),
    "CR alone": (
        _rewrite("train.txt", lambda raw: raw.replace(b"\n", b"\r")),
        [(WARNING, "carriage-returns", "train.txt", None)],
    ),
    "names that are no UTF-8": (
        _rewrite("obj.names", lambda _: b"cat\nb\xe4r\n"),
        [(WARNING, "not-utf-8", "obj.names", None)],
    ),
    "a label with a byte-order mark": (
        _rewrite("obj/t2.txt", lambda raw: b"\xef\xbb\xbf" + raw),
        [(WARNING, "byte-order-mark", "obj/t2.txt", None)],
    ),
    "a label that is no text": (
        _rewrite("obj/t2.txt", lambda _: b"\x89PNG\r\n\x1a\n\0\0\0\r"),
        [(ERROR, "binary", "obj/t2.txt", None)],
    ),
    "a label with CRLF": (
        _rewrite("obj/t2.txt", lambda raw: raw.replace(b"\n", b"\r\n")),
        [(NOTE, "crlf", "obj/t2.txt", None)],
    ),
    "an empty list": (_rewrite("valid.txt", lambda _: b"\n \n"), [(ERROR, "empty-list", "valid.txt", None)]),
    "four columns": (_label("0 .5 .5 .2\n"), [(ERROR, "record", "obj/t2.txt", 3)]),
    "six columns": (_label("0 .5 .6 .2 .2 .9\n"), [(WARNING, "six-columns", "obj/t2.txt", 3)]),
    "a class number with a dot": (_label("1.0 .5 .6 .2 .2\n"), [(WARNING, "class-form", "obj/t2.txt", 3)]),
    "a name for a number": (_label("cat .5 .6 .2 .2 .9\n"), [(ERROR, "class-name", "obj/t2.txt", 3)]),
    "no number": (_label("0 .5 nan .2 .2\n"), [(ERROR, "not-finite", "obj/t2.txt", 3)]),
    "at the origin": (_label("0 0 0 .2 .2\n"), [(WARNING, "box-at-origin", "obj/t2.txt", 3)]),
    "two classes": (_label("1 .5 .5 .3 .4\n"), [(NOTE, "two-classes", "obj/t2.txt", 3)]),
    "over the edge": (_label("0 .9 .5 .3 .4\n"), [(NOTE, "overhang", "obj/t2.txt", 3)]),
    "thin": (_label("0 .5 .5 .005 .4\n"), [(NOTE, "thin-box", "obj/t2.txt", 3)]),
    "in both lists": (_label("obj/t2.png\n", "valid.txt"), [(WARNING, "train-in-valid", "valid.txt", 3)]),
    "one list for both": (lambda: write_data(valid="train.txt"), [(WARNING, "train-in-valid", "obj.data", 3)]),
    "listed twice": (_label("./obj//t2.png\n", "train.txt"), [(NOTE, "listed-twice", "train.txt", 4)]),
    "listed by its absolute path too": (
        lambda: _append("train.txt", f"{Path('obj/t2.png').absolute()}\n"),
        [(NOTE, "listed-twice", "train.txt", 4)],
    ),
    "in quotes": (_label('"obj/t2.png"\n', "train.txt"), [(ERROR, "quotes", "train.txt", 4)]),
    "a folder": (_label("obj\n", "train.txt"), [(ERROR, "folder", "train.txt", 4)]),
    "no picture": (
        _rewrite("obj/t2.png", lambda _: b"<html>not found</html>"),
        [(ERROR, "picture-unreadable", "train.txt", 2)],
    ),
    "a grey picture": (lambda: add("obj/t4.png", channels=1), [(NOTE, "grey", "train.txt", 4)]),
    "another extension": (lambda: add("obj/t4.webp"), [(WARNING, "extension", "train.txt", 4)]),
}


@pytest.mark.parametrize(("plant", "expected"), CASES.values(), ids=CASES)
def test_one_defect_is_found_at_its_line_and_nothing_else(plant: Callable[[], object], expected: Found) -> None:
    plant()
    assert found() == expected


@pytest.mark.skipif(sys.platform == "win32", reason="backslashes part folders there")
def test_paths_as_on_windows() -> None:
    _changed(Path("train.txt"), lambda raw: raw.replace(b"obj/t2.png", b"obj\\t2.png"))
    assert found() == [(ERROR, "backslashes", "train.txt", 2)]
    (one,) = checked().diagnostics
    assert one.expected == "obj/t2.png"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names without letter case")
def test_another_letter_case() -> None:
    _changed(Path("train.txt"), lambda raw: raw.replace(b"t2.png", b"T2.PNG"))
    assert found() == [(ERROR, "letter-case", "train.txt", 2)]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names without letter case")
@pytest.mark.parametrize("name", ["t2.TXT", "T2.txt"])
def test_a_label_in_another_letter_case(name: str) -> None:
    Path("obj/t2.txt").rename(f"obj/{name}")
    (one,) = checked().diagnostics
    assert (one.severity.name, one.code, one.where) == (WARNING, "label-elsewhere", "train.txt:2")
    assert f"'obj/t2.png' has no label file obj/t2.txt, but obj/{name} exists" in one.message


def test_e07_two_channels() -> None:
    write_cfg(channels=2)
    assert ("ERROR", "cfg", "net.cfg", 6) in found()
    assert [row for row in found() if row[1] != "cfg"] == []


def test_e05_a_deep_picture() -> None:
    add("obj/t4.png")
    cv2.imwrite("obj/t4.png", np.arange(64 * 64 * 3, dtype=np.uint16).reshape(64, 64, 3))
    assert found() == [(NOTE, "bits", "train.txt", 4)]


def test_a_png_named_as_a_jpeg() -> None:
    add("obj/t4.png")
    Path("obj/t4.png").rename("obj/t4.jpg")
    _changed(Path("train.txt"), lambda raw: raw.replace(b"t4.png", b"t4.jpg"))
    assert found() == [(NOTE, "wrong-name", "train.txt", 4)]


@pytest.mark.parametrize(
    ("listed", "label", "expected"),
    [
        ("train.txt", LABEL, (NOTE, "copy", "train.txt", 4)),
        ("valid.txt", LABEL, (WARNING, "copy-in-valid", "valid.txt", 3)),
        ("train.txt", "0 .5 .5 .3 .4\n", (WARNING, "copy-differs", "train.txt", 4)),
    ],
)
def test_a_picture_under_two_names(listed: str, label: str, expected: tuple[str, str, str, int]) -> None:
    add("obj/x4.png", label, to=listed)
    Path("obj/x4.png").write_bytes(Path("obj/t1.png").read_bytes())
    assert found() == [expected]


def test_two_pictures_with_one_label_file() -> None:
    add("obj/t2.jpg")
    assert found() == [(WARNING, "shared-label", "train.txt", 4)]


def test_a_set_of_grey_pictures_is_noted_once() -> None:
    for name in ("t1", "t2", "t3", "v1", "v2"):
        write_picture(Path(f"obj/{name}.png"), channels=1)
    assert found() == [(NOTE, "grey-set", "train.txt", None)]


def test_tiny_boxes_need_a_network() -> None:
    write_cfg(width=32, height=32, anchors="8,11, 10,13")
    _append("obj/t2.txt", "0 .5 .5 .05 .04\n")  # 1.6 x 1.3 pixels, and a cell is 2 x 2
    assert found() == [(NOTE, "tiny-box", "obj/t2.txt", 3)]
    assert found(None) == []


def test_anchors_of_another_set() -> None:
    write_cfg(anchors="3,3, 60,5")
    assert found() == [(WARNING, "anchors", "net.cfg", None)]
    (one,) = checked().diagnostics
    assert one.expected is not None
    assert re.fullmatch(r"anchors = \d+,\d+, \d+,\d+", one.expected)


def test_ids_that_count_from_one_are_noted_beside_the_records() -> None:
    for path in Path("obj").glob("*.txt"):
        path.write_text("1 .5 .5 .3 .4\n2 .3 .4 .25 .35\n")
    rows = found()
    assert ("WARNING", "ids-from-one", "obj/t1.txt", 2) in rows
    assert sum(code == "class-id" for _, code, _, _ in rows) == 5


def test_the_wrong_folder_is_one_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert found("../net.cfg", "../obj.data")[-2:] == [
        (ERROR, "wrong-folder", "../train.txt", None),
        (ERROR, "wrong-folder", "../valid.txt", None),
    ]


def test_a_picture_given_as_a_data_file() -> None:
    assert found(None, "obj/t1.png") == [(ERROR, "binary", "obj/t1.png", None)]


@pytest.mark.parametrize("classes", [9_999_999, 10**17])
def test_a_huge_number_of_classes_fills_no_table(classes: int) -> None:
    write_data(classes=classes)
    outcome = checked(None)
    assert outcome.names == ("cat", "traffic light")
    assert [one.code for one in outcome.diagnostics] == ["names"]


@pytest.mark.parametrize("entry", ["obj", "x" * 5000 + ".jpg", "net.cfg"])
def test_an_entry_that_is_no_picture_has_no_word_about_labels(entry: str) -> None:
    _append("train.txt", f"{entry}\n")
    codes = [code for _, code, _, line in found() if line == 4]
    assert "picture-unreadable" in codes or codes == ["folder"]
    assert not any(code.startswith("label") for code in codes)


def test_labels_that_are_all_elsewhere_are_one_line() -> None:
    Path("train.txt").write_text("")
    _yolov5("images/train/1.png", "images/train/2.png", "images/train/3.png")
    assert found()[:1] == [(WARNING, "label-elsewhere", "train.txt", 1)]
    (one,) = [one for one in checked().diagnostics if one.code.startswith("label")]
    assert one.message == (
        "3 pictures of the list have their label files elsewhere: 'images/train/1.png' has no label file "
        "images/train/1.txt, but labels/train/1.txt exists. darknet looks for the name of the picture with .txt, "
        "beside the picture: move them."
    )


def test_a_few_labels_elsewhere_are_a_line_each() -> None:
    _yolov5("images/train/1.png", "images/train/2.png")
    assert found() == [(WARNING, "label-elsewhere", "train.txt", line) for line in (4, 5)]


@pytest.mark.parametrize(("word", "mend"), [("traffic light", " Write 1 for 'traffic light'."), ("dog", "")])
def test_a_name_in_place_of_a_class_number(word: str, mend: str) -> None:
    _append("obj/t2.txt", f"{word} .5 .6 .2 .2\n")
    (one,) = checked().diagnostics
    assert one.message == f"'{word}' in place of a class number, which counts from 0. The line is left out.{mend}"


def test_boxes_as_corners_are_one_warning() -> None:
    for name in ("t1", "t2", "t3", "v1", "v2"):
        Path(f"obj/{name}.txt").write_text("0 .1 .1 .3 .4\n1 .6 .5 .9 .8\n")
    assert found(None) == [(WARNING, "corners", "obj/t1.txt", 1)]
    (one,) = checked(None).diagnostics
    assert "10 of the 10 boxes of the set reach over the picture's edge" in one.message
    _append("obj/v2.txt", "0 .8 .5 .1 .1\n")  # no corners
    assert {code for _, code, _, _ in found(None)} == {"overhang"}


def test_a_picture_listed_by_two_paths_has_its_findings_once() -> None:
    _append("obj/t2.txt", "7 .5 .5 .2 .2\n")
    _append("train.txt", f"{Path('obj/t2.png').absolute()}\n")
    assert found() == [(NOTE, "listed-twice", "train.txt", 4), (ERROR, "class-id", "obj/t2.txt", 3)]
    assert "is in train.txt:2 too, so it counts twice. Remove one." in checked().diagnostics[0].message


def test_what_is_in_a_list_is_no_part_of_the_file_names_unless_it_is_a_picture() -> None:
    _append("train.txt", '"obj/t2.png"\nobj\n')
    summary = checked().summary
    assert summary is not None
    assert summary.extensions == ((".png", 5),)


def test_a_list_given_as_a_data_file_is_one_line() -> None:
    (one,) = checked(None, "train.txt").diagnostics
    assert (one.severity.name, one.code, one.where) == (ERROR, "no-datafile", "train.txt")
    assert one.message.startswith("none of 3 lines is 'key = value', so this is a list of pictures (or names), not a ")
    _append("train.txt", "obj/a=b.png\n")
    assert [one.code for one in checked(None, "train.txt").diagnostics] == ["no-datafile"]


def test_a_cfg_given_as_a_data_file_is_one_line() -> None:
    (one,) = checked(None, "net.cfg").diagnostics
    assert one.message == "'[net]' is a section, so this is a cfg, not a .data file."


def test_files_that_are_taken_from_beside_the_data_file_are_noted() -> None:
    Path("set").mkdir()
    for name in ("train.txt", "obj.names", "obj.data"):
        Path(name).rename(f"set/{name}")
    assert found(None, "set/obj.data") == [
        (NOTE, "beside", "set/obj.data", 2),
        (NOTE, "beside", "set/obj.data", 4),
    ]
    assert (
        checked(None, "set/obj.data")
        .diagnostics[0]
        .message.startswith(
            "train is not in the current folder; taken from beside set/obj.data (darknet would not find it)."
        )
    )


def test_an_unreadable_label_is_an_error() -> None:
    Path("obj/t2.txt").unlink()
    Path("obj/t2.txt").mkdir()
    assert found() == [(ERROR, "label-unreadable", "train.txt", 2)]


def test_no_box_at_all() -> None:
    for path in Path("obj").glob("*.txt"):
        path.write_text("")
    assert found() == [(ERROR, "no-boxes", "train.txt", None), (WARNING, "no-boxes", "valid.txt", None)]


def test_a_difficult_list_of_another_length() -> None:
    write_data(difficult="train.txt")
    assert found() == [(ERROR, "difficult", "train.txt", None)]


def test_nothing_says_how_many_classes_there_are() -> None:
    write_data(names="none.names")
    _changed(Path("obj.data"), lambda raw: raw.replace(b"classes = 2\n", b""))
    outcome = checked(None)
    assert outcome.names == ("class 0", "class 1")
    assert [one.code for one in outcome.diagnostics] == ["missing-file"]
