"""MS COCO's twelve figures, in the lines of its own tool.  Source: cocoapi, COCOeval.summarize."""

from darkpy.structures import CocoResult

_AREAS = ("small", "medium", "large")


def coco_heading(threshold: float, nms_threshold: float) -> str:
    """Return the line before them: which detections they are of.

    Args:
        threshold: Weaker detections do not count.
        nms_threshold: A weaker detection more similar than this to a stronger one does not count.
    """
    return (
        f"\n MS COCO's figures, of what `detector valid` writes: threshold {threshold:g}, NMS {nms_threshold:g}; "
        "areas are those of the label boxes \n"
    )


def coco_lines(result: CocoResult) -> str:
    """Return the twelve lines; -1.000 where no object counts."""
    rows = [
        _line("Precision", result.average_precision),
        _line("Precision", result.average_precision_50, overlap="0.50"),
        _line("Precision", result.average_precision_75, overlap="0.75"),
        *(_line("Precision", v, area=a) for a, v in zip(_AREAS, result.average_precision_by_area, strict=True)),
        *(_line("Recall", v, most=most) for most, v in zip((1, 10, 100), result.average_recall, strict=True)),
        *(_line("Recall", v, area=a) for a, v in zip(_AREAS, result.average_recall_by_area, strict=True)),
    ]
    return "".join(rows)


def _line(kind: str, value: float, *, overlap: str = "0.50:0.95", area: str = "all", most: int = 100) -> str:
    title, short = f"Average {kind}", f"(A{kind[0]})"
    return f" {title:<18} {short} @[ IoU={overlap:<9} | area={area:>6} | maxDets={most:>3} ] = {value:0.3f}\n"
