"""Backward in place: a gradient that nobody else refers to is written over by the gradient that comes of it.

Autograd hands an operation of backward a gradient and frees it afterwards, so that both exist for a moment; for the
largest layer that moment is the peak of a step. Whether somebody else refers to it (a branch that waits for its turn,
a hook, a view) is counted: a gradient has as many references as one in a graph without any branch has, or more. The
expected numbers are found by running such a graph, so that they hold for whatever version of torch this is. They count
only for the node of the graph that they were found for: the formula of another one may need its gradient once more.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

aten = torch.ops.aten

_PARTS = 16  # in which an operation goes over a tensor that has no way to write into it
_UNIT = 64  # values: parts are multiples of it, so that each vector of a processor holds the same ones

_ADDS_NOTHING = frozenset((  # nodes without a sum in their formula: one at such a node is that of two branches
    "AddBackward", "CatBackward", "ConvolutionBackward", "EluBackward", "HardtanhBackward", "LeakyReluBackward",
    "MaxPool2DWithIndicesBackward", "MishBackward", "MulBackward", "NativeBatchNormBackward", "ReluBackward",
    "SigmoidBackward", "SiluBackward", "SliceBackward", "TanhBackward", "UpsampleNearest2DBackward",
))  # fmt: skip

Counts = tuple[int, int, int]  # references to the tensor, to its storage, to its Python object


def _over(operation: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return an operation that writes into its first argument, by its variant that takes where to write."""
    return lambda gradient, *args, **kwargs: cast(Tensor, operation(gradient, *args, **kwargs, grad_input=gradient))


def _add(gradient: Tensor, other: Tensor, **kwargs: Any) -> Tensor:
    return gradient.add_(other, **kwargs)


def _mish(gradient: Tensor, x: Tensor) -> Tensor | None:
    return _part_by_part(aten.mish_backward.default, gradient, x)


WRITES_OVER: dict[Any, tuple[Callable[..., Tensor | None], Callable[[Tensor], Tensor]]] = {
    # operation of backward -> the same over its first argument; what has it in its graph
    aten.leaky_relu_backward.default: (_over(aten.leaky_relu_backward.grad_input), F.leaky_relu),
    aten.threshold_backward.default: (_over(aten.threshold_backward.grad_input), torch.relu),
    aten.silu_backward.default: (_over(aten.silu_backward.grad_input), F.silu),
    aten.sigmoid_backward.default: (_over(aten.sigmoid_backward.grad_input), torch.sigmoid),
    aten.tanh_backward.default: (_over(aten.tanh_backward.grad_input), torch.tanh),
    aten.elu_backward.default: (_over(aten.elu_backward.grad_input), F.elu),
    aten.hardtanh_backward.default: (_over(aten.hardtanh_backward.grad_input), F.hardtanh),
    aten.mish_backward.default: (_mish, F.mish),
    aten.add.Tensor: (_add, lambda x: x + x * 2),  # where branches meet
}


def written_over(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Return what an operation of backward gives, written over its gradient; None if that must not be.

    Args:
        operation: Of aten.
        args: As it is called; the gradient first.
        kwargs: As it is called.
    """
    if operation not in WRITES_OVER or not _are_alike(args):
        return None
    expected, node = expect_references()[operation]
    if any(one > most for one, most in zip(_references(args), expected, strict=True)):
        return None
    if _node() not in (_ADDS_NOTHING if operation == aten.add.Tensor else (node,)):
        return None
    return WRITES_OVER[operation][0](*args, **kwargs)


@lru_cache(maxsize=1)
def expect_references() -> dict[Any, tuple[Counts, str]]:
    """Return for each operation how often a gradient is referred to that nobody else needs, and its node's name."""
    found: dict[Any, tuple[Counts, str]] = {}
    with _disable_current_modes(), torch.enable_grad(), _Counting(found):
        for _, forward in WRITES_OVER.values():
            x = torch.ones(4, requires_grad=True)
            torch.autograd.grad((forward(x * 1) * 2).sum(), x)
    return found


class _Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Takes note of the references of each operation's first argument, where ``written_over`` would count them."""

    def __init__(self, found: dict[Any, tuple[Counts, str]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found = found

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_backward = torch._C._current_graph_task_id() != -1
        if is_backward and func in WRITES_OVER and func not in self._found:
            self._found[func] = _references(args), _node()
        return func(*args, **(kwargs or {}))


def _references(args: tuple[Any, ...]) -> Counts:
    gradient = args[0]
    storage = torch._C._storage_Use_Count(gradient.untyped_storage()._cdata)
    return gradient._use_count(), storage, sys.getrefcount(gradient)


def _node() -> str:
    """Return the name of the node that backward is at, without the number of its variant; "" if there is none."""
    node = torch._C._current_autograd_node()
    return "" if node is None else node.name().rstrip("0123456789")


def _are_alike(args: tuple[Any, ...]) -> bool:
    """Return whether the tensors of an operation lie in memory in the same way, and the first fills its storage."""
    gradient, *others = (one for one in args if isinstance(one, Tensor))
    return (
        gradient.untyped_storage().nbytes() == gradient.numel() * gradient.element_size()
        and not gradient.requires_grad
        and all(
            (one.size(), one.stride(), one.dtype) == (gradient.size(), gradient.stride(), gradient.dtype)
            for one in others
        )
    )


def _part_by_part(operation: Callable[..., Tensor], gradient: Tensor, x: Tensor) -> Tensor | None:
    """Write an operation's result over its first argument; None if the values do not divide into parts."""
    values = gradient.numel()
    if values % (_PARTS * _UNIT):
        return None
    (flat, of_x), size = (one.as_strided((values,), (1,)) for one in (gradient, x)), values // _PARTS
    for start in range(0, values, size):
        part = flat[start : start + size]
        part.copy_(operation(part, of_x[start : start + size]))
    return gradient
