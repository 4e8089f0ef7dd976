"""MS COCO's figures (darkpy/evaluation/coco.py) against COCO's own tool."""

import numpy as np
import pytest
import torch
from coco_tool import score
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.boxes import corners_within
from darkpy.evaluation import coco
from darkpy.evaluation.coco import CocoEvaluation
from darkpy.structures import CocoResult, Detections

Picture = tuple[Detections, torch.Tensor, tuple[int, int]]


def flat(result: CocoResult) -> list[float]:
    """Return the figures in the order of COCO's tool."""
    return [
        *(result.average_precision, result.average_precision_50, result.average_precision_75),
        *(*result.average_precision_by_area, *result.average_recall, *result.average_recall_by_area),
    ]


def evaluate(pictures: list[Picture], classes: int) -> CocoResult:
    evaluation = CocoEvaluation(classes)
    for found, truths, size in pictures:
        evaluation.add(found, truths, image_size=size)
    return evaluation.result()


def expected(pictures: list[Picture], classes: int) -> list[float]:
    """Return what COCO's tool says."""
    images, objects, detections = [], [], []
    for number, (found, truths, (width, height)) in enumerate(pictures, start=1):
        images.append({"id": number, "width": width, "height": height})
        for x, y, w, h, class_id in truths.numpy().astype(np.float64):
            box = [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]
            objects.append({"id": len(objects) + 1, "image_id": number, "category_id": int(class_id) + 1,
                            "bbox": box, "area": box[2] * box[3], "iscrowd": 0})  # fmt: skip
        corners = corners_within(found.boxes, image_size=(width, height)).numpy()
        boxes = np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]]).astype(float)
        for row, class_id in found.probabilities.nonzero().tolist():
            detections.append({"image_id": number, "category_id": class_id + 1, "bbox": boxes[row].tolist(),
                               "score": float(found.probabilities[row, class_id])})  # fmt: skip
    categories = [{"id": number + 1} for number in range(classes)]
    return score({"images": images, "annotations": objects, "categories": categories}, detections)


def random_picture(rng: np.random.Generator, classes: int, most_truths: int, most_detections: int) -> Picture:
    """Make truths of all areas, and detections around them, some doubled, with equal scores among them."""
    size = (int(rng.integers(30, 700)), int(rng.integers(30, 700)))
    truths, count = int(rng.integers(0, most_truths + 1)), int(rng.integers(1, most_detections + 1))
    places = np.concatenate([rng.uniform(0, 1, (truths, 2)), rng.uniform(0.01, 0.5, (truths, 2))], axis=1)
    table = np.column_stack([places, rng.integers(0, classes, truths)]).astype(np.float32)
    anchors = np.concatenate([table, [[0.5, 0.5, 0.3, 0.3, 0]]])  # one more, so that there is always one
    chosen = anchors[rng.integers(0, len(anchors), count)]
    boxes = chosen[:, :4].copy()
    boxes[:, :2] += rng.normal(0, 0.1, (count, 2)) * boxes[:, 2:]
    boxes[:, 2:] *= np.exp(rng.normal(0, 0.15, (count, 2)))
    probabilities = np.where(rng.random((count, classes)) < 0.1, 0.3, 0).astype(np.float32)
    probabilities[np.arange(count), chosen[:, 4].astype(int)] = np.round(rng.uniform(0.01, 1, count), 2)
    found = Detections(
        torch.from_numpy((boxes * [*size, *size]).astype(np.float32)),
        torch.ones(count),
        torch.from_numpy(probabilities),
    )
    return found, torch.from_numpy(table), size


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    pictures=st.integers(1, 8),
    classes=st.integers(1, 4),
    most_truths=st.integers(0, 12),
    most_detections=st.integers(1, 60),
)
def test_cocos_own_tool_says_the_same(
    seed: int, pictures: int, classes: int, most_truths: int, most_detections: int
) -> None:
    rng = np.random.default_rng(seed)
    made = [random_picture(rng, classes, most_truths, most_detections) for _ in range(pictures)]
    assert flat(evaluate(made, classes)) == pytest.approx(expected(made, classes), abs=1e-9)


def test_only_the_best_100_of_a_picture_and_class_count() -> None:
    rng = np.random.default_rng(1)
    made = [random_picture(rng, 1, 30, 400) for _ in range(2)]
    assert max(len(found) for found, _, _ in made) > 200
    assert flat(evaluate(made, 1)) == pytest.approx(expected(made, 1), abs=1e-9)


def test_matching_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    made = [random_picture(rng, 3, 10, 40) for _ in range(6)]
    whole = evaluate(made, 3)
    monkeypatch.setattr(coco, "_PENDING", 1)
    assert evaluate(made, 3) == whole


def one(*boxes: tuple[float, ...], truths: list[tuple[float, ...]]) -> list[Picture]:
    """Return a picture of 200x100 with boxes x y w h probability in pixels, and truths relative to it."""
    table = torch.tensor(boxes, dtype=torch.float32).reshape(-1, 5)
    found = Detections(table[:, :4], torch.ones(len(table)), table[:, 4:])
    return [(found, torch.tensor(truths, dtype=torch.float32).reshape(-1, 5), (200, 100))]


def test_a_right_box_has_one_and_areas_without_objects_have_minus_one() -> None:
    result = evaluate(one((100, 50, 50, 40, 0.9), truths=[(0.5, 0.5, 0.25, 0.4, 0)]), 1)
    assert result.average_precision == pytest.approx(1.0)
    assert result.average_precision_by_area == (-1.0, pytest.approx(1.0), -1.0)
    assert result.average_recall == (1.0, 1.0, 1.0)
    assert result.average_recall_by_area == (-1.0, 1.0, -1.0)


def test_f14_nothing_detected_is_0_and_nothing_at_all_minus_1() -> None:
    """F14."""
    assert flat(evaluate(one(truths=[(0.5, 0.5, 0.25, 0.4, 0)]), 1))[:3] == [0.0, 0.0, 0.0]
    assert set(flat(evaluate(one(truths=[]), 1))) == {-1.0}
    assert set(flat(evaluate([], 2))) == {-1.0}
