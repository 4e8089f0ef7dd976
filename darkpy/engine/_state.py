"""Tensors by name: what an object that goes on after a resume takes back."""

from collections.abc import Mapping

import torch
from torch import Tensor


@torch.no_grad()
def restore_tensors(targets: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy the tensors of ``state`` into those of the same names in ``targets``; further names are ignored.

    Raises:
        ValueError: If a tensor is missing or has another shape; nothing is changed then.
    """
    check_tensors(targets, state)
    for name, target in targets.items():
        target.copy_(state[name])


def check_tensors(targets: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Refuse a state without a tensor of each name in ``targets``, of the same shape.

    Raises:
        ValueError: If a tensor is missing or has another shape.
    """
    for name, target in targets.items():
        if name not in state:
            raise ValueError(f"the state has no {name}")
        if state[name].shape != target.shape:
            raise ValueError(f"{name} of the state has shape {tuple(state[name].shape)}, not {tuple(target.shape)}")
