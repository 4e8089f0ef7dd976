import math

import golden
import numpy as np
import pytest
import torch
from gradients import build
from torch import Tensor

from darkpy.engine.similar_filters import SimilarFilters, most_alike
from darkpy.events import Line
from darkpy.network import Network

LINEAR = {"activation": "linear"}


def network() -> Network:
    """Layers 1 and 3 are looked at: 0 is the first, 2 is linear, 4 to 6 have a head within three layers."""
    layers = [golden.conv(4), golden.conv(6), golden.conv(4, **LINEAR), golden.conv(5), golden.conv(4), golden.conv(4)]
    return build([*layers, golden.output(), golden.yolo()], weights_reject_freq=10, max_batches=100)


def by_loops(weight: Tensor) -> tuple[int, int, float]:
    rows, best = weight.detach().flatten(1).double().numpy(), (0, 0, -1000.0)
    for k, one in enumerate(rows):
        for j in range(k + 1, len(rows)):
            divisor = math.sqrt(one @ one) * math.sqrt(rows[j] @ rows[j])
            likeness = float(one @ rows[j]) / divisor if divisor else 0.0
            if likeness > best[2]:
                best = (k, j, likeness)
    return best


@pytest.mark.parametrize("seed", range(5))
def test_the_most_alike_pair_is_that_of_a_loop_over_pairs(seed: int) -> None:
    weight = torch.randn(9, 2, 3, 3, generator=torch.Generator().manual_seed(seed))
    first, second, likeness = by_loops(weight)
    assert most_alike(weight) == (first, second, pytest.approx(likeness, abs=1e-6))


def test_a_filter_of_zeros_is_like_none_and_a_single_one_has_no_pair() -> None:
    weight = torch.tensor([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.5]])
    assert most_alike(weight) == (0, 1, 0.0)
    assert most_alike(weight[:1]) == (0, 0, -1000.0)


def test_similar_filters_start_anew() -> None:
    net, events = network(), []
    with torch.no_grad():
        net.layers[1].weight[4] = net.layers[1].weight[2] * 3
        net.layers[1].bias += 7
        net.layers[1].scale += 7
        net.layers[3].weight.zero_()
    before = net.layers[1].weight.detach().clone()
    SimilarFilters(net, events.append, seed=5).after_update(20)
    head = " reject_similar_weights: i = "
    assert events == [
        Line(f"{head}1, l.n = 6, w1 = 2, w2 = 4, sim = 1.000000, thresh = 0.400000 "),
        Line(" rejecting... "),
        Line(f"{head}3, l.n = 5, w1 = 0, w2 = 1, sim = 0.000000, thresh = 0.400000 "),
    ]
    bound = math.sqrt(2 / (4 * 3 * 3))
    drawn = np.random.default_rng([5, 3, 20, 1]).uniform(-bound, bound, (4, 3, 3))
    np.testing.assert_allclose(net.layers[1].weight[2].detach().numpy(), drawn, rtol=1e-6)
    kept = [0, 1, 3, 4, 5]
    assert torch.equal(net.layers[1].weight.detach()[kept], before[kept])
    assert net.layers[1].bias.tolist() == [7, 7, 0, 7, 7, 7]
    assert net.layers[1].scale.tolist() == [8, 8, 1, 8, 8, 8]


@pytest.mark.parametrize(("iteration", "acts"), [(10, True), (15, False), (70, True), (75, False), (80, False)])
def test_it_acts_every_so_often_in_the_first_three_quarters(iteration: int, acts: bool) -> None:
    events: list[object] = []
    SimilarFilters(network(), events.append, seed=5).after_update(iteration)
    assert bool(events) == acts


def test_without_the_key_nothing_happens() -> None:
    events: list[object] = []
    net = build([golden.conv(4), golden.conv(6), golden.conv(6), golden.conv(6), golden.output(), golden.yolo()])
    SimilarFilters(net, events.append, seed=5).after_update(20)
    assert events == []
