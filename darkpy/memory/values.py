"""Tensors that backward will ask for: kept as they are, or computed again from others.

A value stands for the whole storage of one tensor at one version. Handles, one for each time that autograd saves it,
say which view of it is meant; the last one that dies lets go of what was loaded or computed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor


class Store(Protocol):
    """Where the bytes of a tensor wait until backward asks for them."""

    is_near: bool  # loading twice costs less than holding the tensor between

    def load(self) -> Tensor:
        """Return the tensor, with the sizes and strides that it had."""


class Kept:
    """A store that lets the tensor stay where it is.

    Args:
        tensor: Without a history, or it would keep its own graph alive.
    """

    is_near = False  # it is held anyway

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def load(self) -> Tensor:
        """Return the tensor."""
        return self.tensor


class Value(ABC):
    """One tensor at one version; subclasses say where it comes from."""

    def __init__(self, like: Tensor) -> None:
        self.size, self.stride = like.size(), like.stride()
        self.handles = 0  # saved by autograd so often, and not yet given back
        self.is_spoiled = False  # written in place after it was saved
        self._at_hand: Tensor | None = None

    def get(self, *, as_input: bool = False) -> Tensor:
        """Return the tensor; it stays at hand as long as there are handles.

        Args:
            as_input: Something is computed of it, and its own turn comes later.

        Raises:
            RuntimeError: If it was written in place after it was saved.
        """
        if self.is_spoiled:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{list(self.size)}. Write into a copy of it."
            )
        if self._at_hand is not None:
            return self._at_hand
        tensor = self._produce()
        if self.handles and not (as_input and self._can_wait):
            self._at_hand = tensor
        return tensor

    @property
    def _can_wait(self) -> bool:
        """Whether the tensor is easily had again."""
        return False

    def let_go(self) -> None:
        """Take note that a handle died."""
        self.handles -= 1
        if not self.handles:
            self._at_hand = None

    @abstractmethod
    def _produce(self) -> Tensor:
        """Return the tensor, loaded or computed."""


class Stored(Value):
    """A value whose bytes are somewhere.

    Args:
        tensor: What is stored; only its sizes and strides are kept here.
        store: Has its bytes.
    """

    def __init__(self, tensor: Tensor, store: Store) -> None:
        super().__init__(tensor)
        self.store = store

    @property
    def _can_wait(self) -> bool:
        return self.store.is_near

    def _produce(self) -> Tensor:
        return self.store.load()


class Recomputed(Value):
    """A value that a cheap operation gives again.

    Args:
        like: The tensor that the operation gave, for its sizes and strides.
        compute: Gives it again, bit for bit, of the inputs.
        inputs: What the operation read; they stay alive as long as this.
    """

    def __init__(self, like: Tensor, compute: Callable[[Sequence[Tensor]], Tensor], inputs: Sequence[Value]) -> None:
        super().__init__(like)
        self.compute = compute
        self.inputs = tuple(inputs)

    def _produce(self) -> Tensor:
        tensor = self.compute([value.get(as_input=True) for value in self.inputs])
        if tensor.stride() != self.stride:  # the operation may prefer another order of dimensions
            ordered = torch.empty_strided(self.size, self.stride, dtype=tensor.dtype, device=tensor.device)
            tensor = ordered.copy_(tensor)
        return tensor


class Handle:
    """One saving of a value: a view of its tensor. Its death gives the value back.

    Args:
        value: What is saved.
        view: The tensor that autograd saves; it shares the value's storage.
    """

    def __init__(self, value: Value, view: Tensor) -> None:
        self.value = value
        self.size, self.stride, self.offset = view.size(), view.stride(), view.storage_offset()
        value.handles += 1

    def get(self) -> Tensor:
        """Return the view."""
        tensor = self.value.get()
        if (self.size, self.stride, self.offset) == (tensor.size(), tensor.stride(), tensor.storage_offset()):
            return tensor
        return torch.as_strided(tensor, self.size, self.stride, self.offset)

    def __del__(self) -> None:
        self.value.let_go()


class Pinned:
    """A tensor that autograd may keep: a parameter, or one that is too small to matter.

    Args:
        tensor: What is saved.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # with the same count of versions
        self.version = tensor._version

    def get(self) -> Tensor:
        """Return the tensor.

        Raises:
            RuntimeError: If it was written in place after it was saved.
        """
        if self.tensor._version != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{list(self.tensor.size())} is at version {self.tensor._version}; expected version {self.version}."
            )
        return self.tensor
