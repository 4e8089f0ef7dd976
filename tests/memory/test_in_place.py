"""Gradients are written over where nobody else refers to them, and nowhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from darkpy.memory import in_place
from darkpy.memory.saving import SavedActivations

aten = torch.ops.aten
SIZE = (2, 16, 32, 32)
ACTIVATIONS: dict[Any, Callable[[Tensor], Tensor]] = {
    operation: forward for operation, (_, forward) in in_place.WRITES_OVER.items() if operation != aten.add.Tensor
}


@contextmanager
def counted(operation: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yield the addresses that an operation of backward was written over."""
    over, forward = in_place.WRITES_OVER[operation]
    seen: list[int] = []

    def noted(gradient: Tensor, *args: Any, **kwargs: Any) -> Tensor | None:
        result = over(gradient, *args, **kwargs)
        if result is not None:
            assert result.data_ptr() == gradient.data_ptr()
            seen.append(gradient.data_ptr())
        return result

    in_place.expect_references()
    with monkeypatch.context() as patch:
        patch.setitem(in_place.WRITES_OVER, operation, (noted, forward))
        yield seen


def gradient_of(graph: Callable[[Tensor], Tensor], *, saves: bool) -> Tensor:
    torch.manual_seed(1)
    x = torch.randn(SIZE, requires_grad=True)
    weight = torch.randn(SIZE)

    def run() -> Tensor:
        return torch.autograd.grad((graph(x) * weight).sum(), x)[0]

    if not saves:
        return run()
    with SavedActivations():
        return run()


@pytest.mark.parametrize("operation", ACTIVATIONS, ids=str)
def test_a_gradient_that_nobody_else_needs_is_written_over(operation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(x: Tensor) -> Tensor:
        return ACTIVATIONS[operation](x * 2)

    with counted(operation, monkeypatch) as seen:
        found = gradient_of(graph, saves=True)
    assert len(seen) == 1
    assert torch.equal(found, gradient_of(graph, saves=False))


KEPT: list[Tensor] = []


class Doubled(torch.autograd.Function):
    """Keeps the gradient that it hands on."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        KEPT.append(gradient)
        return gradient


def branch(act: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return x * 3 + act(x * 2)  # the sum's gradient is that of both; the activation's turn comes first


def hook(act: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    y = act(x * 2)
    y.register_hook(KEPT.append)
    return y


def view(act: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    y = act(x * 2)
    return torch.cat([y, x], dim=1)[:, : SIZE[1]]


def seed(act: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    y = act(x * 2)
    gradient = torch.ones_like(y)
    KEPT.append(gradient)
    torch.autograd.backward([y], [gradient], retain_graph=True)
    assert torch.equal(gradient, torch.ones_like(y))
    return y


def function(act: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return Doubled.apply(act(x * 2))  # type: ignore[no-any-return, no-untyped-call]


@pytest.mark.parametrize("graph", [branch, hook, view, seed, function], ids=lambda graph: graph.__name__)
@pytest.mark.parametrize("operation", ACTIVATIONS, ids=str)
def test_a_gradient_that_somebody_else_needs_is_left_alone(
    operation: Any, graph: Callable[..., Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    act = ACTIVATIONS[operation]
    KEPT.clear()
    expected = gradient_of(lambda x: graph(act, x), saves=False)
    kept = [one.clone() for one in KEPT]
    KEPT.clear()
    with counted(operation, monkeypatch) as seen:
        found = gradient_of(lambda x: graph(act, x), saves=True)
    assert torch.equal(found, expected)
    assert all(torch.equal(a, b) for a, b in zip(kept, KEPT, strict=True))
    assert len(seen) == (1 if graph is seed else 0)  # there, the second backward's own gradient


def test_sums_of_gradients_are_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(x: Tensor) -> Tensor:
        y = x * 2
        return (y * 3) * (y * 5) * (y * 7)

    with counted(aten.add.Tensor, monkeypatch) as seen:
        found = gradient_of(graph, saves=True)
    assert len(seen) == 2
    assert torch.equal(found, gradient_of(graph, saves=False))


class TwoParts(torch.autograd.Function):
    """Asks an operation of backward for one of its two gradients, and needs its own for the other."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (x,) = ctx.saved_tensors
        return aten.sigmoid_backward(gradients[0], x), gradients[0] + x


def test_in_another_nodes_formula_nothing_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(x: Tensor) -> Tensor:
        return TwoParts.apply(x * 2, x * 3) * 2  # type: ignore[no-any-return, no-untyped-call]

    monkeypatch.setattr(in_place, "_references", lambda args: (0, 0, 0))  # as if nobody ever referred to anything
    for operation in (aten.sigmoid_backward.default, aten.add.Tensor):
        with counted(operation, monkeypatch) as seen:
            found = gradient_of(graph, saves=True)
        assert len(seen) == (1 if operation == aten.add.Tensor else 0)  # the sum of both parts, behind it
    assert torch.equal(found, gradient_of(graph, saves=False))


def test_a_gradient_of_another_order_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def graph(x: Tensor) -> Tensor:
        return F.leaky_relu((x * 2).to(memory_format=torch.channels_last)).contiguous()

    with counted(aten.leaky_relu_backward.default, monkeypatch) as seen:
        found = gradient_of(graph, saves=True)
    assert not seen
    assert torch.equal(found, gradient_of(graph, saves=False))


@pytest.mark.parametrize("values", [in_place._PARTS * in_place._UNIT * 3, in_place._PARTS * in_place._UNIT + 1])
def test_mish_goes_part_by_part_if_it_can(values: int) -> None:
    gradient, x = torch.randn(values), torch.randn(values)
    expected = aten.mish_backward(gradient, x)
    result = in_place.WRITES_OVER[aten.mish_backward.default][0](gradient, x)
    if values % in_place._PARTS:
        assert result is None
    else:
        assert result is gradient
        assert torch.equal(result, expected)
