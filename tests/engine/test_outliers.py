"""Outlier rejection against a loop over single deltas."""

import math

import golden
import pytest
import torch
from gradients import TRUTHS, build, pictures
from torch import Tensor

from darkpy.cfg.net import NetSpec
from darkpy.engine.outliers import OutlierFilter

SHAPE = (2, 6, 8)  # images, anchors, 5 + 3 classes
CPU = torch.device("cpu")


def spec(**keys: object) -> NetSpec:
    return build([golden.conv(4), golden.output(), golden.yolo()], max_batches=1000, **keys).net


def deltas(seed: int) -> Tensor:
    """Some zeros, some values far out."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(SHAPE, generator=generator) ** 3
    return torch.where(torch.rand(SHAPE, generator=generator) < 0.3, 0, values)


class ByLoops:
    """The rule as plain arithmetic."""

    def __init__(self, net: NetSpec) -> None:
        self.net = net
        self.max = self.avg = self.std = self.threshold = 0.0
        self.lines: list[str] = []

    def __call__(self, delta: list[float], done: int) -> list[float]:
        net, start = self.net, self.net.max_batches * 3 // 4
        progress = (done - net.equidistant_point) / (net.max_batches - net.equidistant_point)
        smallest = self.avg * progress * 1.4
        present = [abs(d) for d in delta if d != 0]
        self.max = 0.99 * (self.max or max(present)) + 0.01 * max(present)
        self.avg = 0.99 * self.avg + 0.01 * sum(present) / len(present)
        if net.num_sigmas_reject_badlabels and done > start:
            share = (done - start) / start
            usual = self.avg + self.std * net.num_sigmas_reject_badlabels
            limit = max(usual, self.max - share * abs(self.max - usual))
            self.lines.append(f" rolling_std = {self.std:f}, rolling_max = {self.max:f}, rolling_avg = {self.avg:f} ")
            self.lines.append(f" badlabels loss_threshold = {limit:f}, start_it = {start}, progress = {share * 100:f} ")
            spread = math.sqrt(sum((d - self.avg) ** 2 for d in delta if d != 0) / len(present))
            self.std = 0.99 * self.std + 0.01 * spread
            delta = [0.0 if abs(d) > limit else d for d in delta]
            smallest = min(usual, self.avg) * progress
        if net.badlabels_rejection_percentage and done > start:
            self.threshold = self.threshold or self.max
            self.lines.append(f" badlabels_reject_threshold = {self.threshold:f} ")
            rejected = sum(abs(d) > self.threshold for d in delta)
            percent = 100 * rejected * SHAPE[2] / sum(d != 0 for d in delta)
            delta = [0.0 if abs(d) > self.threshold else d for d in delta]
            if percent > net.badlabels_rejection_percentage:
                self.threshold += 0.01
                self.lines.append(" increase!!! ")
            elif self.threshold > 0.01:
                self.threshold -= 0.01
                self.lines.append(" decrease!!! ")
            self.lines.append(
                f" badlabels_reject_threshold = {self.threshold:f}, cur_percent = {percent:f}, "
                f"badlabels_rejection_percentage = {net.badlabels_rejection_percentage:f}, "
                f"delta_rolling_max = {self.max:f} "
            )
        if net.equidistant_point and done > net.equidistant_point:
            self.lines.append(
                f" equidistant_point loss_threshold = {smallest:f}, start_it = {net.equidistant_point}, "
                f"progress = {progress * 100:3.1f} % "
            )
            delta = [0.0 if abs(d) < smallest else d for d in delta]
        return delta


@pytest.mark.parametrize(
    "keys",
    [
        {"num_sigmas_reject_badlabels": 3.0},
        {"badlabels_rejection_percentage": 2.0},
        {"equidistant_point": 400},
        {"equidistant_point": 900, "badlabels_rejection_percentage": 60.0},
        {"equidistant_point": 700, "badlabels_rejection_percentage": 2.0, "num_sigmas_reject_badlabels": 2.0},
    ],
)
@pytest.mark.parametrize("first", [500, 760, 960])
def test_forty_mini_batches_agree_with_a_loop(keys: dict[str, object], first: int) -> None:
    net = spec(**keys)
    ours, theirs = OutlierFilter(net, CPU), ByLoops(net)
    for step in range(40):
        delta = deltas(step)
        ours.begin(first + step)
        expected = delta.flatten().tolist()
        if ours.is_active:
            expected = theirs([float(d) for d in expected], first + step)
        found = ours(delta)
        assert found.flatten().tolist() == pytest.approx(expected, abs=1e-6)
    assert _rounded(ours.lines()) == _rounded(theirs.lines)
    assert ours.lines() == []


def _rounded(lines: list[str]) -> list[list[str]]:
    """Return each line as words, its numbers to three significant digits: the sums are in another order."""
    return [[_short(word) for word in line.replace(",", " ").split()] for line in lines]


def _short(word: str) -> str:
    try:
        return f"{float(word) + 1e-9:.3g}"
    except ValueError:
        return word


@pytest.mark.parametrize(
    ("keys", "begins"),
    [
        ({"num_sigmas_reject_badlabels": 3.0}, 751),
        ({"badlabels_rejection_percentage": 3.0}, 751),
        ({"equidistant_point": 400}, 401),
        ({}, 10**9),
    ],
)
def test_each_key_begins_after_its_iteration(keys: dict[str, object], begins: int) -> None:
    outliers = OutlierFilter(spec(**keys), CPU)
    for completed in (0, 400, 401, 750, 751, 999):
        outliers.begin(completed)
        assert outliers.is_active == (completed >= begins)
        if completed < begins:
            assert torch.equal(outliers(deltas(0)), deltas(0))


def test_a_mini_batch_without_deltas_or_with_one_that_is_no_number_moves_nothing() -> None:
    outliers = OutlierFilter(spec(num_sigmas_reject_badlabels=3.0), CPU)
    outliers.begin(800)
    outliers(deltas(0))
    before = {name: float(value) for name, value in outliers.state().items()}
    outliers(torch.full(SHAPE, math.nan))
    largest = before.pop("outliers.largest")
    outliers(torch.zeros(SHAPE))
    after = {name: float(value) for name, value in outliers.state().items()}
    assert after.pop("outliers.largest") == pytest.approx(largest * 0.99)  # 0 is a maximum, though of nothing
    assert after == before


def test_a_restored_filter_goes_on_bit_for_bit() -> None:
    net = spec(num_sigmas_reject_badlabels=2.0, badlabels_rejection_percentage=2.0)
    first, second = OutlierFilter(net, CPU), OutlierFilter(net, CPU)
    first.begin(800)
    first(deltas(0))
    second.restore({name: value.clone() for name, value in first.state().items()})
    for outliers in (first, second):
        outliers.begin(801)
    assert torch.equal(first(deltas(1)), second(deltas(1)))
    assert all(torch.equal(first.state()[name], second.state()[name]) for name in first.state())


def test_a_state_without_the_figures_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the state has no outliers\.largest"):
        OutlierFilter(spec(), CPU).restore({})


def test_heads_take_the_filtered_delta_and_its_figures() -> None:
    net = build([golden.conv(4), golden.output(), golden.yolo()], equidistant_point=1, max_batches=1000)
    outliers = OutlierFilter(net.net, CPU)
    outliers.begin(500)
    outliers.restore(outliers.state() | {"outliers.mean": torch.tensor(1.0)})
    inputs = net(pictures())
    plain, kept = (net.head_losses(inputs, TRUTHS, (16, 16), keep=keep)[2] for keep in (None, outliers))
    limit = 1.0 * 1.4 * 499 / 999
    assert torch.equal(kept.delta, torch.where(plain.delta.abs() < limit, 0, plain.delta))
    assert 0 < float(kept.total_loss) < float(plain.total_loss)
    assert float(kept.total_loss) == pytest.approx(float(kept.delta.square().sum()) / 4, rel=1e-5)
