"""Cheap operations whose results are computed again in backward, and how to get the same bits.

Each recipe is the operation itself, run once more on the same inputs. Batch norm is the exception: on a CPU its
statistics are not counted again. The pass that only normalises gives the same bits if it is handed a variance whose
root's inverse is the one that training used; that variance is searched with the operation itself.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten

Compute = Callable[[Sequence[Tensor]], Tensor]

_NEIGHBOURS = 6  # floats on either side of the first guess of a variance


ELEMENTWISE = frozenset((  # of one tensor
    aten.leaky_relu.default, aten.relu.default, aten.mish.default, aten.silu.default, aten.sigmoid.default,
    aten.tanh.default, aten.elu.default, aten.hardtanh.default,
))  # fmt: skip
IN_PLACE = {  # written over its input -> the same into fresh memory
    aten.leaky_relu_.default: aten.leaky_relu.default,
    aten.relu_.default: aten.relu.default,
    aten.sigmoid_.default: aten.sigmoid.default,
    aten.silu_.default: aten.silu.default,
    aten.tanh_.default: aten.tanh.default,
    aten.elu_.default: aten.elu.default,
    aten.hardtanh_.default: aten.hardtanh.default,
}
RESHAPING = frozenset((aten.constant_pad_nd.default, aten.upsample_nearest2d.default, aten.upsample_nearest2d.vec))
POOLING = aten.max_pool2d_with_indices.default
NORMALIZING = aten.native_batch_norm.default
ADDING, JOINING = aten.add.Tensor, aten.cat.default


def rerun(operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, output: int | None) -> Compute:
    """Return a function of an operation's first argument that runs it once more.

    Args:
        operation: Of aten, with one tensor, which is the first argument.
        args: The arguments behind it.
        kwargs: As it was called.
        output: Which result is meant, where there are several.
    """

    def compute(inputs: Sequence[Tensor]) -> Tensor:
        result = operation(inputs[0], *args, **kwargs)
        return cast(Tensor, result if output is None else result[output])

    return compute


def sum_again(args: Sequence[Any], kwargs: dict[str, Any]) -> Compute:
    """Return a function of two tensors that adds them as ``aten.add`` was called."""
    return lambda inputs: cast(Tensor, ADDING(inputs[0], inputs[1], *args, **kwargs))


def join_again(args: Sequence[Any]) -> Compute:
    """Return a function of some tensors that joins them as ``aten.cat`` was called."""
    return lambda inputs: cast(Tensor, JOINING(list(inputs), *args))


def normalize_again(
    weight: Tensor | None, bias: Tensor | None, mean: Tensor, inverse: Tensor, epsilon: float
) -> Compute:
    """Return a function of a batch norm's input that gives its output again.

    Args:
        weight: (C,), or None.
        bias: (C,), or None.
        mean: (C,) of the batch, as training found it.
        inverse: (C,) of the batch: 1 / sqrt(variance + epsilon), as training found it.
        epsilon: As it was called.
    """
    weight, bias = (None if one is None else one.detach() for one in (weight, bias))

    def compute(inputs: Sequence[Tensor]) -> Tensor:
        (x,) = inputs
        variance = torch.empty_like(inverse) if _is_fake(inverse) else variance_of(inverse)
        if variance is not None:  # normalising alone takes two thirds of the time
            return cast(Tensor, NORMALIZING(x, weight, bias, mean, variance, False, 0.0, 0.0)[0])
        return cast(Tensor, NORMALIZING(x, weight, bias, None, None, True, 0.0, epsilon)[0])

    return compute


def _is_fake(tensor: Tensor) -> bool:
    """Return whether a tensor is one of torch's fake ones, which have no values."""
    return isinstance(tensor, FakeTensor)


def variance_of(inverse: Tensor) -> Tensor | None:
    """Return (C,) variances from which batch norm in inference computes exactly ``inverse`` with epsilon 0.

    None if a channel has none among the floats near 1 / inverse**2.
    """
    if inverse.device.type != "cpu":
        return None  # another device normalises by other code in inference than in training
    steps = torch.arange(-_NEIGHBOURS, _NEIGHBOURS + 1, dtype=torch.int32).view(-1, 1)
    candidates = ((1 / (inverse * inverse)).view(torch.int32) + steps).view(torch.float32)  # (13, C)
    flat = candidates.reshape(-1)
    ones, zeros = torch.ones_like(flat), torch.zeros_like(flat)
    found = NORMALIZING(ones.view(1, -1, 1, 1), ones, zeros, zeros, flat, False, 0.0, 0.0)[0].view_as(candidates)
    hits = found == inverse
    if not bool(hits.any(0).all()):
        return None
    return candidates.gather(0, hits.int().argmax(0, keepdim=True))[0]
