"""A small network with every operation that the memory part knows, and its gradients."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """Convolutions with batch norm, every way to join them, a squeeze, a drop, and poolings."""

    def __init__(self, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.activation = activation
        self.first, self.second, self.third = (nn.Conv2d(c, 16, 3, padding=1, bias=False) for c in (3, 16, 16))
        self.last = nn.Conv2d(32, 8, 1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(16) for _ in range(3))
        self.squeeze = nn.Conv2d(16, 16, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.activation(self.norms[0](self.first(x)))
        b = self.activation(self.norms[1](self.second(a)))
        total = a + b
        gate = torch.sigmoid(self.squeeze(F.adaptive_avg_pool2d(total, 1)))
        c = self.activation(self.norms[2](self.third(total * gate)))
        generator = torch.Generator().manual_seed(3)
        c = c * (torch.rand(c.shape, generator=generator) >= 0.3) / 0.7
        pooled = F.max_pool2d(c, 2, 2)
        wide = F.max_pool2d(F.pad(pooled, (0, 1, 0, 1), value=-1e30), 2, 1)
        half = torch.cat([F.interpolate(wide, scale_factor=2.0), total], dim=1).chunk(2, dim=1)[1]
        return self.last(torch.cat([half, c], dim=1))


ACTIVATIONS = {
    "leaky": lambda x: F.leaky_relu_(x, 0.1),
    "relu": torch.relu_,
    "mish": F.mish,
    "silu": F.silu,
    "tanh": torch.tanh,
    "logistic": torch.sigmoid,
    "relu6": F.relu6,
    "elu": F.elu,
}


def made(activation: str, order: torch.memory_format = torch.channels_last) -> tuple[Block, Tensor]:
    torch.manual_seed(1)
    block = Block(ACTIVATIONS[activation]).to(memory_format=order)
    return block, torch.rand(4, 3, 48, 40).to(memory_format=order).requires_grad_()


def gradients(block: Block, x: Tensor) -> list[Tensor]:
    parameters = [x, *block.parameters()]
    return list(torch.autograd.grad(block(x).square().sum(), parameters))
