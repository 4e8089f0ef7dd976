"""darkpy/layers/_yolo_loss.py against sums measured on the C darknet, and against plain loops over its rules."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from yolo_loops import COLUMNS, ROWS, SIZE, Loops, loop_figures

from darkpy.layers import _yolo_loss
from darkpy.layers._head import HeadLoss
from darkpy.layers._yolo_loss import YoloLoss, YoloRules

PLAIN = YoloRules(
    classes=2,
    anchors=((10, 14), (23, 27), (37, 58)),
    mask=(0, 1, 2),
    ignore_thresh=0.5,
    truth_thresh=1.0,
    iou_thresh=1.0,
    iou_thresh_kind="iou",
    iou_loss="mse",
    iou_normalizer=0.75,
    obj_normalizer=1.0,
    cls_normalizer=1.0,
    delta_normalizer=1.0,
    max_delta=None,
    scale_x_y=1.0,
    new_coords=False,
    objectness_smooth=False,
    focal_loss=False,
    label_smooth_eps=0.0,
    class_multipliers=None,
    class_map=None,
    show_details=True,
)

# --- sums over a head, measured on the C darknet ----------------------------------------------------------------------

TRUTHS = torch.tensor([[0.52, 0.31, 0.30, 0.40, 0.0], [0.20, 0.80, 0.10, 0.20, 1.0]])
MORE = {"iou_normalizer": 0.5, "iou_thresh": 0.2}
OTHERS = ((-0.61365, -0.59869, 0.64566), (-1.26524, 0.40131, -0.35434), (-2.0, 0.40131, -0.35434))
# Name: rules, then for each anchor the sum of delta over the six cells: x y w h, objectness, two classes.
SUMS: dict[str, tuple[dict[str, object], Sequence[Sequence[float]]]] = {
    "mse": (
        {},
        (
            (0.07450, 0.25905, -0.20912, -0.13307, -0.61365, -0.59869, 0.64566),
            (0.01433, 0.27416, 0.03508, 0.20693, -1.26524, 0.40131, -0.35434),
            (0, 0, 0, 0, -3.0, 0, 0),
        ),
    ),
    "iou": (
        {**MORE, "iou_loss": "iou"},
        (
            (2.37511, 1.76624, 0.31609, 0.66680, *OTHERS[0]),
            (0, 1.63950, 2.04653, 0.36338, *OTHERS[1]),
            (0, 0, -0.98515, -0.41897, *OTHERS[2]),
        ),
    ),
    "giou": (
        {**MORE, "iou_loss": "giou"},
        (
            (4.43838, 2.09296, 0.93191, 0.99884, *OTHERS[0]),
            (0, 1.66175, 2.65232, 0.34516, *OTHERS[1]),
            (0, 0, -0.98515, -0.41897, *OTHERS[2]),
        ),
    ),
    "diou": (
        {**MORE, "iou_loss": "diou"},
        (
            (2.62846, 2.82838, 0.36674, 0.77617, *OTHERS[0]),
            (0.01090, 1.99831, 2.04653, 0.38223, *OTHERS[1]),
            (0.00530, 0.15198, -0.96891, -0.40955, *OTHERS[2]),
        ),
    ),
    "ciou": (
        {**MORE, "iou_loss": "ciou"},
        (
            (2.62846, 2.82838, 0.36673, 0.77617, *OTHERS[0]),
            (0.01090, 1.99831, 2.04649, 0.38225, *OTHERS[1]),
            (0.00530, 0.15198, -0.96897, -0.40953, *OTHERS[2]),
        ),
    ),
    "smooth": (
        {
            **MORE,
            "iou_loss": "ciou",
            "ignore_thresh": 0.2,
            "objectness_smooth": True,
            "max_delta": 1.0,
            "label_smooth_eps": 0.1,
            "scale_x_y": 1.2,
        },
        (
            (1.00000, 1.00000, 0.26711, 0.86885, -1.29949, -0.54869, 0.59566),
            (0.00021, 1.00000, 1.00000, 0.39922, -1.71536, 0.35131, -0.30434),
            (0.00010, 0.83323, -0.96246, 0.02637, -2.62152, 0.35131, -0.30434),
        ),
    ),
    "focal": (
        {"focal_loss": True},
        (
            (0.07450, 0.25905, -0.20912, -0.13307, -0.61365, -0.26689, 0.28783),
            (0.01433, 0.27416, 0.03508, 0.20693, -1.26524, 0.08178, -0.07221),
            (0, 0, 0, 0, -3.0, 0, 0),
        ),
    ),
}
LOSSES = {"mse": 4.811660, "iou": 4.916458, "giou": 4.919747, "diou": 4.916458, "ciou": 4.916458}
LOSSES |= {"smooth": 3.532028, "focal": 3.915731}  # of an iteration of four such images


def constant_input(images: int) -> torch.Tensor:
    """The same seven values in every cell; anchor a has w = 0.1 (a + 1), h = -0.2 a, objectness = -1 + 0.5 a."""
    values = [v for a in range(3) for v in (0.2, -0.3, 0.1 * (a + 1), -0.2 * a, -1 + 0.5 * a, 0.4, -0.6)]
    return torch.tensor(values).view(1, 21, 1, 1).expand(images, 21, ROWS, COLUMNS).contiguous()


def evaluate(rules: YoloRules, images: int = 4, truths: torch.Tensor = TRUTHS) -> HeadLoss:
    x = constant_input(images)
    return YoloLoss(x, truths.expand(images, *truths.shape), rules, SIZE).evaluate()


@pytest.mark.parametrize("case", sorted(SUMS))
def test_sums_over_the_head(case: str) -> None:
    changes, expected = SUMS[case]
    delta = evaluate(replace(PLAIN, **changes)).delta[2]
    assert delta.shape == (21, ROWS, COLUMNS)
    assert delta.sum((1, 2)).tolist() == pytest.approx([v for row in expected for v in row], abs=1.5e-5)


@pytest.mark.parametrize("case", sorted(SUMS))
def test_loss_of_an_iteration(case: str) -> None:
    assert evaluate(replace(PLAIN, **SUMS[case][0])).cost.item() / 4 == pytest.approx(LOSSES[case], rel=1e-6)


def test_printed_figures() -> None:
    printed = evaluate(replace(PLAIN, **SUMS["iou"][0]))
    assert printed.average_iou.item() == pytest.approx(0.426381, abs=1e-6)
    assert printed.count.item() == 3 * 4
    assert printed.class_loss.item() == pytest.approx(4.844756, abs=2e-6)
    assert printed.iou_loss.item() == pytest.approx(17.459597, abs=2e-5)
    assert printed.total_loss.item() == pytest.approx(4.844756 + 17.459597, abs=2e-5)
    assert evaluate(replace(PLAIN, **SUMS["smooth"][0])).average_iou.item() == pytest.approx(0.414171, abs=1e-6)


def test_without_details_the_cost_is_the_sum_of_squares() -> None:
    rules = replace(PLAIN, **SUMS["giou"][0])
    assert evaluate(replace(rules, show_details=False)).cost.item() == pytest.approx(
        4 * (evaluate(rules).total_loss.item())
    )


def test_delta_normalizer_scales_the_gradient_but_not_the_figures() -> None:
    plain, scaled = evaluate(PLAIN), evaluate(replace(PLAIN, delta_normalizer=0.25))
    assert torch.equal(scaled.delta, plain.delta * 0.25)
    assert scaled.cost == plain.cost


@pytest.mark.parametrize("iou_loss", ["mse", "ciou"])
def test_pictures_without_truths_only_lower_objectness(iou_loss: str) -> None:
    for truths in (torch.zeros(0, 5), torch.zeros(3, 5)):
        found = evaluate(replace(PLAIN, iou_loss=iou_loss, iou_thresh=0.2), truths=truths)
        objectness = torch.sigmoid(constant_input(4)[:, 4::7])
        assert torch.allclose(found.delta[:, 4::7], -objectness)
        assert found.delta.square().sum().item() == pytest.approx(objectness.square().sum().item())
        assert (found.count.item(), found.average_iou.item(), found.rewritten.item()) == (1, 0, 0)


# --- plain loops ------------------------------------------------------------------------------------------------------

UNIT = st.sampled_from([0.5, 1.0, 1.7])
RULES = st.builds(
    YoloRules,
    classes=st.just(3),
    anchors=st.just(((10.0, 14.0), (23.0, 27.0), (37.0, 58.0), (60.0, 25.0))),
    mask=st.sampled_from([(0, 1, 2, 3), (1, 2), (3, 0), (2,)]),
    ignore_thresh=st.sampled_from([0.05, 0.2, 0.5]),
    truth_thresh=st.sampled_from([1.0, 1.0, 0.3, 0.15]),
    iou_thresh=st.sampled_from([1.0, 0.5, 0.2]),
    iou_thresh_kind=st.sampled_from(["iou", "giou", "diou", "ciou"]),
    iou_loss=st.sampled_from(["mse", "iou", "giou", "diou", "ciou"]),
    iou_normalizer=UNIT,
    obj_normalizer=UNIT,
    cls_normalizer=UNIT,
    delta_normalizer=UNIT,
    max_delta=st.sampled_from([None, 0.3, 2.0]),
    scale_x_y=st.sampled_from([1.0, 1.2, 2.0]),
    new_coords=st.booleans(),
    objectness_smooth=st.booleans(),
    focal_loss=st.booleans(),
    label_smooth_eps=st.sampled_from([0.0, 0.1]),
    class_multipliers=st.sampled_from([None, (1.0, 2.5, 4.0)]),
    class_map=st.sampled_from([None, (2, 0, 0)]),
    show_details=st.booleans(),
)


def picture(rules: YoloRules, rng: np.random.Generator, *, truths: int) -> tuple[np.ndarray, np.ndarray]:
    """A head input and truths; some truths repeat the cell and size of the one before, some have no valid class."""
    x = rng.normal(-0.5, 1.0, (len(rules.mask) * (5 + rules.classes), ROWS, COLUMNS)).astype(np.float32)
    if rules.new_coords:
        x = 1 / (1 + np.exp(-x))
    rows = np.empty((truths, 5), np.float32)
    for number in range(truths):
        rows[number] = (*rng.uniform(0.02, 0.98, 2), *rng.uniform(0.08, 0.7, 2), rng.integers(-1, rules.classes + 1))
        if number and rng.random() < 0.4:
            rows[number, :4] = rows[number - 1, :4] * (1 + rng.uniform(-1e-3, 1e-3, 4))
        if rng.random() < 0.05:
            rows[number, 0] = 0  # ends the list
    return x, rows


SEED, COUNT = st.integers(0, 2**32 - 1), st.integers(0, 5)


@settings(max_examples=15)
@given(rules=RULES, seed=SEED, truths=COUNT)
def test_as_plain_loops(rules: YoloRules, seed: int, truths: int) -> None:
    compare_with_loops(rules, seed, truths)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1 << 24, 40], ids=["at once", "truth by truth"])
@settings(max_examples=250)
@given(rules=RULES, seed=SEED, truths=COUNT)
def test_as_plain_loops_for_many_rules(limit: int, rules: YoloRules, seed: int, truths: int) -> None:
    """Also where the truths of a picture are compared a few at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_yolo_loss, "_DENSE_LIMIT", limit)
        compare_with_loops(rules, seed, truths)


def compare_with_loops(rules: YoloRules, seed: int, truths: int) -> None:
    """Hold two pictures' deltas and figures to 1e-5."""
    rng = np.random.default_rng(seed)
    pictures = [picture(rules, rng, truths=truths) for _ in range(2)]
    loops = [Loops(rules, x, rows.tolist()) for x, rows in pictures]
    for image in loops:
        image.run()
    x, rows = (torch.from_numpy(np.stack(parts)) for parts in zip(*pictures, strict=True))
    found = YoloLoss(x, rows, rules, SIZE).evaluate()
    for number, image in enumerate(loops):
        expected = torch.tensor([image.delta[key] for key in image.cells], dtype=torch.float64) * rules.delta_normalizer
        delta = found.delta[number].permute(1, 2, 0).reshape(expected.shape).double()
        scale = max(1.0, expected.abs().max().item())
        assert (delta - expected).abs().max().item() < 1e-5 * scale
    figures = loop_figures(rules, loops)
    for name, value in figures.items():
        size = figures["total_loss"] if name == "iou_loss" else value  # a difference of two others: may be nearly 0
        assert getattr(found, name).item() == pytest.approx(value, abs=1e-5 * max(1.0, abs(size))), name
