from pathlib import Path

import pytest
from data_sets import annotation, thing

from darkpy.conversion.sample import Tally
from darkpy.conversion.voc import VocAnnotation, read_annotation
from darkpy.errors import DataError


def read(path: Path, *, first_pixel: int = 1, tally: Tally | None = None) -> VocAnnotation:
    return read_annotation(path, first_pixel=first_pixel, tally=tally or Tally())


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_boxes_count_pixels_from_1(tmp_path: Path) -> None:
    found = read(annotation(tmp_path / "a.xml", thing("cat", 1, 1, 40, 30), filename="p.jpg"))
    assert found.objects[0].edges == (0, 0, 40, 30)
    assert (found.filename, found.size) == ("p.jpg", (40, 30))


def test_first_pixel_0_takes_numbers_as_edges(tmp_path: Path) -> None:
    path = annotation(tmp_path / "a.xml", thing("cat", 0, 2, 40, 30))
    assert read(path, first_pixel=0).objects[0].edges == (0, 2, 40, 30)


def test_fractions_blanks_and_names_in_two_words(tmp_path: Path) -> None:
    path = annotation(tmp_path / "a.xml", thing(" traffic \n light ", " 1.5", "2.25 ", "1e1", 20), size=(0, 0))
    (found,) = read(path).objects
    assert found.name == "traffic light"
    assert found.edges == (0.5, 1.25, 10, 20)


@pytest.mark.parametrize(("text", "is_difficult"), [("1", True), ("0", False), ("", False), ("Unspecified", False)])
def test_difficult(text: str, is_difficult: bool, tmp_path: Path) -> None:
    path = annotation(tmp_path / "a.xml", thing("cat", 1, 1, 9, 9).replace("<difficult>0", f"<difficult>{text}"))
    assert read(path).objects[0].is_difficult == is_difficult


def test_parts_of_an_object_are_no_objects(tmp_path: Path) -> None:
    part = "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part>"
    path = annotation(tmp_path / "a.xml", thing("person", 1, 1, 9, 9).replace("</object>", f"{part}</object>"))
    assert [one.name for one in read(path).objects] == ["person"]


@pytest.mark.parametrize(
    ("element", "what"),
    [
        (thing("", 1, 1, 9, 9), "objects without a name or a bndbox, left out"),
        ("<object><name>cat</name></object>", "objects without a name or a bndbox, left out"),
        (thing("cat", "x", 1, 9, 9), "objects whose bndbox is not four numbers, left out"),
        (thing("cat", "nan", 1, 9, 9), "objects whose bndbox is not four numbers, left out"),
        (thing("cat", "", 1, 9, 9), "objects whose bndbox is not four numbers, left out"),
        (thing("cat", 5, 1, 5, 9), "boxes without size, left out"),
        (thing("cat", 1, 9, 5, 9), "boxes without size, left out"),
    ],
)
def test_what_is_no_object_is_counted(element: str, what: str, tmp_path: Path) -> None:
    tally = Tally()
    path = annotation(tmp_path / "a.xml", thing("dog", 1, 1, 2, 2), element)
    assert [one.name for one in read(path, tally=tally).objects] == ["dog"]
    assert tally.lines() == [f"{what}: 1 (first: {path}, object 2)"]


def test_swapped_corners_are_put_right(tmp_path: Path) -> None:
    tally = Tally()
    path = annotation(tmp_path / "a.xml", thing("cat", 20, 10, 5, 30))
    assert read(path, tally=tally).objects[0].edges == (4, 9, 20, 30)
    assert tally["boxes whose min and max were swapped, put right"] == 1


@pytest.mark.parametrize("size", ["", "<size/>", "<size><width>x</width></size>", "<size><width>-1</width></size>"])
def test_a_size_that_is_none(size: str, tmp_path: Path) -> None:
    assert read(written(tmp_path, f"<annotation>{size}</annotation>")).size == (0, 0)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    name = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{name}'?><annotation>{thing('Tür', 1, 1, 2, 2)}</annotation>"
    assert read(written(tmp_path, text.encode(encoding))).objects[0].name == "Tür"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused(encoding: str, tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;">]><annotation>&y;</annotation>'
    with pytest.raises(DataError, match=r"a\.xml: defines XML entities, which an annotation never needs"):
        read(written(tmp_path, bomb.encode(encoding)))


def test_a_doctype_without_entities_is_read(tmp_path: Path) -> None:
    assert read(written(tmp_path, "<!DOCTYPE annotation><annotation/>")).objects == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"a\.xml:1: no XML: no element found"),
        (b"<annotation>\n<object></annotation>", r"a\.xml:2: no XML: mismatched tag"),
        (b"\x00\x01\x02", r"a\.xml:1: no XML"),
        (b"<project/>", r"a\.xml: begins with <project>, but a VOC annotation with <annotation>"),
        (b"<?xml version='1.0' encoding='gbk'?><annotation/>", r"a\.xml: its encoding cannot be read"),
        (b"<?xml version='1.0' encoding='none'?><annotation/>", r"a\.xml"),
    ],
)
def test_what_is_no_annotation(text: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read(written(tmp_path, text))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.xml", Path("a\0b")):
        with pytest.raises(DataError, match="Couldn't open file"):
            read(path)
