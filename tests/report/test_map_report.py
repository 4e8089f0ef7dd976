"""Lines of an evaluation (darkpy/report/map_report.py)."""

from dataclasses import replace

from darkpy.report.map_report import absent_classes_note, map_heading, map_lines
from darkpy.structures import ClassResult, MapResult

NAMES = ["person", "traffic light"]
RESULT = MapResult(
    classes=(ClassResult(0.8333333, 10, 4, 15), ClassResult(0.0, 1, 11, 1)),
    detections=201,
    truths=16,
    precision=11 / 26,
    recall=0.6875,
    f1=0.52381,
    average_iou=0.31241,
    mean_average_precision=0.4166667,
    threshold=0.25,
    iou_threshold=0.5,
    points=0,
)


def test_heading() -> None:
    assert map_heading([(121, 28), (130, 28)]) == (
        "\n calculation mAP (mean average precision)...\n"
        " Detection layer: 121 - type = 28 \n Detection layer: 130 - type = 28 \n"
    )


def test_lines_are_darknets() -> None:
    assert map_lines(RESULT, NAMES) == (
        "\n detections_count = 201, unique_truth_count = 16  \n"
        " rank = 0 of ranks = 201 \r rank = 100 of ranks = 201 \r rank = 200 of ranks = 201 \r"
        "class_id = 0, name = person, ap = 83.33%   \t (TP = 10, FP = 4) \n"
        "class_id = 1, name = traffic light, ap = 0.00%   \t (TP = 1, FP = 11) \n"
        "\n for conf_thresh = 0.25, precision = 0.42, recall = 0.69, F1-score = 0.52 \n"
        " for conf_thresh = 0.25, TP = 11, FP = 15, FN = 5, average IoU = 31.24 % \n"
        "\n IoU threshold = 50 %, used Area-Under-Curve for each unique Recall \n"
        " mean average precision (mAP@0.50) = 0.416667, or 41.67 % \n"
        "\nSet -points flag:\n"
        " `-points 101` for MS COCO \n"
        " `-points 11` for PascalVOC 2007 (uncomment `difficult` in voc.data) \n"
        " `-points 0` (AUC) for ImageNet, PascalVOC 2010-2012, your custom dataset\n"
    )


def test_recall_points_and_iou_threshold_are_named() -> None:
    text = map_lines(replace(RESULT, points=11, iou_threshold=0.75), NAMES)
    assert "\n IoU threshold = 75 %, used 11 Recall-points \n mean average precision (mAP@0.75) = " in text


def test_nothing_detected_prints_no_rank() -> None:
    assert " rank = " not in map_lines(replace(RESULT, detections=0), NAMES)


def test_c23_classes_without_objects_are_named() -> None:
    """C23."""
    result = replace(RESULT, classes=(RESULT.classes[0], ClassResult(0.0, 0, 3, 0)))
    assert absent_classes_note(result, NAMES) == (
        "1 of 2 classes have no objects in this list and count as 0 in mAP (traffic light); "
        "the mean over the other 1 is 83.33 %."
    )
    assert absent_classes_note(RESULT, NAMES) is None


def test_c23_long_lists_of_classes_are_cut() -> None:
    """C23."""
    many = replace(RESULT, classes=(RESULT.classes[0], *[ClassResult(0.0, 0, 0, 0)] * 11))
    note = absent_classes_note(many, [f"n{index}" for index in range(12)])
    assert note is not None
    assert "(n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, ...)" in note
