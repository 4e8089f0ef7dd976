import json
from pathlib import Path

import numpy as np
import pytest

from darkpy.conversion.coco_write import (
    LabelRows,
    MarkedPicture,
    coco_document,
    document_text,
    image_ids,
    names_below,
    read_rows,
    shared_folder,
)
from darkpy.report.result_rows import coco_image_id


def rows(*lines: tuple[float, ...]) -> LabelRows:
    table = np.array(lines, dtype=np.float64).reshape(-1, 5)
    return LabelRows(table[:, 0].astype(np.int64), table[:, 1:], ())


def document(*pictures: MarkedPicture) -> dict[str, list[dict[str, object]]]:
    return coco_document(pictures, ["cat", "dog"], image_id=coco_image_id)


def test_a_box_in_pixels() -> None:
    made = document(MarkedPicture("d/7.jpg", 40, 30, rows((1, 0.5, 0.5, 0.25, 0.5))))
    assert made["annotations"] == [
        {
            "id": 1,
            "image_id": 7,
            "category_id": 2,
            "bbox": [15.0, 7.5, 10.0, 15.0],
            "area": 150.0,
            "iscrowd": 0,
            "segmentation": [],
        }
    ]
    assert made["images"] == [{"id": 7, "file_name": "7.jpg", "width": 40, "height": 30}]
    assert [(one["id"], one["name"]) for one in made["categories"]] == [(1, "cat"), (2, "dog")]


def test_difficult_objects_are_crowds() -> None:
    picture = MarkedPicture("7.jpg", 40, 30, rows((0, 0.5, 0.5, 0.5, 0.5)), rows((1, 0.25, 0.25, 0.1, 0.1)))
    other = MarkedPicture("8.jpg", 40, 30, rows((0, 0.5, 0.5, 0.5, 0.5)), rows())
    made = document(picture, other)["annotations"]
    assert [(one["id"], one["image_id"], one["iscrowd"]) for one in made] == [(1, 7, 0), (2, 7, 1), (3, 8, 0)]


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        (["000000000139.jpg", "x_7.jpg"], [139, 7]),
        (["a.jpg", "b.jpg"], [1, 2]),
        (["1.jpg", "d/1.jpg"], [1, 2]),
        (["1.jpg", "a.jpg"], [1, 2]),
        (["9" * 30 + ".jpg"], [1]),
        ([], []),
    ],
)
def test_ids_of_images(paths: list[str], ids: list[int]) -> None:
    assert image_ids(paths, coco_image_id) == ids


@pytest.mark.parametrize(
    ("paths", "folder", "names"),
    [
        (["d/obj/1.jpg", "d/obj/2.jpg"], "d/obj", ["1.jpg", "2.jpg"]),
        (["d/a/1.jpg", "d/ab/1.jpg"], "d", ["a/1.jpg", "ab/1.jpg"]),
        (["1.jpg", "d/2.jpg"], "", ["1.jpg", "d/2.jpg"]),
        (["/d/1.jpg", "/e/1.jpg"], "", ["/d/1.jpg", "/e/1.jpg"]),
        (["/d/1.jpg", "d/1.jpg"], "", ["/d/1.jpg", "d/1.jpg"]),
        ([r"C:\d\1.jpg"], "C:/d", ["1.jpg"]),
        ([], "", []),
    ],
)
def test_names_count_from_the_shared_folder(paths: list[str], folder: str, names: list[str]) -> None:
    assert (shared_folder(paths), names_below(paths)) == (folder, names)


def test_good_lines_are_read_in_double_precision(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf1 0.1234567891 .5 .2 .2\r\n\r\n7 .5 .5 .2 .2\r\n0 .5 .5 .1 .1 0.9\r\n")
    found = read_rows(str(path), classes=2)
    assert found.classes.tolist() == [1, 0]
    assert found.xywh_rel[0].tolist() == [0.1234567891, 0.5, 0.2, 0.2]
    assert [problem.kind for problem in found.problems] == ["note", "truth"]


def test_a_missing_label_file_is_a_problem(tmp_path: Path) -> None:
    found = read_rows(str(tmp_path / "a.txt"), classes=2)
    assert (found.classes.shape, found.xywh_rel.shape) == ((0,), (0, 4))
    assert [problem.kind for problem in found.problems] == ["label"]


def test_the_text_is_json_with_a_line_for_each_record() -> None:
    made = document(MarkedPicture("ä/1.jpg", 40, 30, rows((0, 0.5, 0.5, 0.5, 0.5))))
    text = document_text(made)
    assert json.loads(text) == made
    assert text.isascii()
    assert len(text.splitlines()) == 3 * 2 + 2 + 1 + 1 + 2
    assert json.loads(document_text({"images": []})) == {"images": []}
