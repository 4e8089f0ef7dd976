"""mAP over batches (darkpy/evaluation/evaluator.py)."""

import pytest
import torch

from darkpy.evaluation.evaluator import measure_map, without_duplicates, without_duplicates_each
from darkpy.structures import Detections, EvaluationBatch, MapResult, NmsRule, Problem

CPU = torch.device("cpu")
BOX = (0.5, 0.5, 0.25, 0.25)


class FakeNetwork:
    """Finds the same boxes in every picture."""

    def __init__(self, *boxes: tuple[float, ...], classes: int = 1) -> None:
        self.classes = classes
        self.nms_rule = NmsRule("greedynms", 0.6)
        self.thresholds: list[float] = []
        table = torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4 + classes)
        self.found = Detections(table[:, :4], torch.ones(len(table)), table[:, 4:])

    def detect(self, images: torch.Tensor, threshold: float) -> list[Detections]:
        self.thresholds.append(threshold)
        assert not torch.is_grad_enabled()
        return [self.found] * len(images)


def batch(
    *truths: list[tuple[float, ...]],
    size: tuple[int, int] = (64, 64),
    readable: tuple[bool, ...] | None = None,
    problems: tuple[Problem, ...] = (),
) -> EvaluationBatch:
    """Make a batch of one picture for each list of truths."""
    count = len(truths)
    return EvaluationBatch(
        images=torch.zeros(count, 3, 32, 32),
        sizes=(size,) * count,
        truths=tuple(torch.tensor(rows, dtype=torch.float32).reshape(-1, 5) for rows in truths),
        difficult=(torch.zeros(0, 5),) * count,
        paths=tuple(f"{index}.jpg" for index in range(count)),
        readable=readable or (True,) * count,
        problems=problems,
    )


def measure(network: FakeNetwork, *batches: EvaluationBatch, letter_box: bool = False) -> MapResult:
    """Measure with a sink that must stay unused."""
    return measure_map(network, batches, device=CPU, on_problem=pytest.fail, letter_box=letter_box)


def test_right_boxes_score_one() -> None:
    network = FakeNetwork((*BOX, 0.9))
    result = measure(network, batch([(*BOX, 0)], [(*BOX, 0)]), batch([(*BOX, 0)]))
    assert result.mean_average_precision == 1.0
    assert (result.detections, result.truths, result.true_positives) == (3, 3, 3)
    assert network.thresholds == [0.005, 0.005]


def test_duplicates_are_suppressed_first() -> None:
    result = measure(FakeNetwork((*BOX, 0.9), (0.5, 0.5, 0.25, 0.26, 0.8)), batch([(*BOX, 0)]))
    assert (result.detections, result.false_positives) == (1, 0)


def test_e02_unreadable_picture_counts_its_truths_as_missed() -> None:
    """E02: no detections are taken from the blank in its place, and it is named."""
    named: list[Problem] = []
    problem = Problem("image", "1.jpg", "1.jpg: cannot be read")
    pictures = batch([(*BOX, 0)], [(*BOX, 0)], readable=(True, False), problems=(problem,))
    result = measure_map(FakeNetwork((*BOX, 0.9)), [pictures], device=CPU, on_problem=named.append)
    assert (result.true_positives, result.false_positives, result.false_negatives) == (1, 0, 1)
    assert named == [problem]


def test_f14_nothing_detected_at_all() -> None:
    """F14."""
    result = measure(FakeNetwork(classes=2), batch([(*BOX, 0)]))
    assert [one.average_precision for one in result.classes] == [0.0, 0.0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_c14_short_lists_work(count: int) -> None:
    """C14."""
    assert measure(FakeNetwork((*BOX, 0.9)), batch(*[[(*BOX, 0)]] * count)).true_positives == count


def test_letterbox_is_undone_before_matching() -> None:
    # a picture of 64x32 takes rows 8 to 24 of 32: a box of half its height is a quarter of the input
    network = FakeNetwork((0.5, 0.5, 0.5, 0.25, 0.9))
    truth = [(0.5, 0.5, 0.5, 0.5, 0)]
    assert measure(network, batch(truth, size=(64, 32)), letter_box=True).average_iou == pytest.approx(1.0)
    assert measure(network, batch(truth, size=(64, 32))).true_positives == 0


def test_without_duplicates_keeps_suppressed_rows() -> None:
    network = FakeNetwork((*BOX, 0.8), (*BOX, 0.9))
    kept = without_duplicates(network.found, network.nms_rule)
    assert kept.probabilities[:, 0].tolist() == pytest.approx([0.9, 0.0])


def test_pictures_together_equal_each_alone() -> None:
    one = FakeNetwork((*BOX, 0.8), (*BOX, 0.9)).found
    other = FakeNetwork((0.5, 0.5, 0.25, 0.2, 0.7), (0.5, 0.5, 0.25, 0.22, 0.6), (0.1, 0.1, 0.1, 0.1, 0.3)).found
    sizes, rule = [(64, 32), (32, 64)], NmsRule("greedynms", 0.6)
    together = without_duplicates_each([one, other], rule, network_size=(32, 32), image_sizes=sizes)
    alone = [
        without_duplicates(found, rule, network_size=(32, 32), image_size=size)
        for found, size in zip((one, other), sizes, strict=True)
    ]
    for name in ("boxes", "objectness", "probabilities"):
        assert torch.equal(getattr(together, name), torch.cat([getattr(found, name) for found in alone])), name


def test_the_second_picture_of_a_batch_has_its_own_truths() -> None:
    """A truth of one picture is no match for a detection in the next one, wherever the batch ends."""
    network = FakeNetwork((*BOX, 0.9))
    result = measure(network, batch([(*BOX, 0)], []))
    assert (result.true_positives, result.false_positives) == (1, 1)
    assert measure(network, batch([(*BOX, 0)]), batch([])) == result
