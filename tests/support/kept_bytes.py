"""Counts the bytes that a real step keeps for backward, by torch's own hooks."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from darkpy.memory.saving import SavedActivations
from darkpy.memory.values import Kept


@contextmanager
def counted(module: nn.Module, tier: int) -> Iterator[dict[int, int]]:
    """Run a step in this context; yield the bytes of each storage that is kept, by address, weights left out."""
    found: dict[int, int] = {}
    resident = {tensor.data_ptr() for tensor in (*module.parameters(), *module.buffers())}

    def note(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in resident:
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    def store(tensor: Tensor) -> Kept:
        return Kept(note(tensor))

    around = saved_tensors_hooks(note, lambda tensor: tensor)
    with around if tier == 0 else SavedActivations(store, recompute_sums=tier >= 3):
        yield found
