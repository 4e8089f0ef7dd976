"""Gradients that wait long: those of a tensor with several readers, some of which are far behind it in forward.

Backward comes to the last reader first. Autograd then holds its gradient on the device until it has come to the others.
Here it waits in host memory: every reader goes through ``Box.read``, which takes the gradient out of autograd's hands;
where the tensor was made, ``Parking.fork`` gives their sum back. The gradients are added in the order in which they
come, as autograd adds them, so that the bits are the same.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
from torch import Tensor


class Parked(Protocol):
    """A gradient that waits elsewhere."""

    def take(self) -> Tensor:
        """Return it on the device, once; it belongs to the caller."""


class Box:
    """The gradients of one tensor, on their way to where it was made.

    Args:
        park: Sends a gradient away.
    """

    def __init__(self, park: Callable[[Tensor], Parked]) -> None:
        self._park = park
        self._missing = 0  # readers whose gradient has not come
        self._waiting: Parked | None = None
        self._sum: Tensor | None = None

    def read(self, tensor: Tensor) -> Tensor:
        """Return the tensor for one more reader."""
        self._missing += 1
        return cast(Tensor, _Read.apply(tensor, self))

    def add(self, gradient: Tensor) -> None:
        """Take a reader's gradient."""
        if self._waiting is not None:
            waited = self._waiting.take()
            self._waiting = None
            gradient = waited.add_(gradient)
        self._missing -= 1
        if self._missing:
            self._waiting = self._park(gradient)
        else:
            self._sum = gradient

    def take(self) -> Tensor | None:
        """Return the sum of all gradients, once; None if none has come."""
        if self._waiting is not None:  # another reader has none
            self._sum, self._waiting = self._waiting.take(), None
        found, self._sum = self._sum, None
        return found


class Parking:
    """Hands out boxes.

    Args:
        park: Sends a gradient away.
    """

    def __init__(self, park: Callable[[Tensor], Parked]) -> None:
        self._park = park

    def fork(self, tensor: Tensor) -> tuple[Tensor, Box]:
        """Return a tensor and its box: from now on, it is to be read through that."""
        box = Box(self._park)
        return cast(Tensor, _Fork.apply(tensor, box)), box


class _Through(torch.autograd.Function):
    """Passes a tensor on; its gradient has to do with a box."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, box: Box) -> Tensor:
        ctx.box = box
        ctx.set_materialize_grads(False)
        return tensor.view_as(tensor)


class _Read(_Through):
    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[None, None]:
        if gradients[0] is not None:
            ctx.box.add(gradients[0])
        return None, None


class _Fork(_Through):
    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None]:
        box, ctx.box = ctx.box, None
        return box.take(), None
