"""COCO's own tool, pycocotools, as one function."""

import contextlib
import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

with warnings.catch_warnings():  # of its imports of matplotlib, where that is installed
    warnings.simplefilter("ignore")
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval


def score(dataset: dict[str, Any], detections: list[dict[str, Any]]) -> list[float]:
    """Return the twelve figures of bounding boxes.

    Args:
        dataset: Images, annotations and categories.
        detections: At least one.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        truths = COCO()
        truths.dataset = dataset
        truths.createIndex()
        evaluation = COCOeval(truths, truths.loadRes(detections), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    figures: Sequence[float] = np.asarray(evaluation.stats).tolist()
    return list(figures)
