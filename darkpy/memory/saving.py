"""What backward needs is kept once, stored elsewhere, or computed again: a context around forward and backward.

Two of torch's mechanisms work together. Hooks on saved tensors see everything that autograd keeps; a dispatch mode
sees every operation of forward, and so knows how a tensor came to be. A tensor that a cheap operation gave is not kept
if what the operation read is.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from darkpy.memory import recipes
from darkpy.memory.in_place import expect_references, written_over
from darkpy.memory.suffix import Suffix
from darkpy.memory.values import Handle, Kept, Pinned, Recipe, Recomputed, Room, Store, Stored, Value

SMALLEST = 64 * 1024  # bytes; a smaller tensor stays where it is

Saved = Handle | Pinned


class _Known:
    """What is known about a storage: the value of its latest version."""

    __slots__ = ("reference", "value", "version")

    def __init__(self, tensor: Tensor, value: Value, version: int) -> None:
        self.reference = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
        self.value = value
        self.version = version

    def is_gone(self) -> bool:
        """Return whether the storage is freed, so that its address may be another's by now."""
        return bool(self.reference.expired())  # type: ignore[no-untyped-call]


class SavedActivations:
    """Takes over what autograd saves, for as long as the context lasts.

    Args:
        store: Puts the bytes of a tensor somewhere; None keeps every tensor where it is.
        recompute: Whether results of cheap operations (batch norm, activations, pooling) are computed again.
        recompute_sums: Whether those of additions and concatenations are, too.
        tight: Whether memory at the peak matters more than time: as of ``Room``.
        suffix: Says which tensors are kept as they are; None keeps none.
        keep: Where those go.
    """

    def __init__(
        self,
        store: Callable[[Tensor], Store] | None = None,
        *,
        recompute: bool = True,
        recompute_sums: bool = False,
        tight: bool = False,
        suffix: Suffix | None = None,
        keep: Callable[[Tensor], Store] = Kept,
    ) -> None:
        self._suffix, self._keep = suffix, keep
        self._room = Room(tight=tight)
        self._store = store or Kept
        self._recompute, self._recompute_sums = recompute, recompute_sums
        self._known: dict[int, _Known] = {}
        self._is_own = False  # whether operations are this object's own
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._watch = _Watch(self._after)

    def __enter__(self) -> "SavedActivations":
        if self._suffix is not None:
            self._suffix.begin()
        self._hooks.__enter__()
        self._watch.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: Any) -> None:
        self._watch.__exit__(*exception)  # type: ignore[no-untyped-call]
        self._hooks.__exit__(*exception)
        self._known.clear()
        if exception[0] is not None and self._suffix is not None:
            self._suffix.forget()

    def _pack(self, tensor: Tensor) -> Saved:
        if _is_parameter(tensor) or tensor.untyped_storage().nbytes() < SMALLEST:
            return Pinned(tensor)
        known = self._find(tensor)
        is_new = known is None or (isinstance(known, Recomputed) and not known.handles)
        stays = is_new and self._suffix is not None and self._suffix.takes(tensor.untyped_storage().nbytes())
        if known is None or stays:
            known = self._stored(tensor, self._keep if stays else self._store)
            self._learn(tensor, known, tensor._version)
        return Handle(known, tensor)

    def _stored(self, tensor: Tensor, store: Callable[[Tensor], Store]) -> Stored:
        self._is_own = True
        try:
            base = _whole(tensor)
            return Stored(base, self._room, store(base))
        finally:
            self._is_own = False

    def _unpack(self, saved: Saved) -> Tensor:
        self._known.clear()  # backward has begun: what nobody saved may go
        self._room.is_settled = self._suffix is not None and self._suffix.has_kept
        return saved.get()

    def _find(self, tensor: Tensor) -> Value | None:
        """Return the value that a tensor is, or is a view of, if it is known at its present version."""
        known = self._known.get(address_of(tensor))
        if known is None or known.is_gone() or known.version != tensor._version:
            return None
        return known.value

    def _learn(self, tensor: Tensor, value: Value, version: int) -> None:
        self._known[address_of(tensor)] = _Known(tensor, value, version)

    def _after(self, operation: Any, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> None:
        """Take note of an operation of forward."""
        if self._is_own:
            return
        if operation in recipes.IN_PLACE:
            self._written(args[0])
            self._note(
                args[0], recipes.rerun(recipes.IN_PLACE[operation], args[1:], kwargs, output=None), args[:1], bumps=1
            )
        elif operation._schema.is_mutable:
            for tensor in _written_to(operation, args, kwargs):
                self._written(tensor)
        elif self._recompute:
            self._note_result(operation, args, kwargs, result)

    def _note_result(self, operation: Any, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> None:
        if operation in recipes.ELEMENTWISE or operation in recipes.RESHAPING:
            self._note(result, recipes.rerun(operation, args[1:], kwargs, output=None), args[:1])
        elif operation == recipes.POOLING:
            is_much_smaller = 2 * result[0].numel() <= args[0].numel()  # then it is cheaper kept than computed
            for output in (1,) if is_much_smaller else (0, 1):
                self._note(result[output], recipes.rerun(operation, args[1:], kwargs, output=output), args[:1])
        elif operation == recipes.NORMALIZING and args[5]:
            again = recipes.normalize_again(args[1], args[2], result[1], result[2], args[7])
            self._note(result[0], again, args[:1])
        elif self._recompute_sums and operation == recipes.ADDING and isinstance(args[1], Tensor):
            self._note(result, recipes.sum_again(args[2:], kwargs), args[:2])
        elif self._recompute_sums and operation == recipes.JOINING:
            self._note(result, recipes.join_again(args[1:]), args[0])

    def _note(self, result: Tensor, recipe: Recipe, inputs: Sequence[Tensor], *, bumps: int = 0) -> None:
        """Take note of how a tensor came to be, if all that it was made of is known.

        Args:
            result: The tensor, which has its storage for itself.
            recipe: Gives it again.
            inputs: What it was made of.
            bumps: By how much its version will have risen when the operation returns.
        """
        values = [self._part(one) for one in inputs]
        if result.untyped_storage().nbytes() != result.numel() * result.element_size():
            return
        parts = [one for one in values if one is not None]
        if len(parts) == len(values):
            self._learn(result, Recomputed(result, self._room, recipe, parts), result._version + bumps)

    def _part(self, tensor: Tensor) -> Value | None:
        """Return the value of a tensor that an operation read: of its own, or as a view of a known one."""
        value = self._find(tensor)
        if value is None:
            return None
        if (tensor.size(), tensor.stride(), tensor.storage_offset()) == (value.size, value.stride, 0):
            return value
        return Recomputed(tensor, self._room, recipes.view_again(tensor), [value])

    def _written(self, tensor: Tensor) -> None:
        """Take note that a tensor is written in place: what was saved of it is not what it was."""
        value = self._find(tensor)
        if value is not None and value.handles:
            value.is_spoiled = True


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tells of each operation of forward, after it has run; lets those of backward write over their gradients."""

    def __init__(self, tell: Callable[[Any, Sequence[Any], dict[str, Any], Any], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._tell = tell
        expect_references()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler: 150 MB and a second

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch._C._current_graph_task_id() != -1:  # within backward
            result = written_over(func, args, kwargs)
            return func(*args, **kwargs) if result is None else result
        result = func(*args, **kwargs)
        self._tell(func, args, kwargs, result)
        return result


def _is_parameter(tensor: Tensor) -> bool:
    """Return whether a tensor is a parameter, or a view of one: it stays in memory anyway."""
    return isinstance(tensor._base if tensor._is_view() else tensor, torch.nn.Parameter)


def address_of(tensor: Tensor) -> int:
    """Return what tells a tensor's storage from all others that are there."""
    return int(tensor.untyped_storage()._cdata)


def _whole(tensor: Tensor) -> Tensor:
    """Return the tensor without its history; the whole storage as one row where it is a view of a part."""
    storage = tensor.untyped_storage()
    plain = tensor.detach()
    if tensor.storage_offset() == 0 and storage.nbytes() == tensor.numel() * tensor.element_size():
        return plain
    count = storage.nbytes() // tensor.element_size()
    return torch.as_strided(plain, (count,), (1,), 0)


def _written_to(operation: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
    """Return the arguments that an operation writes to."""
    found: list[Tensor] = []
    for index, argument in enumerate(operation._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        found += [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, Tensor)]
    return found
