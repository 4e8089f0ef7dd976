"""Detections as lines of result files (darkpy/report/result_rows.py)."""

import json

import pytest
import torch

from darkpy.report.result_rows import (
    COCO_CATEGORIES,
    base_name,
    bdd_rows,
    coco_image_id,
    coco_rows,
    imagenet_rows,
    kitti_rows,
    voc_rows,
)
from darkpy.structures import Detections, PictureResult


def found(path: str = "d/7.jpg", *, probabilities: list[list[float]] | None = None) -> PictureResult:
    """Return a box at 10 20 30 40 (corners), and one that is larger than the picture of 100x50."""
    boxes = torch.tensor([[20.0, 30.0, 20.0, 20.0], [50.0, 25.0, 200.0, 100.0]])
    table = torch.tensor(probabilities or [[0.5, 0.0], [0.25, 0.125]])
    return PictureResult(path, 4, (100, 50), Detections(boxes, torch.ones(2), table))


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/b.c/x.y.jpg", "x"), ("x.jpg", "x"), ("a\\b\\x y.jpg", "x y"), ("a/x", "x"), ("a\\b/x.png", "x")],
)
def test_names_are_cut_at_the_first_dot(path: str, name: str) -> None:
    assert base_name(path) == name


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("d/000000000139.jpg", 139),
        ("d/139.2.jpg", 139),
        ("d/COCO_val2014_000000000042.jpg", 42),
        ("d/2008_000123.jpg", 2008),
        ("d/dog.jpg", 0),
        ("d_9/dog.jpg", 0),
        ("img_12a.jpg", 12),
    ],
)
def test_f09_image_ids(path: str, number: int) -> None:
    """F09: darknet makes a name that does not begin with a digit number 0."""
    assert coco_image_id(path) == number


def test_coco_has_80_categories_up_to_90() -> None:
    assert len(COCO_CATEGORIES) == 80
    assert [COCO_CATEGORIES[index] for index in (0, 10, 11, 39, 79)] == [1, 11, 13, 44, 90]


def test_voc_counts_pixels_from_1() -> None:
    assert voc_rows(found()) == {
        0: "7 0.500000 11.000000 21.000000 31.000000 41.000000\n7 0.250000 1.000000 1.000000 100.000000 50.000000\n",
        1: "7 0.125000 1.000000 1.000000 100.000000 50.000000\n",
    }


def test_coco_has_width_and_height() -> None:
    assert coco_rows(found()) == (
        '{"image_id":7, "category_id":1, "bbox":[10.000000, 20.000000, 20.000000, 20.000000], "score":0.500000},\n'
        '{"image_id":7, "category_id":1, "bbox":[0.000000, 0.000000, 100.000000, 50.000000], "score":0.250000},\n'
        '{"image_id":7, "category_id":2, "bbox":[0.000000, 0.000000, 100.000000, 50.000000], "score":0.125000},\n'
    )


def test_imagenet_counts_pictures_and_classes_from_1_to_200() -> None:
    table = torch.zeros(2, 202)
    table[0, 0], table[0, 199], table[1, 200] = 0.5, 0.25, 0.75
    assert imagenet_rows(found(probabilities=table.tolist())) == (
        "5 1 0.500000 10.000000 20.000000 30.000000 40.000000\n5 200 0.250000 10.000000 20.000000 30.000000 40.000000\n"
    )


def test_bdd_has_names_and_is_json() -> None:
    text = bdd_rows(found('d/a"b.jpg', probabilities=[[0.5], [0.0]]))
    assert text == (
        '\t{\n\t\t"name":"a\\"b",\n\t\t"category":"bike",\n'
        '\t\t"bbox":[10.000000, 20.000000, 30.000000, 40.000000],\n\t\t"score":0.500000\n\t},\n'
    )
    assert json.loads(text.removesuffix(",\n"))["name"] == 'a"b'


def test_kitti() -> None:
    assert kitti_rows(found(probabilities=[[0.0, 0.5], [0.0, 0.0]])) == (
        "pedestrian -1 -1 -10 10.000000 20.000000 30.000000 40.000000 -1 -1 -1 -1000 -1000 -1000 -10 0.500000\n"
    )


def test_a_percent_sign_in_a_name_stays() -> None:
    assert voc_rows(found("100%d.jpg"))[1].startswith("100%d 0.125000 ")
    assert '"name":"100%d"' in bdd_rows(found("100%d.jpg"))


def test_nothing_found_is_no_line() -> None:
    nothing = found(probabilities=[[0.0, 0.0], [0.0, 0.0]])
    assert voc_rows(nothing) == {}
    assert [rows(nothing) for rows in (coco_rows, bdd_rows, imagenet_rows, kitti_rows)] == [""] * 4
