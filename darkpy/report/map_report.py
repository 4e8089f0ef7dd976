"""The lines that an evaluation prints.  Source: darknet src/detector.c, validate_detector_map."""

from collections.abc import Iterator, Sequence

import numpy as np

from darkpy.structures import MapResult

_RANKS_A_STEP = 100
_HINTS = (
    "\nSet -points flag:\n"
    " `-points 101` for MS COCO \n"
    " `-points 11` for PascalVOC 2007 (uncomment `difficult` in voc.data) \n"
    " `-points 0` (AUC) for ImageNet, PascalVOC 2010-2012, your custom dataset\n"
)


def map_heading(detection_layers: Sequence[tuple[int, int]]) -> str:
    """Return the lines before an evaluation.

    Args:
        detection_layers: (layer index, darknet's type number) of each detection layer.
    """
    layers = "".join(f" Detection layer: {index} - type = {kind} \n" for index, kind in detection_layers)
    return f"\n calculation mAP (mean average precision)...\n{layers}"


def map_lines(result: MapResult, names: Sequence[str]) -> str:
    """Return the lines after an evaluation, as darknet prints them.

    Progress through the ranks ends in a carriage return, so the first class line does not begin a line.

    Args:
        result: What was found.
        names: One name for each class.
    """
    return "".join([*_ranks(result), *_classes(result, names), *_totals(result), _HINTS])


def absent_classes_note(result: MapResult, names: Sequence[str]) -> str | None:
    """Return a line on the classes without truths, which count as 0 in darknet's mAP; None if there are none."""
    absent = [name for one, name in zip(result.classes, names, strict=True) if not one.truths]
    present = [one.average_precision for one in result.classes if one.truths]
    if not absent or not present:
        return None
    shown = ", ".join(absent[:10]) + (", ..." if len(absent) > 10 else "")
    mean = sum(present) / len(present)
    return (
        f"{len(absent)} of {len(names)} classes have no objects in this list and count as 0 in mAP ({shown}); "
        f"the mean over the other {len(present)} is {mean * 100:.2f} %."
    )


def _ranks(result: MapResult) -> Iterator[str]:
    yield f"\n detections_count = {result.detections}, unique_truth_count = {result.truths}  \n"
    for rank in range(0, result.detections, _RANKS_A_STEP):
        yield f" rank = {rank} of ranks = {result.detections} \r"


def _classes(result: MapResult, names: Sequence[str]) -> Iterator[str]:
    for index, (one, name) in enumerate(zip(result.classes, names, strict=True)):
        yield (
            f"class_id = {index}, name = {name}, ap = {one.average_precision * 100:2.2f}%   \t "
            f"(TP = {one.true_positives}, FP = {one.false_positives}) \n"
        )


def _totals(result: MapResult) -> Iterator[str]:
    threshold, iou_threshold = np.float32(result.threshold), np.float32(result.iou_threshold)  # as darknet rounds them
    used = f"used {result.points} Recall-points" if result.points else "used Area-Under-Curve for each unique Recall"
    yield (
        f"\n for conf_thresh = {threshold:1.2f}, precision = {result.precision:1.2f}, "
        f"recall = {result.recall:1.2f}, F1-score = {result.f1:1.2f} \n"
    )
    yield (
        f" for conf_thresh = {threshold:1.2f}, TP = {result.true_positives}, FP = {result.false_positives}, "
        f"FN = {result.false_negatives}, average IoU = {np.float32(result.average_iou) * np.float32(100):2.2f} % \n"
    )
    yield f"\n IoU threshold = {iou_threshold * np.float32(100):2.0f} %, {used} \n"
    yield (
        f" mean average precision (mAP@{iou_threshold:1.2f}) = {result.mean_average_precision:f}, "
        f"or {result.mean_average_precision * 100:2.2f} % \n"
    )
