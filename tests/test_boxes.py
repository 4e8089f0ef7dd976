"""The IoU family (darkpy/boxes.py). NMS and letterboxes are in test_boxes_nms.py."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.boxes import IOU_KINDS, ciou, corners_within, diou, giou, iou, iou_matrix, overlap

SIDE = st.floats(1e-3, 1.0)
BOX = st.tuples(st.floats(-0.5, 1.5), st.floats(-0.5, 1.5), SIDE, SIDE)
PAIR = st.tuples(BOX, BOX)
EPSILON = 1e-9
FEW = settings(max_examples=30)

# Two boxes, then the four values: computed from the formulas that were checked against the C darknet.
VALUES = [
    ((0.50, 0.50, 0.40, 0.30), (0.55, 0.45, 0.30, 0.50), (0.500000, 0.400000, 0.428926, 0.481242)),
    ((0.50, 0.50, 0.20, 0.20), (0.52, 0.51, 0.60, 0.50), (0.133333, 0.133333, 0.119267, 0.132501)),
    ((0.20, 0.20, 0.10, 0.20), (0.70, 0.60, 0.30, 0.30), (0.0, -0.758242, -0.618772, -0.451005)),
    ((0.20, 0.50, 0.10, 0.20), (0.70, 0.50, 0.30, 0.30), (0.0, -0.476190, -0.603542, -0.432724)),
    ((0.50, 0.50, 0.30, 0.30), (0.50, 0.50, 0.30, 0.30), (1.0, 1.0, 1.0, 1.0)),
]


def tensors(pair: tuple[tuple[float, ...], tuple[float, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = pair
    return torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)


@pytest.mark.parametrize(("a", "b", "values"), VALUES)
def test_values(a: tuple[float, ...], b: tuple[float, ...], values: tuple[float, ...]) -> None:
    found = [kind(*tensors((a, b))).item() for kind in (iou, giou, diou, ciou)]
    assert found == pytest.approx(values, abs=1.5e-6)


def test_all_kinds_have_darknets_names() -> None:
    assert sorted(IOU_KINDS) == ["ciou", "diou", "giou", "iou"]
    assert [IOU_KINDS[name] for name in ("iou", "giou", "diou", "ciou")] == [iou, giou, diou, ciou]


@pytest.mark.parametrize("kind", sorted(IOU_KINDS))
@FEW
@given(PAIR)
def test_the_order_of_the_boxes_does_not_matter(kind: str, pair: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    a, b = tensors(pair)
    assert IOU_KINDS[kind](a, b).item() == pytest.approx(IOU_KINDS[kind](b, a).item(), abs=EPSILON)


@FEW
@given(PAIR)
def test_ious_lie_between_0_and_1(pair: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    assert 0 <= iou(*tensors(pair)).item() <= 1 + EPSILON


@FEW
@given(PAIR)
def test_giou_is_never_above_iou_nor_down_to_minus_1(pair: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    a, b = tensors(pair)
    assert -1 < giou(a, b).item() <= iou(a, b).item() + EPSILON


@FEW
@given(PAIR)
def test_diou_and_ciou_are_never_above_iou(pair: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    a, b = tensors(pair)
    assert diou(a, b).item() <= iou(a, b).item() + EPSILON
    assert ciou(a, b).item() <= iou(a, b).item() + EPSILON


@FEW
@given(PAIR, st.floats(0.1, 10), st.floats(-3, 3))
def test_the_unit_of_length_does_not_matter(
    pair: tuple[tuple[float, ...], tuple[float, ...]], scale: float, shift: float
) -> None:
    a, b = tensors(pair)
    moved = [box * scale + torch.tensor([shift, shift, 0, 0]) for box in (a, b)]
    for kind in IOU_KINDS.values():
        assert kind(*moved).item() == pytest.approx(kind(a, b).item(), abs=1e-6)


@FEW
@given(st.lists(BOX, min_size=0, max_size=4), st.lists(BOX, min_size=0, max_size=4))
def test_the_matrix_holds_the_iou_of_every_pair(
    rows: list[tuple[float, ...]], columns: list[tuple[float, ...]]
) -> None:
    a = torch.tensor(rows, dtype=torch.float64).reshape(-1, 4)
    b = torch.tensor(columns, dtype=torch.float64).reshape(-1, 4)
    matrix = iou_matrix(a, b)
    assert matrix.shape == (len(rows), len(columns))
    assert torch.allclose(matrix, iou(a[:, None], b[None]), rtol=0, atol=1e-12)
    assert torch.equal(iou_matrix(torch.stack([a, a]), torch.stack([b, b])), torch.stack([matrix, matrix]))


def test_the_matrix_leaves_its_arguments_alone() -> None:
    boxes = torch.tensor([VALUES[0][0], VALUES[0][1]])
    before = boxes.clone()
    iou_matrix(boxes, boxes)
    assert torch.equal(boxes, before)


def test_boxes_without_area_overlap_nothing() -> None:
    """No division by 0, also for two equal ones and on every kind's penalty."""
    nothing, box = torch.zeros(4), torch.tensor([0.0, 0.0, 1.0, 1.0])
    assert iou(nothing, box).item() == iou(nothing, nothing).item() == 0
    assert iou_matrix(nothing[None], torch.stack([box, nothing])).tolist() == [[0.0, 0.0]]
    assert giou(nothing, nothing).item() == diou(nothing, nothing).item() == 0


def test_boxes_that_touch_do_not_overlap() -> None:
    a, b = torch.tensor([0.5, 0.5, 1.0, 1.0]), torch.tensor([1.5, 0.5, 1.0, 1.0])
    assert iou(a, b).item() == 0
    assert giou(a, b).item() == 0  # they fill their enclosing box


def test_disjoint_both_ways_has_no_intersection() -> None:
    """Two negative lengths do not multiply to an area."""
    parts = overlap(torch.tensor([0.0, 0.0, 1.0, 1.0]), torch.tensor([5.0, 5.0, 1.0, 1.0]))
    assert [part.item() for part in parts] == [0.0, 2.0, 6.0, 6.0]


def test_f05_a_half_is_exactly_a_half() -> None:
    """F05: the left half of a box of 2x1 has an IoU of .5, not a rounding above it."""
    assert iou(torch.tensor([1.0, 0.5, 2.0, 1.0]), torch.tensor([0.5, 0.5, 1.0, 1.0])).item() == 0.5


def test_the_exponent_of_diou() -> None:
    a, b = torch.tensor([0.0, 0.0, 1.0, 1.0]), torch.tensor([0.5, 0.0, 1.0, 1.0])
    term = 0.25 / (1.5**2 + 1)
    assert diou(a, b).item() == pytest.approx(1 / 3 - term**0.6)
    assert diou(a, b, 1.0).item() == pytest.approx(1 / 3 - term)


def test_corners_are_cut_at_the_picture_on_their_own_side_only() -> None:
    boxes = torch.tensor([[5.0, 5.0, 20.0, 4.0], [-5.0, 30.0, 2.0, 2.0]])
    within = corners_within(boxes, image_size=(10, 20))
    assert within.tolist() == [[0.0, 3.0, 10.0, 7.0], [0.0, 29.0, -4.0, 20.0]]
    assert corners_within(boxes[:1], image_size=(10, 20), first_pixel=1).tolist() == [[1.0, 4.0, 10.0, 8.0]]
