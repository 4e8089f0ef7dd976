"""Adam as darknet has it: on sums over images, decay in the gradient.  Source: darknet src/blas_kernels.cu.

    d -= decay * images * w                      weights, biases and scales alike
    m = B1 m + (1 - B1) d,  s = B2 s + (1 - B2) d d
    w += rate * (m / (1 - B1^t)) / (sqrt(s / (1 - B2^t)) + eps)
    d = 0

d is the accumulator: the summed negative gradient. Neither decay nor eps knows ``loss_scale``.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class AdamRule:
    """Values of [net]."""

    b1: float
    b2: float
    eps: float


@torch.no_grad()
def adam_step(
    parameters: list[Tensor],
    accumulators: list[Tensor],
    means: list[Tensor],
    squares: list[Tensor],
    *,
    rule: AdamRule,
    rate: float,
    decay: float,
    iteration: int,
) -> None:
    """Update the parameters, in place, and set their accumulators to 0.

    Args:
        parameters: To update.
        accumulators: Summed negative gradients, one for each parameter.
        means: Adam's m.
        squares: Adam's v.
        rule: Values of [net].
        rate: Learning rate of this iteration.
        decay: Weight decay times images.
        iteration: Number of the update, counted from 1.
    """
    if decay:
        torch._foreach_add_(accumulators, parameters, alpha=-decay)
    torch._foreach_mul_(means, rule.b1)
    torch._foreach_add_(means, accumulators, alpha=1 - rule.b1)
    torch._foreach_mul_(squares, rule.b2)
    torch._foreach_addcmul_(squares, accumulators, accumulators, value=1 - rule.b2)
    divisors = torch._foreach_div(squares, 1 - rule.b2**iteration)
    torch._foreach_sqrt_(divisors)
    torch._foreach_add_(divisors, rule.eps)
    torch._foreach_addcdiv_(parameters, means, divisors, value=rate / (1 - rule.b1**iteration))
    torch._foreach_zero_(accumulators)
