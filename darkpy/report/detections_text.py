"""The lines that `detector test` prints for a picture.  Source: darknet src/image.c, draw_detections_v3."""

from collections.abc import Sequence

import numpy as np

from darkpy.report.findings import Finding


def printed_lines(
    findings: Sequence[Finding], names: Sequence[str], *, image_size: tuple[int, int] | None = None
) -> list[str]:
    """Return one line for each class of each finding, from left to right, the best class of a finding first.

    Args:
        findings: What was found, in array order.
        names: One name for each class.
        image_size: (width, height) of the picture in pixels, to print boxes in pixels too; they are not clipped.
    """
    lines = []
    for finding in sorted(findings, key=lambda one: float(one.box[0] - one.box[2] / 2)):
        where = _where(finding, image_size) if image_size else ""
        for index, confidence in ((finding.best, finding.confidence), *finding.others):
            lines.append(f"{names[index]}: {confidence * np.float32(100):.0f}%{where}")
    return lines


def _where(finding: Finding, image_size: tuple[int, int]) -> str:
    x, y, w, h = finding.box
    width, height = (np.float32(length) for length in image_size)
    edges = [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]
    left, top, across, down = (_round(edge) for edge in edges)
    return f"\t(left_x: {left:4.0f}   top_y: {top:4.0f}   width: {across:4.0f}   height: {down:4.0f})"


def _round(value: np.float32) -> float:
    """Return the nearest whole number, halves away from zero; -0.3 gives -0, which prints with its sign as in C."""
    return float(np.copysign(np.floor(np.abs(np.float64(value)) + 0.5), value))
