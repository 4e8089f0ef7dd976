"""COCO's figures beside darknet's (darkpy/evaluation/coco_tap.py)."""

import pytest
import torch

from darkpy.evaluation.coco_tap import CocoTap
from darkpy.evaluation.evaluator import measure_map
from darkpy.evaluation.pixel_detections import above
from darkpy.structures import Detections, EvaluationBatch, NmsRule, Problem

BOX = (0.5, 0.5, 0.25, 0.25)
CPU = torch.device("cpu")


class FakeNetwork:
    """Finds one box in each picture, and a weak one beside it."""

    classes = 2
    nms_rule = NmsRule()

    def __init__(self) -> None:
        self.thresholds: list[float] = []

    def detect(self, images: torch.Tensor, threshold: float) -> list[Detections]:
        self.thresholds.append(threshold)
        boxes = torch.tensor([BOX, (0.2, 0.2, 0.1, 0.1)])
        probabilities = torch.tensor([[0.9, 0.003], [0.0, 0.002]])
        one = Detections(boxes, torch.tensor([0.9, 0.004]), probabilities)
        return [above(one, threshold)] * len(images)


def batch(*, readable: tuple[bool, ...] = (True, True)) -> EvaluationBatch:
    truths = torch.tensor([(*BOX, 0)])
    return EvaluationBatch(
        images=torch.zeros(2, 3, 32, 32),
        sizes=((400, 400),) * 2,
        truths=(truths, truths),
        difficult=(torch.zeros(0, 5),) * 2,
        paths=("a.jpg", "b.jpg"),
        readable=readable,
        problems=(),
    )


def test_darknets_figures_are_the_same_with_it() -> None:
    network = FakeNetwork()
    tap = CocoTap(network, letter_box=False, on_problem=pytest.fail)
    settings = {"device": CPU, "on_problem": pytest.fail}
    alone = measure_map(network, [batch(), batch()], **settings)
    assert measure_map(tap, tap.watch([batch(), batch()]), **settings) == alone
    assert alone.detections == 4
    assert network.thresholds == [0.005, 0.005, 0.001, 0.001]


def test_figures_of_all_batches() -> None:
    tap = CocoTap(FakeNetwork(), letter_box=False, on_problem=pytest.fail)
    measure_map(tap, tap.watch([batch(), batch()]), device=CPU, on_problem=pytest.fail)
    result = tap.result()
    assert result.average_precision == pytest.approx(1.0)
    assert result.average_precision_by_area == (-1.0, -1.0, pytest.approx(1.0))


def test_e02_objects_of_an_unreadable_picture_are_missed() -> None:
    """E02."""
    tap = CocoTap(FakeNetwork(), letter_box=False, on_problem=pytest.fail)
    pictures = batch(readable=(True, False))
    measure_map(tap, tap.watch([pictures]), device=CPU, on_problem=pytest.fail)
    assert tap.result().average_recall == (0.5, 0.5, 0.5)


def test_boxes_that_are_no_numbers_are_told() -> None:
    class Broken(FakeNetwork):
        def detect(self, images: torch.Tensor, threshold: float) -> list[Detections]:
            (one, *_) = super().detect(images, threshold)
            return [Detections(one.boxes * float("nan"), one.objectness, one.probabilities)] * len(images)

    told: list[Problem] = []
    tap = CocoTap(Broken(), letter_box=False, on_problem=told.append)
    list(tap.watch([batch()]))
    tap.detect(torch.zeros(2, 3, 32, 32), 0.005)
    assert [problem.path for problem in told] == ["a.jpg", "b.jpg"]
