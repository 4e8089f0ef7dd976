"""darkpy/layers/_box_gradient.py: the directions in which darknet moves a box."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.layers._box_gradient import box_gradient

KINDS = ("iou", "giou", "diou", "ciou")
# Predicted box, truth, and gx gy gw gh by kind: computed from the formulas that were checked against the C darknet.
VECTORS = {
    "overlapping": (
        (0.50, 0.50, 0.40, 0.30),
        (0.55, 0.45, 0.30, 0.50),
        {
            "iou": (2.500000, 0, 0.833333, 2.777778),
            "giou": (3.250000, 0, 0.083333, 3.777778),
            "diou": (2.767698, -0.243902, 0.845231, 2.777778),
            "ciou": (2.767698, -0.243902, 0.835052, 2.791349),
        },
    ),
    "inside": (
        (0.50, 0.50, 0.20, 0.20),
        (0.52, 0.51, 0.60, 0.50),
        {
            "iou": (0, 0, 1.333333, 1.333333),
            "giou": (0, 0, 1.333333, 1.333333),
            "diou": (0.065574, 0.032787, 1.333333, 1.333333),
            "ciou": (0.065574, 0.032787, 1.333390, 1.333277),
        },
    ),
    "containing": (
        (0.50, 0.50, 0.60, 0.50),
        (0.52, 0.51, 0.20, 0.20),
        {
            "iou": (0, 0, -0.444444, -0.533333),
            "giou": (0, 0, -0.444444, -0.533333),
            "diou": (0.065574, 0.032787, -0.442832, -0.531990),
            "ciou": (0.065574, 0.032787, -0.442973, -0.531821),
        },
    ),
    "disjoint both ways": (
        (0.20, 0.20, 0.10, 0.20),
        (0.70, 0.60, 0.30, 0.30),
        {
            "iou": (-3.905325, -7.810651, -8.165680, -9.940828),
            "giou": (0.533752, 0.879121, 1.004710, 0.879121),
            "diou": (1.785251, 1.516832, 0.344680, 0.320060),
            "ciou": (1.785251, 1.516832, 0.350939, 0.316931),
        },
    ),
    "disjoint in x": (
        (0.20, 0.50, 0.10, 0.20),
        (0.70, 0.50, 0.30, 0.30),
        {
            "iou": (0.761246, 0, 1.591696, -1.868512),
            "giou": (0.204082, 0, -0.204082, 3.809524),
            "diou": (2.764566, 0, 0.520214, 0),
            "ciou": (2.764566, 0, 0.521783, -0.000784),
        },
    ),
    "equal": (
        (0.5, 0.5, 0.3, 0.3),
        (0.5, 0.5, 0.3, 0.3),
        {
            "iou": (0, 0, -6.666667, -6.666667),
            "giou": (0, 0, 0, 0),
            "diou": (0, 0, -6.666667, -6.666667),
            "ciou": (0, 0, -6.666667, -6.666667),
        },
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", sorted(VECTORS))
def test_vectors(case: str, kind: str) -> None:
    predicted, truth, expected = VECTORS[case]
    pair = (torch.tensor([box], dtype=torch.float64) for box in (predicted, truth))
    (gradient,) = box_gradient(*pair, kind).tolist()
    assert gradient == pytest.approx(expected[kind], rel=1e-5, abs=1.5e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_do_not_see_each_other(kind: str) -> None:
    predicted = torch.tensor([predicted for predicted, _, _ in VECTORS.values()])
    truth = torch.tensor([truth for _, truth, _ in VECTORS.values()])
    alone = [box_gradient(predicted[row : row + 1], truth[row : row + 1], kind) for row in range(len(truth))]
    assert torch.equal(box_gradient(predicted, truth, kind), torch.cat(alone))
    assert box_gradient(predicted[:0], truth[:0], kind).shape == (0, 4)


SIDE = st.floats(0.05, 0.5)
BOX = st.tuples(st.floats(0.2, 0.8), st.floats(0.2, 0.8), SIDE, SIDE)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(BOX, BOX)
def test_swapping_x_and_y_swaps_the_gradient(kind: str, predicted: tuple[float, ...], truth: tuple[float, ...]) -> None:
    swap = [1, 0, 3, 2]
    a, b = torch.tensor([predicted], dtype=torch.float64), torch.tensor([truth], dtype=torch.float64)
    turned = box_gradient(a[:, swap], b[:, swap], kind)
    assert torch.allclose(turned, box_gradient(a, b, kind)[:, swap], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_without_area_give_no_gradient_of_the_union(kind: str) -> None:
    """A union of 0 is not divided by."""
    nothing = torch.zeros(1, 4)
    assert box_gradient(nothing, nothing, kind)[0, :2].tolist() == [0.0, 0.0]
