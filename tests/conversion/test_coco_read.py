import json
from pathlib import Path
from typing import Any

import pytest
from data_sets import coco

from darkpy.conversion.coco_read import CocoFile, list_name, merged_categories, read_coco, roles_of
from darkpy.conversion.sample import Tally
from darkpy.errors import DataError

IMAGE = {"id": 5, "file_name": "a.jpg", "width": 40, "height": 30}


def mark(**changes: Any) -> dict[str, Any]:
    return {"id": 1, "image_id": 5, "category_id": 18, "bbox": [1.5, 2, 10, 20.25], "iscrowd": 0, **changes}


def read(folder: Path, *annotations: dict[str, Any], images: list[Any] | None = None) -> tuple[CocoFile, Tally]:
    tally = Tally()
    path = coco(folder / "a.json", [IMAGE] if images is None else images, annotations)
    return read_coco(path, tally), tally


def test_a_box_is_left_top_width_height(tmp_path: Path) -> None:
    file, tally = read(tmp_path, mark())
    assert file.images[0].objects == [(18, (1.5, 2, 11.5, 22.25), False)]
    assert file.images[0].size == (40, 30)
    assert file.categories == {1: "cat", 18: "dog", 90: "hair drier"}
    assert tally.lines() == []


@pytest.mark.parametrize("polygons", [[[5, 1, 9, 1, 9, 7.5]], [[5, 1, 6, 1, 6, 2], [8, 7.5, 9, 7.5, 9, 7]]])
@pytest.mark.parametrize("bbox", [None, [], [1, 2, 3], ["1", 2, 3, 4]])
def test_without_a_box_the_polygons_count(polygons: Any, bbox: Any, tmp_path: Path) -> None:
    file, _ = read(tmp_path, mark(bbox=bbox, segmentation=polygons))
    assert file.images[0].objects == [(18, (5, 1, 9, 7.5), False)]


def test_a_box_comes_before_a_mask(tmp_path: Path) -> None:
    file, _ = read(tmp_path, mark(segmentation={"counts": [1, 2], "size": [30, 40]}, iscrowd=1))
    assert file.images[0].objects == [(18, (1.5, 2, 11.5, 22.25), True)]


@pytest.mark.parametrize("segmentation", [None, [], [[]], [["x"]], {"counts": "abc", "size": [30, 40]}, [[1, 2, 3, 4]]])
def test_neither_box_nor_polygon_is_counted(segmentation: Any, tmp_path: Path) -> None:
    file, tally = read(tmp_path, mark(bbox=None, segmentation=segmentation), mark(bbox=[1, 2, 1e400, 3]))
    assert file.images[0].objects == []
    assert tally["annotations without a box or polygon, left out"] == 2


def test_unknown_ids_are_counted(tmp_path: Path) -> None:
    file, tally = read(tmp_path, mark(image_id=6), mark(image_id="5"), mark(category_id=2))
    assert file.images[0].objects == []
    assert tally["annotations of an image id that no picture has, left out"] == 2
    assert tally["annotations of a category id that is not declared, left out"] == 1


def test_a_picture_that_stands_twice_is_one(tmp_path: Path) -> None:
    file, tally = read(tmp_path, mark(), mark(image_id=6), images=[IMAGE, {**IMAGE, "id": 6}, IMAGE])
    assert len(file.images) == 1
    assert len(file.images[0].objects) == 2
    assert tally["pictures that stand twice, taken once"] == 2


def test_one_id_for_two_pictures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"image id 5 is both a\.jpg and b\.jpg\. Give each picture an id"):
        read(tmp_path, images=[IMAGE, {**IMAGE, "file_name": "b.jpg"}])


@pytest.mark.parametrize("size", [{}, {"width": 40}, {"width": 40, "height": 0}, {"width": "40", "height": 30}])
def test_a_missing_size_is_none(size: dict[str, Any], tmp_path: Path) -> None:
    file, _ = read(tmp_path, images=[{"id": 5, "file_name": "a.jpg", **size}])
    assert file.images[0].size == (0, 0)


def test_a_picture_without_annotations_stays(tmp_path: Path) -> None:
    assert [image.objects for image in read(tmp_path)[0].images] == [[]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a\.json: no JSON"),
        ("{", r"a\.json: no JSON"),
        ("[" * 100_000, r"a\.json: no JSON"),
        ('[{"image_id": 1}]', r"a\.json: a list, as of results"),
        ("3", "no list 'images', but COCO annotations have images, annotations, categories"),
        ('{"images": []}', "no list 'annotations'"),
        ('{"images": [], "annotations": {}, "categories": []}', "no list 'annotations'"),
        ('{"images": [1], "annotations": [], "categories": []}', r"images\[0\] has no 'id'"),
        ('{"images": [{"id": 1}], "annotations": [], "categories": []}', r"images\[0\] has no 'file_name'"),
        ('{"images": [], "annotations": [{"image_id": [1]}], "categories": []}', r"annotations\[0\] has no 'image_id'"),
        ('{"images": [], "annotations": [], "categories": [{"id": "1", "name": "a"}]}', "an id is a whole number"),
        ('{"images": [], "annotations": [], "categories": [{"id": 1, "name": " "}]}', "a name not empty"),
        (
            '{"images": [], "annotations": [], "categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]}',
            "category id 1 is both 'a' and 'b'",
        ),
    ],
)
def test_what_are_no_annotations(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_coco(path, Tally())


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json", Path("a\0b")):
        with pytest.raises(DataError, match=r"Couldn't open file|no JSON"):
            read_coco(path, Tally())


def test_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"images": [], "annotations": [], "categories": []}).encode())
    assert read_coco(path, Tally()).images == []


def file_of(categories: dict[int, str], name: str = "a.json") -> CocoFile:
    return CocoFile(Path(name), categories, [])


def test_categories_of_all_files_by_their_ids() -> None:
    merged = merged_categories([file_of({90: "c", 3: "a"}), file_of({3: "a", 44: "b"})])
    assert list(merged.items()) == [(3, "a"), (44, "b"), (90, "c")]


def test_two_names_for_one_id_are_an_error() -> None:
    with pytest.raises(DataError, match=r"b\.json: category id 3 is 'b', but 'a' in a\.json"):
        merged_categories([file_of({3: "a"}), file_of({3: "b"}, "b.json")])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("annotations/instances_train2017.json", "train2017"),
        ("valid/_annotations.coco.json", "valid"),
        ("d/annotations.json", "d"),
        ("d/annotations_val.json", "val"),
        ("d/mine.json", "mine"),
        ("d/train.coco.json", "train"),
    ],
)
def test_names_of_lists(path: str, name: str) -> None:
    assert list_name(Path(path)) == name


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (["train2017", "val2017"], {"train": "train2017", "valid": "val2017"}),
        (["test", "valid", "train"], {"train": "train", "valid": "valid"}),
        (["train", "test"], {"train": "train", "valid": "test"}),
        (["mine"], {"train": "mine"}),
        (["val2017"], {"valid": "val2017"}),
        (["a", "val"], {"train": "a", "valid": "val"}),
    ],
)
def test_which_list_is_which(names: list[str], roles: dict[str, str]) -> None:
    assert roles_of(names) == roles
