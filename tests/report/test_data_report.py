"""The report of a data set (darkpy/report/data_report.py)."""

import json
from dataclasses import replace

from darkpy.report.data_report import (
    Advice,
    ClassCounts,
    DataSummary,
    ListCounts,
    PictureSizes,
    summary_lines,
)

SUMMARY = DataSummary(
    data="obj.data",
    cfg="net.cfg",
    lists=(ListCounts("train", "train.txt", 91, 580, 5, 1, 0), ListCounts("valid", "v.txt", 3, 7, 0, 0, 2)),
    classes=(
        ClassCounts("cat", (500, 7), (80, 3)),
        ClassCounts("a very long name of a traffic light", (80, 0), (9, 0)),
    ),
    sizes=PictureSizes(tuple((100 + number, 200, 9 - number) for number in range(7)), (100, 200), (106, 200), 42, 0, 0),
    extensions=((".JPG", 49), ("", 1)),
    box_sides=(("< 1 %", 1), (">= 1 %", 80), (">= 2 %", 0)),
    thin_boxes=12,
    tiny_boxes=4,
    advice=Advice(320, 192, 8, 0.046, (416, 416), ((10.4, 14.0), (81.6, 82.2)), 0.62, 0.41),
)


def test_the_report_reads_from_top_to_bottom() -> None:
    assert list(summary_lines(SUMMARY)) == [
        "list   pictures  boxes  without objects  without label file  unreadable  file",
        "train        91    580                5                   1           0  train.txt",
        "valid         3      7                0                   0           2  v.txt",
        "",
        "class  name                      train boxes  train pictures  valid boxes  valid pictures",
        "    0  cat                               500              80            7               3",
        "    1  a very long name of a t…           80               9            0               0",
        "",
        "Picture sizes   100x200: 9, 101x200: 8, 102x200: 7, 103x200: 6, 104x200: 5, 2 other sizes",
        "                smallest 100x200, largest 106x200; 42 upright, 0 wide, 0 square",
        "File names      .JPG: 49, no extension: 1",
        "",
        "Box sizes       side of a square of the box's area, as a part of the picture's",
        "         < 1 %        1 #",
        f"        >= 1 %       80 {'#' * 40}",
        "        >= 2 %        0",
        "                12 thinner than 1 % of the picture or 2 pixels; 4 cover less than a cell of the finest head",
        "",
        "Suggested size  width=320 height=192: the pictures' form, and 95.4% of the boxes cover a cell of stride 8",
        "Suggested anchors for 416x416, average IoU 62.0%:",
        "                anchors = 10,14, 82,82",
        "                the anchors of net.cfg have an average IoU of 41.0%",
        "",
    ]


def test_without_better_anchors_those_of_the_network_are_rated() -> None:
    advice = Advice(320, 192, 8, 0.046, (416, 416), (), None, 0.84)
    lines = list(summary_lines(replace(SUMMARY, advice=advice)))
    assert lines[-2] == "Anchors         the anchors of net.cfg have an average IoU of 84.0%"


def test_masks_stand_below_the_anchors_that_need_them() -> None:
    assert SUMMARY.advice is not None
    lines = list(summary_lines(replace(SUMMARY, advice=replace(SUMMARY.advice, masks=("3,4,5", "0,1,2")))))
    assert lines[-4:-2] == [
        "                anchors = 10,14, 82,82",
        "                mask=3,4,5 and mask=0,1,2, in the order of the heads",
    ]


def test_what_is_not_known_is_left_out() -> None:
    empty = replace(
        SUMMARY,
        classes=(),
        sizes=None,
        box_sides=(("< 1 %", 0),),
        tiny_boxes=None,
        advice=None,
        lists=SUMMARY.lists[:1],
    )
    assert len(list(summary_lines(empty))) == 3


def test_json_holds_all_of_it() -> None:
    values = json.loads(json.dumps(SUMMARY.as_json()))
    assert values["lists"][0]["boxes"] == 580
    assert values["advice"]["anchors"] == [[10.4, 14.0], [81.6, 82.2]]
    assert values["classes"][1]["name"] == "a very long name of a traffic light"
