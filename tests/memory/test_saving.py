"""What backward needs, kept once or computed again: the same gradients, fewer bytes, nothing left behind."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from small_models import ACTIVATIONS, gradients, made
from torch import Tensor, nn

from darkpy.memory.saving import SMALLEST, SavedActivations
from darkpy.memory.values import Kept

TIERS = [{"recompute": False}, {}, {"recompute_sums": True}]


@pytest.mark.parametrize("order", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("options", TIERS, ids=["kept", "recomputed", "sums too"])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_gradients_and_statistics_are_the_same_bits(
    activation: str, options: dict[str, bool], order: torch.memory_format
) -> None:
    block, x = made(activation, order)
    expected = gradients(block, x)
    statistics = [one.clone() for one in block.buffers()]
    block, x = made(activation, order)
    with SavedActivations(**options):
        found = gradients(block, x)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(block.buffers(), statistics, strict=True))


def stored_bytes(step: Callable[[], object], **options: bool) -> int:
    """Return the bytes that are stored while a step runs."""
    sizes: list[int] = []

    def store(tensor: Tensor) -> Kept:
        sizes.append(tensor.untyped_storage().nbytes())
        return Kept(tensor)

    with SavedActivations(store, **options):
        step()
    return sum(sizes)


def test_of_a_convolution_with_batch_norm_only_input_and_output_are_stored() -> None:
    torch.manual_seed(1)
    layers = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Mish(), nn.Conv2d(16, 4, 1))
    x = torch.rand(4, 3, 48, 48)
    image, output = x.numel() * 4, 4 * 16 * 48 * 48 * 4
    assert stored_bytes(lambda: layers(x).sum().backward()) == image + output
    assert stored_bytes(lambda: layers(x).sum().backward(), recompute=False) == image + 3 * output


def test_sums_are_stored_unless_told_otherwise() -> None:
    block, x = made("leaky")
    plain = stored_bytes(lambda: block(x).sum().backward())
    assert stored_bytes(lambda: block(x).sum().backward(), recompute_sums=True) < plain


def test_one_storage_is_stored_once_whatever_its_views() -> None:
    x = torch.rand(4, 16, 48, 48, requires_grad=True) * 1
    parts = x.chunk(2, dim=1)
    assert stored_bytes(lambda: (parts[0] * parts[1]).sum().backward()) == x.numel() * 4


def test_small_tensors_and_parameters_are_not_stored() -> None:
    weight = nn.Parameter(torch.rand(300, 300))
    small = torch.rand(SMALLEST // 4 - 1)
    assert stored_bytes(lambda: (torch.mv(weight, weight[0]).sum() * small.exp().sum()).backward()) == 0


@pytest.mark.parametrize("options", TIERS, ids=["kept", "recomputed", "sums too"])
@pytest.mark.parametrize("size", [8, 64], ids=["small", "large"])
def test_an_in_place_write_on_a_saved_tensor_raises(options: dict[str, bool], size: int) -> None:
    x = torch.rand(4, 8, size, size, requires_grad=True)
    with SavedActivations(**options):
        y = torch.exp(x)  # keeps its result
        y.mul_(2)
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation: \[4, 8"):
            y.sum().backward()


def test_what_is_computed_of_a_spoiled_tensor_raises_too() -> None:
    conv, norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
    head = nn.Conv2d(8, 1, 1)
    with SavedActivations():
        x = conv(torch.rand(4, 3, 48, 48))
        y = head(torch.relu(norm(x)))
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_writing_into_what_nobody_saved_is_allowed() -> None:
    x = torch.rand(4, 8, 48, 48, requires_grad=True)
    with SavedActivations():
        y = (x + 1).mul_(3).add_(2)
        y.sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 3))


def alive(step: Callable[[Callable[[Tensor], Kept]], object]) -> int:
    """Return how many stores are left when a step is over."""
    stores: list[weakref.ref[Kept]] = []

    def store(tensor: Tensor) -> Kept:
        kept = Kept(tensor)
        stores.append(weakref.ref(kept))
        return kept

    step(store)
    gc.collect()
    assert stores
    return sum(one() is not None for one in stores)


def test_nothing_is_left_after_backward_an_exception_or_a_dropped_graph() -> None:
    block, x = made("mish")

    def backward(store: Callable[[Tensor], Kept]) -> None:
        with SavedActivations(store):
            block(x).sum().backward()

    def dropped(store: Callable[[Tensor], Kept]) -> None:
        with SavedActivations(store):
            block(x)

    def failed(store: Callable[[Tensor], Kept]) -> None:
        with pytest.raises(ZeroDivisionError), SavedActivations(store):
            block(x).sum().backward(1 / 0)

    for step in (backward, dropped, failed):
        assert alive(step) == 0


def test_backward_can_run_twice_and_outside_the_context() -> None:
    block, x = made("leaky")
    expected = gradients(block, x)
    block, x = made("leaky")
    with SavedActivations():
        loss = block(x).square().sum()
    parameters = [x, *block.parameters()]
    torch.autograd.grad(loss, parameters, retain_graph=True)
    found = torch.autograd.grad(loss, parameters)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_an_evaluation_between_forward_and_backward_changes_nothing() -> None:
    block, x = made("leaky")
    expected = gradients(block, x)
    block, x = made("leaky")
    with SavedActivations():
        loss = block(x).square().sum()
        with torch.no_grad():
            block.eval()(x)
        block.train()
        found = torch.autograd.grad(loss, [x, *block.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_model_with_less_than_a_batch_of_statistics_goes_back_to_counting() -> None:
    """Where no variance gives the very inverse root, the statistics are counted again: the same bits."""
    from darkpy.memory import recipes

    inverse = torch.full((4,), 1e20)  # 1 / inverse**2 is 0 in float32
    assert recipes.variance_of(inverse) is None
    again = recipes.normalize_again(None, None, torch.zeros(4), inverse, 1e-5)
    x = torch.rand(2, 4, 8, 8)
    assert torch.equal(again.compute([x]), torch.native_batch_norm(x, None, None, None, None, True, 0.0, 1e-5)[0])
