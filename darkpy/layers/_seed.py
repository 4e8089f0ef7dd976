"""Where backward begins: a head's gradient, freed once the layer below has it.

Whoever calls ``torch.autograd.backward`` with gradients holds them, and torch does, until backward ends.
"""

from typing import Any, cast

import torch
from torch import Tensor


class _Seed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, held: list[Tensor]) -> Tensor:
        ctx.held = held
        return output.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, None]:
        return ctx.held.pop(), None


def seed(output: Tensor, gradient: Tensor) -> Tensor:
    """Return a scalar whose backward hands ``gradient`` to ``output``, once, and keeps neither.

    Args:
        output: Of a network, with a history.
        gradient: Of the same size; the caller should let go of it.
    """
    return cast(Tensor, _Seed.apply(output, [gradient]))
