"""Gradients that wait long wait elsewhere, and add up to the same bits."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from darkpy.memory.parking import Box, Parking

Graph = Callable[[Tensor, Callable[[], Tensor]], Tensor]


class Elsewhere:
    """Counts what is away."""

    def __init__(self) -> None:
        self.parked = self.away = 0

    def park(self, tensor: Tensor) -> "Waiting":
        self.parked += 1
        self.away += 1
        return Waiting(tensor.clone(), self)


class Waiting:
    def __init__(self, tensor: Tensor, elsewhere: Elsewhere) -> None:
        self.tensor, self.elsewhere = tensor, elsewhere

    def take(self) -> Tensor:
        self.elsewhere.away -= 1
        return self.tensor


def two(fork: Tensor, read: Callable[[], Tensor]) -> Tensor:
    return (read().sin() * 3).exp() * read()


def four(fork: Tensor, read: Callable[[], Tensor]) -> Tensor:
    y = read().sin()
    y = y * read().exp()
    y = y + read() / 3
    return y.tanh() * read()


def one_without_gradient(fork: Tensor, read: Callable[[], Tensor]) -> Tensor:
    return read().sin() * read().detach() * read()


def nobody(fork: Tensor, read: Callable[[], Tensor]) -> Tensor:
    return read().detach() + torch.zeros_like(fork).requires_grad_()


@pytest.mark.parametrize("graph", [two, four, one_without_gradient], ids=lambda graph: graph.__name__)
def test_sums_are_the_same_bits(graph: Graph) -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(1000, requires_grad=True), torch.randn(1000)
    y = x * 3
    (expected,) = torch.autograd.grad((graph(y, lambda: y) * weight).sum(), x)
    elsewhere = Elsewhere()
    y, box = Parking(elsewhere.park).fork(x * 3)
    (found,) = torch.autograd.grad((graph(y, lambda: box.read(y)) * weight).sum(), x)
    assert torch.equal(found, expected)
    assert elsewhere.parked > 0
    assert elsewhere.away == 0


def test_a_tensor_that_gets_no_gradient_passes_none_on() -> None:
    x = torch.randn(10, requires_grad=True)
    y, box = Parking(Elsewhere().park).fork(x * 3)
    nobody(y, lambda: box.read(y)).sum().backward()
    assert x.grad is None


def test_gradients_wait_until_the_last_one_comes() -> None:
    elsewhere = Elsewhere()
    box = Box(elsewhere.park)
    for _ in range(3):
        box.read(torch.ones(4))
    box.add(torch.ones(4))
    assert elsewhere.away == 1
    box.add(torch.full((4,), 2.0))
    assert elsewhere.away == 1
    box.add(torch.full((4,), 4.0))
    assert (elsewhere.parked, elsewhere.away) == (2, 0)
    total = box.take()
    assert total is not None
    assert total.tolist() == [7.0] * 4
    assert box.take() is None  # it holds nothing any more
