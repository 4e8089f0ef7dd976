"""The lines of COCO's figures (darkpy/report/coco_report.py)."""

from darkpy.report.coco_report import coco_heading, coco_lines
from darkpy.structures import CocoResult


def test_twelve_lines() -> None:
    result = CocoResult(0.1234, 0.5, 0.25, (-1.0, 0.1, 0.2), (0.3, 0.4, 0.5), (0.6, 0.7, 1.0))
    assert coco_lines(result) == (
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.123\n"
        " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.500\n"
        " Average Precision  (AP) @[ IoU=0.75      | area=   all | maxDets=100 ] = 0.250\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = 0.100\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = 0.200\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=  1 ] = 0.300\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets= 10 ] = 0.400\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.500\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 0.600\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = 0.700\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = 1.000\n"
    )


def test_heading_says_which_detections_count() -> None:
    assert "threshold 0.001, NMS 0.6" in coco_heading(0.001, 0.6)
