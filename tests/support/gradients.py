"""Gradients of a chosen value, as backward would bring them."""

from pathlib import Path

import golden
import torch
from torch import Tensor

from darkpy.network import Network, plan_network

# A mini-batch's truths: one object in each of four pictures.
TRUTHS = torch.tensor([[[0.5, 0.5, 0.3, 0.4, 0.0]]]).expand(4, -1, -1)


def give(parameter: Tensor, gradient: Tensor) -> None:
    """Let backward find this gradient."""
    torch.autograd.backward([parameter], [gradient.expand_as(parameter)])


def build(layers: list[golden.Layer], **net: object) -> Network:
    """Return a network behind a [net] with these values."""
    torch.manual_seed(0)
    return Network(plan_network(golden.sections(golden.with_net(net, layers)), Path("case.cfg")))


def pictures(seed: int = 0, height: int = 64, width: int = 96) -> Tensor:
    """Return four random pictures (4, 3, H, W)."""
    return torch.rand(4, 3, height, width, generator=torch.Generator().manual_seed(seed))
