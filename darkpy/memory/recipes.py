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

from darkpy.memory.values import Recipe

aten = torch.ops.aten

_NEIGHBOURS = 6  # floats on either side of the first guess of a variance


ELEMENTWISE = {  # of one tensor -> the same written over it
    aten.leaky_relu.default: aten.leaky_relu_.default,
    aten.relu.default: aten.relu_.default,
    aten.mish.default: aten.mish_.default,
    aten.silu.default: aten.silu_.default,
    aten.sigmoid.default: aten.sigmoid_.default,
    aten.tanh.default: aten.tanh_.default,
    aten.elu.default: aten.elu_.default,
    aten.hardtanh.default: aten.hardtanh_.default,
}
IN_PLACE = {over: fresh for fresh, over in ELEMENTWISE.items()}
RESHAPING = frozenset((aten.constant_pad_nd.default, aten.upsample_nearest2d.default, aten.upsample_nearest2d.vec))
POOLING = aten.max_pool2d_with_indices.default
NORMALIZING = aten.native_batch_norm.default
ADDING, JOINING = aten.add.Tensor, aten.cat.default


def rerun(operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, output: int | None) -> Recipe:
    """Return how an operation of one tensor gives its result again: by running once more.

    Args:
        operation: Of aten; the tensor is its first argument.
        args: The arguments behind it.
        kwargs: As it was called.
        output: Which result is meant, where there are several.
    """

    def compute(inputs: Sequence[Tensor]) -> Tensor:
        result = operation(inputs[0], *args, **kwargs)
        return cast(Tensor, result if output is None else result[output])

    if operation not in ELEMENTWISE:
        return Recipe(compute)
    over = ELEMENTWISE[operation]
    return Recipe(compute, over=lambda inputs, place: cast(Tensor, over(inputs[place], *args, **kwargs)))


def sum_again(args: Sequence[Any], kwargs: dict[str, Any]) -> Recipe:
    """Return how two tensors are added as ``aten.add`` was called."""

    def over(inputs: Sequence[Tensor], place: int) -> Tensor:
        return inputs[place].add_(inputs[1 - place])  # a sum of two is the same in either order

    is_plain = not args and kwargs.get("alpha", 1) == 1
    return Recipe(
        lambda inputs: cast(Tensor, ADDING(inputs[0], inputs[1], *args, **kwargs)),
        over=over if is_plain else None,
        joins=True,
    )


def join_again(args: Sequence[Any]) -> Recipe:
    """Return how some tensors are joined as ``aten.cat`` was called."""
    return Recipe(lambda inputs: cast(Tensor, JOINING(list(inputs), *args)), joins=True)


def view_again(view: Tensor) -> Recipe:
    """Return how a view is made of the tensor that has its memory."""
    size, stride, offset = view.size(), view.stride(), view.storage_offset()
    return Recipe(lambda inputs: torch.as_strided(inputs[0], size, stride, offset), is_view=True)


def normalize_again(
    weight: Tensor | None, bias: Tensor | None, mean: Tensor, inverse: Tensor, epsilon: float
) -> Recipe:
    """Return how a batch norm's input gives its output again.

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

    return Recipe(compute)


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
