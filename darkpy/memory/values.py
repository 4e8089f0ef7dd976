"""Tensors that backward will ask for: kept as they are, or computed again from others.

A value stands for the whole storage of one tensor at one version. Handles, one for each time that autograd saves it,
say which view of it is meant; the last one that dies lets go of what was loaded or computed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

import torch
from torch import Tensor


class Store(Protocol):
    """Where the bytes of a tensor wait until backward asks for them."""

    is_near: bool  # loading twice costs less than holding the tensor between

    def load(self, *, is_turn: bool) -> Tensor:
        """Return the tensor, with the sizes and strides that it had.

        Args:
            is_turn: Whether backward has come to it, so that what was stored before it is next.
        """


class Kept:
    """A store that lets the tensor stay where it is.

    Args:
        tensor: Without a history, or it would keep its own graph alive.
    """

    is_near = False  # it is held anyway

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def load(self, *, is_turn: bool) -> Tensor:
        """Return the tensor."""
        return self.tensor


class Use(Enum):
    """What a value is asked for."""

    BACKWARD = auto()  # an operation of backward needs it now
    INPUT = auto()  # another value is computed of it, and its own turn comes next
    CHAIN = auto()  # of sums and joins, which may be long: its own turn comes later


class Room:
    """Whether a tensor may stay at hand between two uses of it.

    The peak of a step is where the largest tensor's gradient is computed, which takes three tensors of its size. A
    tensor of half of it may stay at hand meanwhile and raises no peak.

    Args:
        tight: Whether larger ones are loaded or computed once more instead.
    """

    def __init__(self, *, tight: bool) -> None:
        self.tight = tight
        self.is_settled = False  # whether the end of the step was kept, so that there is more room behind it
        self.largest = 0  # bytes, of what was stored in this step
        self.held = 0  # bytes of what is at hand for later

    def takes(self, nbytes: int) -> bool:
        """Return whether a tensor of so many bytes may stay until its turn, which comes next."""
        return not self.tight or 2 * nbytes <= self.largest

    def takes_long(self, nbytes: int) -> bool:
        """Return whether a tensor of so many bytes may stay until its turn, which comes much later."""
        return self.held + nbytes <= (self.largest if self.is_settled else self.largest // 2)


class Value(ABC):
    """One tensor at one version; subclasses say where it comes from.

    Args:
        like: What it is like; only its sizes and strides are kept here.
        room: Says what may stay at hand.
    """

    def __init__(self, like: Tensor, room: Room) -> None:
        self.size, self.stride, self.nbytes = like.size(), like.stride(), like.untyped_storage().nbytes()
        self.room = room
        self.handles = 0  # saved by autograd so often, and not yet given back
        self.is_spoiled = False  # written in place after it was saved
        self._at_hand: Tensor | None = None
        self._waits = False  # at hand for a turn that comes much later

    def get(self, use: Use) -> Tensor:
        """Return the tensor; it may stay at hand as long as there are handles.

        Args:
            use: What it is asked for.

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
        tensor = self._produce(use)
        if self.handles and self._stays(use):
            self._at_hand = tensor
            self._waits = use is Use.CHAIN
            self.room.held += self.nbytes * self._waits
        return tensor

    def let_go(self) -> None:
        """Take note that a handle died."""
        self.handles -= 1
        if not self.handles:
            self._at_hand = None
            self.room.held -= self.nbytes * self._waits
            self._waits = False

    def _stays(self, use: Use) -> bool:
        """Return whether the tensor stays at hand for the next time that it is asked for."""
        return use is Use.BACKWARD or (use is Use.INPUT and self.room.takes(self.nbytes))

    @abstractmethod
    def _produce(self, use: Use) -> Tensor:
        """Return the tensor, loaded or computed."""


class Stored(Value):
    """A value whose bytes are somewhere.

    Args:
        tensor: What is stored; only its sizes and strides are kept here.
        room: Says what may stay at hand.
        store: Has its bytes.
    """

    def __init__(self, tensor: Tensor, room: Room, store: Store) -> None:
        super().__init__(tensor, room)
        self.store = store
        room.largest = max(room.largest, self.nbytes)

    def _stays(self, use: Use) -> bool:
        return super()._stays(use) and (use is Use.BACKWARD or not self.store.is_near)

    def _produce(self, use: Use) -> Tensor:
        return self.store.load(is_turn=use is not Use.CHAIN)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a value is computed again, bit for bit."""

    compute: Callable[[Sequence[Tensor]], Tensor]  # of the inputs
    over: Callable[[Sequence[Tensor], int], Tensor] | None = None  # the same, written over the input of that place
    is_view: bool = False  # the result lies in the input's memory
    joins: bool = False  # a sum or a concatenation, which goes back to others in the end


class Recomputed(Value):
    """A value that a cheap operation gives again.

    Args:
        like: The tensor that the operation gave, for its sizes and strides.
        room: Says what may stay at hand.
        recipe: Gives it again.
        inputs: What the operation read; they stay alive as long as this.
    """

    def __init__(self, like: Tensor, room: Room, recipe: Recipe, inputs: Sequence[Value]) -> None:
        super().__init__(like, room)
        self.recipe = recipe
        self.inputs = tuple(inputs)

    @property
    def is_free(self) -> bool:
        """Whether what was just produced is nobody else's: memory of its own, and not at hand for later."""
        return self._at_hand is None and not self.recipe.is_view

    def _stays(self, use: Use) -> bool:
        if use is Use.CHAIN:  # without its sums at hand, a chain would be gone through anew for each of them
            return self.recipe.joins or self.room.takes_long(self.nbytes)
        return super()._stays(use)

    def _produce(self, use: Use) -> Tensor:
        deeper = Use.CHAIN if self.recipe.joins or use is Use.CHAIN else Use.INPUT
        tensor = self._compute([value.get(deeper) for value in self.inputs])
        if tensor.stride() != self.stride:  # the operation may prefer another order of dimensions
            ordered = torch.empty_strided(self.size, self.stride, dtype=tensor.dtype, device=tensor.device)
            tensor = ordered.copy_(tensor)
        return tensor

    def _compute(self, inputs: list[Tensor]) -> Tensor:
        """Write over an input that is of no use any more, if there is one: fresh memory costs time on a CPU."""
        if self.recipe.over is not None:
            for place, value in enumerate(self.inputs):
                if (
                    isinstance(value, Recomputed)
                    and value.is_free
                    and (value.size, value.stride) == (self.size, self.stride)
                ):
                    return self.recipe.over(inputs, place)
        return self.recipe.compute(inputs)


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
        tensor = self.value.get(Use.BACKWARD)
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
