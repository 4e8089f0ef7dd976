"""Figures of yolov3-spp at 416 that are known: what it keeps, and how long the reference takes."""

import pytest

from darkpy.blueprint import read_blueprint
from darkpy.cfg.shipped import shipped_folder
from darkpy.memory.plan import Costs, Machine
from darkpy.tasks._memory_costs import Size, training_costs

pytestmark = pytest.mark.slow

RTX_2070 = Machine(7.5e12, 448e9, 12e9)  # and PCIe 3.0


@pytest.fixture(scope="module")
def spp() -> Costs:
    return training_costs(read_blueprint(shipped_folder("cfg") / "yolov3-spp.cfg"), Size(416, 416), batch=64)


def test_bytes_that_each_tier_keeps(spp: Costs) -> None:
    kept = [tier.trace.saved.image + tier.trace.offloaded.image for tier in spp.tiers]
    assert [number < bound * 1e6 for number, bound in zip(kept, (382, 228, 228, 165), strict=True)] == [True] * 4
    assert kept[1] == kept[2] == pytest.approx(221.3e6, rel=1e-3)  # convolutions' outputs, sums and the picture


def test_flops_are_those_that_torch_counts(spp: Costs) -> None:
    trace = spp.tiers[0].trace
    assert sum(one.flops_image for one in trace.operations[: trace.forward]) == pytest.approx(66.218e9, rel=1e-4)
    assert sum(one.flops_image for one in trace.operations) == pytest.approx(198.356e9, rel=1e-4)


def test_the_model_gives_the_published_time_of_an_iteration(spp: Costs) -> None:
    """AlexeyAB/darknet issue 4386: 3 s for 64 images in tier 0, with a mini-batch of 8."""
    assert 3.0 <= spp.iteration(spp.tiers[0], 8, 8, RTX_2070) <= 3.3


def test_offloading_costs_no_more_than_computing_again(spp: Costs) -> None:
    """The reference takes 15 s in tier 3; here the copies hide behind the computation but for their ends."""
    plain, recomputing, *offloading = (spp.iteration(tier, 32, 2, RTX_2070) for tier in spp.tiers)
    assert plain < recomputing
    assert all(seconds < 1.03 * recomputing for seconds in offloading)
