"""A step on fake tensors takes what the same step takes for real."""

from collections.abc import Callable

import pytest
import torch
from kept_bytes import counted
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from darkpy.memory.costs import Linear, Trace
from darkpy.memory.suffix import Suffix
from darkpy.memory.trace import measured_peak, prime_for, record

SIDE = 64


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.LeakyReLU(0.1, inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.Mish(),
    )


def step_of(module: nn.Module) -> Callable[[int], None]:
    def step(images: int) -> None:
        output = module(torch.empty(images, 3, SIDE, SIDE))
        output.backward(torch.empty_like(output))

    return step


def traced(tier: int | None) -> Trace:
    with FakeTensorMode():
        module = network()
        return record(step_of(module), module, resident=[*module.parameters(), *module.buffers()], tier=tier)


def kept_for_real(tier: int, images: int) -> tuple[int, int]:
    """Return the bytes that a real step keeps on the device and elsewhere, counted by the hooks themselves."""
    module, suffix = network(), Suffix(tight=False)
    for _ in range(2):
        with counted(module, tier, suffix) as (stays, away):
            output = module(torch.rand(images, 3, SIDE, SIDE))
        del output
    return sum(stays.values()), sum(away.values())


@pytest.mark.parametrize("tier", [0, 1, 2, 3])
@pytest.mark.parametrize("images", [2, 4])  # a single picture is too small to be looked after
def test_kept_bytes_are_exact(tier: int, images: int) -> None:
    trace = traced(tier)
    assert (trace.saved.at(images), trace.offloaded.at(images)) == kept_for_real(tier, images)
    assert bool(trace.offloaded.image) == (tier >= 2)


def test_the_peak_is_that_of_torchs_own_tracker() -> None:
    images = 4
    with FakeTensorMode():
        module = network()
        for parameter in module.parameters():
            parameter.grad = torch.zeros_like(parameter)
        tracker = MemTracker()
        tracker.track_external(module)
        with tracker:
            step_of(module)(images)
        (peak,) = tracker.get_tracker_snapshot("peak").values()
        resident = [*module.parameters(), *module.buffers(), *(one.grad for one in module.parameters())]
        trace = record(step_of(module), module, resident=resident, tier=0)
    ours = trace.peak(images) + sum(one.numel() * one.element_size() for one in resident)
    assert ours == pytest.approx(peak["Total"], rel=1e-3)


def test_flops_are_those_of_the_convolutions() -> None:
    trace = traced(None)
    forward = sum(one.flops_image for one in trace.operations[: trace.forward])
    backward = sum(one.flops_image for one in trace.operations[trace.forward :])
    first, second = 2 * 16 * 27 * SIDE**2, 2 * 32 * 144 * SIDE**2 // 4
    assert forward == first + second
    assert backward == first + 2 * second  # the picture needs no gradient


def test_passes_over_memory_are_counted() -> None:
    """Batch norm reads its input twice, for the statistics and for the values, and writes once."""
    operations = {one.name: one for one in traced(None).operations if not one.is_backward}
    output = 32 * (SIDE // 2) ** 2 * 4
    assert operations["aten.native_batch_norm.default"].moved.image == 3 * output
    assert operations["aten.mish.default"].moved.image == 2 * output
    assert operations["aten.convolution.default"].weights == 32 * 16 * 9 * 4


def test_parts_give_names_to_what_they_leave() -> None:
    saved = [one for one in traced(0).lifetimes if one.is_saved and one.size.image]
    assert {one.module for one in saved} == {"", "0", "1", "3", "4", "5"}  # in place: layer 2 writes into 1


def test_tensors_that_do_not_grow_are_told_apart() -> None:
    def step(images: int) -> None:
        grows, does_not = torch.empty(images, 10), torch.empty(10)
        del grows, does_not

    with FakeTensorMode():
        trace = record(step, nn.Identity(), resident=(), tier=None)
    assert [one.size for one in trace.lifetimes] == [Linear(40, 0), Linear(0, 40)]


def test_hooks_are_gone_after_an_error() -> None:
    def step(_: int) -> None:
        raise KeyError("mine")

    module = network()
    with pytest.raises(KeyError, match="mine"):
        record(step, module, resident=(), tier=1)
    assert all(not part._forward_hooks and not part._forward_pre_hooks for part in module.modules())


def test_the_number_of_images_divides_no_size_of_a_parameter() -> None:
    assert prime_for(nn.Linear(10, 10)) == 1009
    assert prime_for(nn.Linear(1009, 2 * 1013)) == 1019


def test_no_number_of_images_may_be_left() -> None:
    sizes = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)
    with FakeTensorMode():
        module = nn.ModuleList(nn.Linear(size, 1) for size in sizes)
    with pytest.raises(ValueError, match=r"^sizes of the module's parameters are multiples of each of"):
        prime_for(module)


def test_a_real_peak_is_measured() -> None:
    def run() -> Tensor:
        a = torch.zeros(100)
        b = a + 1
        del a
        return b * 2

    assert measured_peak(run) == 800
