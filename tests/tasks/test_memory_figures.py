"""Figures of yolov3-spp at 416 that are known: what it keeps, and how long the reference takes."""

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from darkpy.blueprint import read_blueprint
from darkpy.cfg.shipped import shipped_folder
from darkpy.memory.plan import CONTEXT, GB, GIB, Budget, Costs, Machine
from darkpy.memory.saving import SavedActivations
from darkpy.memory.values import Kept
from darkpy.network import Network
from darkpy.tasks._memory_costs import Size, training_costs

pytestmark = pytest.mark.slow

RTX_2070 = Machine(7.5e12, 448e9, 12e9)  # and PCIe 3.0


@pytest.fixture(scope="module")
def spp() -> Costs:
    return training_costs(read_blueprint(shipped_folder("cfg") / "yolov3-spp.cfg"), Size(416, 416), batch=64)


@pytest.mark.parametrize(("sums", "bound", "exact"), [(False, 228, 221.3), (True, 165, 155.6)])
def test_bytes_that_must_be_kept(sums: bool, bound: float, exact: float) -> None:
    """Convolutions' outputs, sums if they are not computed again, and the picture."""
    images, kept = 2, [0]

    def store(tensor: Tensor) -> Kept:
        kept[0] += tensor.untyped_storage().nbytes()
        return Kept(tensor)

    with FakeTensorMode():
        network = Network(read_blueprint(shipped_folder("cfg") / "yolov3-spp.cfg"))
        with SavedActivations(store, recompute_sums=sums):
            network(torch.empty(images, 3, 416, 416))
    assert kept[0] / images / 1e6 <= bound
    assert kept[0] / images / 1e6 == pytest.approx(exact, rel=1e-3)


def test_tier_0_keeps_what_torch_keeps(spp: Costs) -> None:
    assert spp.tiers[0].trace.saved.image == pytest.approx(376.9e6, rel=1e-3)  # at most 382


def test_the_end_of_a_step_is_kept_where_the_peak_leaves_room(spp: Costs) -> None:
    for tier in spp.tiers[2:]:
        fast, tight = (way.trace for way in tier.ways)
        assert tight.saved.image < 2 * 22.2e6 < fast.saved.image < 3 * 22.2e6  # of the largest tensor
        assert fast.offloaded.image < tight.offloaded.image
        assert tight.peak(32) < 32 * 71e6


def test_flops_are_those_that_torch_counts(spp: Costs) -> None:
    trace = spp.tiers[0].trace
    assert sum(one.flops_image for one in trace.operations[: trace.forward]) == pytest.approx(66.218e9, rel=1e-4)
    assert sum(one.flops_image for one in trace.operations) == pytest.approx(198.356e9, rel=1e-4)


def test_the_model_gives_the_published_time_of_an_iteration(spp: Costs) -> None:
    """AlexeyAB/darknet issue 4386: 3 s for 64 images in tier 0, with a mini-batch of 8."""
    assert 3.0 <= spp.iteration(spp.tiers[0].ways[0], 8, 8, RTX_2070) <= 3.3


def test_32_images_fit_into_4_gb_at_the_published_time(spp: Costs) -> None:
    """The reference takes 15 s in tier 3; here copies hide behind the computation, and its context is in the 4 GB."""
    tier = spp.tiers[3]
    fit = spp.fit(tier, 32, 2, Budget(4 * GB - CONTEXT, 32 * GB), RTX_2070)
    assert fit.device <= 4 * GB - CONTEXT
    assert fit.seconds <= 3.4
    assert fit.pinned <= 8 * GB


def test_the_largest_mini_batch_in_4_gib_is_more_than_5_times_that_of_tier_0(spp: Costs) -> None:
    budget = Budget(4 * GIB - CONTEXT, 32 * GB)
    plain, *_, last = (spp.largest(tier, budget) for tier in spp.tiers)
    assert last >= 5 * plain > 0
