"""Gradients that are held in bounds, and ``try_fix_nan``: keeps values that are no finite numbers from spreading.

Source: darknet src/blas_kernels.cu, fix_nan_and_inf, reset_nan_and_inf; src/convolutional_kernels.cu.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

_LARGEST_DELTA = 1.0  # of an output that is guarded


def mend(values: Tensor) -> Tensor:
    """Return the values with 1 / (index + 1) in place of those that are no finite numbers; darknet's choice.

    Args:
        values: Any shape; the index counts in row-major order.
    """
    place = torch.arange(1, values.numel() + 1, dtype=values.dtype, device=values.device).view(values.shape)
    return torch.where(values.isfinite(), values, 1 / place)


def drop(values: Tensor) -> Tensor:
    """Return the values with 0 in place of those that are no finite numbers."""
    return torch.where(values.isfinite(), values, torch.zeros_like(values))


class _BoundedOutput(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, output: Tensor) -> Tensor:
        return output.view_as(output)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        return gradient.clamp(-_LARGEST_DELTA, _LARGEST_DELTA)


class _GuardedOutput(_BoundedOutput):
    @staticmethod
    def forward(ctx: FunctionCtx, output: Tensor) -> Tensor:
        return mend(output)


class _GuardedInput(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        return drop(gradient)


def guarded_output(output: Tensor) -> Tensor:
    """Return a layer's output, mended; each gradient that comes back is held within -1 and 1."""
    guarded: Tensor = _GuardedOutput.apply(output)
    return guarded


def bounded_output(output: Tensor) -> Tensor:
    """Return a layer's output; each gradient that comes back is held within -1 and 1."""
    bounded: Tensor = _BoundedOutput.apply(output)
    return bounded


def guarded_input(x: Tensor) -> Tensor:
    """Return a layer's input; gradients to it that are no finite numbers become 0."""
    guarded: Tensor = _GuardedInput.apply(x)
    return guarded
