"""Counts the bytes that a real step keeps for backward, by torch's own hooks."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from darkpy.memory.saving import SavedActivations
from darkpy.memory.suffix import Suffix
from darkpy.memory.values import Kept


@contextmanager
def counted(
    module: nn.Module, tier: int, suffix: Suffix | None = None
) -> Iterator[tuple[dict[int, int], dict[int, int]]]:
    """Run a step in this context; yield the bytes of each storage that stays and of each that is stored elsewhere.

    By address, weights left out. A suffix must have seen a step before.
    """
    stays: dict[int, int] = {}
    away: dict[int, int] = {}
    resident = {tensor.data_ptr() for tensor in (*module.parameters(), *module.buffers())}

    def note(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in resident:
            stays[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    def hold(tensor: Tensor) -> Kept:
        return Kept(note(tensor))

    def store(tensor: Tensor) -> Kept:
        away[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return Kept(tensor)

    if tier == 0:
        around: AbstractContextManager[object] = saved_tensors_hooks(note, lambda tensor: tensor)
    elif tier == 1:
        around = SavedActivations(hold)
    else:
        around = SavedActivations(store, recompute_sums=tier >= 3, suffix=suffix, keep=hold)
    with around:
        yield stays, away
