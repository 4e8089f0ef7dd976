"""NMS and the way back from a letterbox (darkpy/boxes.py)."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy import boxes
from darkpy.boxes import from_letterbox, suppress, suppress_each

_GRID = st.integers(0, 4)  # few values, so that ties and equal boxes are common


def _plain_loops(
    rects: torch.Tensor, probabilities: torch.Tensor, threshold: float, similarity: object
) -> tuple[list[int], np.ndarray]:
    """Sort and suppress one pair at a time, as darknet's text says."""
    values = probabilities.clone()
    order = list(range(len(rects)))
    for class_id in range(values.shape[1]):
        order.sort(key=lambda index: -float(values[index, class_id]))
        for place, strong in enumerate(order):
            if values[strong, class_id] == 0:
                continue
            for weak in order[place + 1 :]:
                if similarity(rects[strong], rects[weak]) > threshold:
                    values[weak, class_id] = 0
    return order, values[order].numpy()


@st.composite
def _candidates(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    count, classes = draw(st.integers(0, 10)), draw(st.integers(1, 3))
    corners = draw(st.lists(st.tuples(_GRID, _GRID, _GRID, _GRID), min_size=count, max_size=count))
    scores = draw(st.lists(st.lists(_GRID, min_size=classes, max_size=classes), min_size=count, max_size=count))
    rects = torch.tensor(corners, dtype=torch.float32).reshape(count, 4) / 8
    return rects, torch.tensor(scores, dtype=torch.float32).reshape(count, classes) / 8


@pytest.mark.parametrize("pairs", [3, 512])
@pytest.mark.parametrize(
    ("kind", "similarity"),
    [
        ("default", boxes.iou),
        ("cornersnms", boxes.iou),
        ("greedynms", boxes.diou),
        ("diounms", lambda a, b: boxes.diou(a, b, 0.8)),
    ],
)
def test_suppress_equals_plain_loops(
    kind: str, similarity: object, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boxes, "_NMS_PAIRS", pairs)

    @settings(max_examples=25, deadline=None)
    @given(_candidates())
    def check(candidates: tuple[torch.Tensor, torch.Tensor]) -> None:
        rects, probabilities = candidates
        order, kept = suppress(rects, probabilities, threshold=0.45, kind=kind, beta=0.8)
        expected_order, expected = _plain_loops(rects, probabilities, 0.45, similarity)
        assert order.tolist() == expected_order
        np.testing.assert_array_equal(kept.numpy(), expected)

    check()


@settings(max_examples=25, deadline=None)
@given(_candidates())
def test_suppressing_twice_is_suppressing_once(candidates: tuple[torch.Tensor, torch.Tensor]) -> None:
    rects, probabilities = candidates
    order, once = suppress(rects, probabilities, threshold=0.45, kind="greedynms")
    _, twice = suppress(rects[order], once, threshold=0.45, kind="greedynms")
    assert sorted(map(tuple, twice.tolist())) == sorted(map(tuple, once.tolist()))


@settings(max_examples=50, deadline=None)
@given(st.lists(_candidates(), min_size=1, max_size=4))
def test_several_pictures_at_once_are_each_on_its_own(pictures: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    classes = min(probabilities.shape[1] for _, probabilities in pictures)
    pictures = [(rects, probabilities[:, :classes]) for rects, probabilities in pictures]
    counts = [len(rects) for rects, _ in pictures]
    order, kept = suppress_each(*map(torch.cat, zip(*pictures, strict=True)), counts, threshold=0.45, kind="greedynms")
    start = 0
    for (rects, probabilities), count in zip(pictures, counts, strict=True):
        alone, kept_alone = suppress(rects, probabilities, threshold=0.45, kind="greedynms")
        assert torch.equal(order[start : start + count] - start, alone)
        assert torch.equal(kept[start : start + count], kept_alone)
        start += count


def test_order_is_by_the_last_class_first() -> None:
    rects = torch.tensor([[0.1, 0.1, 0.1, 0.1], [0.5, 0.5, 0.1, 0.1], [0.9, 0.9, 0.1, 0.1], [0.3, 0.9, 0.1, 0.1]])
    probabilities = torch.tensor([[0.9, 0.0], [0.2, 0.3], [0.0, 0.8], [0.95, 0.0]])
    order, kept = suppress(rects, probabilities, threshold=0.45)
    assert order.tolist() == [2, 1, 3, 0]
    assert torch.equal(kept, probabilities[order])


def test_suppressed_values_still_decide_the_order() -> None:
    rects = torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.5, 0.5, 0.4, 0.4], [0.1, 0.1, 0.1, 0.1]])
    order, kept = suppress(rects, torch.tensor([[0.9], [0.8], [0.1]]), threshold=0.45)
    assert order.tolist() == [0, 1, 2]
    assert kept[:, 0].tolist() == pytest.approx([0.9, 0.0, 0.1])


def test_greedynms_keeps_what_iou_drops() -> None:
    rects = torch.tensor([[0.50, 0.5, 0.2, 0.2], [0.57, 0.5, 0.2, 0.2]])  # IoU .481, centre term .19
    probabilities = torch.tensor([[0.9], [0.8]])
    assert suppress(rects, probabilities, threshold=0.45)[1].count_nonzero() == 1
    assert suppress(rects, probabilities, threshold=0.45, kind="greedynms")[1].count_nonzero() == 2


def test_no_detections_give_none() -> None:
    order, kept = suppress(torch.zeros(0, 4), torch.zeros(0, 3), threshold=0.45)
    assert order.shape == (0,)
    assert kept.shape == (0, 3)


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown nms kind 'soft'"):
        suppress(torch.zeros(1, 4), torch.ones(1, 1), threshold=0.45, kind="soft")


@pytest.mark.slow
def test_ten_thousand_candidates_of_many_chains() -> None:
    generator = torch.Generator().manual_seed(1)
    centres = torch.rand(10_000, 2, generator=generator)
    rects = torch.cat([centres, torch.full((10_000, 2), 0.05)], dim=1)
    probabilities = torch.rand(10_000, 1, generator=generator)
    order, kept = suppress(rects, probabilities, threshold=0.45)
    survivors = rects[order][kept[:, 0] > 0]
    overlaps = boxes.iou(survivors[:, None], survivors[None]).fill_diagonal_(0)
    assert float(overlaps.max()) <= 0.45
    gone = rects[order][kept[:, 0] == 0]
    assert bool((boxes.iou(gone[:, None], survivors[None]).max(dim=1).values > 0.45).all())


def test_from_letterbox_counts_half_pixels_of_the_border() -> None:
    back = from_letterbox(torch.tensor([[0.5, 54.5 / 320, 1.0, 0.1]]), fitted_size=(320, 211), network_size=(320, 320))
    assert back[0].tolist() == pytest.approx([0.5, 0.0, 1.0, 32 / 211], abs=1e-6)
