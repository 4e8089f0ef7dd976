"""Forward and backward for the mini-batches of one iteration."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor

from darkpy.engine.schedule import PlannedIteration
from darkpy.engine.training_keys import TrainingKeys
from darkpy.layers._base import StepKey
from darkpy.layers._head import HeadLoss
from darkpy.network import Network
from darkpy.structures import MiniBatch, Problem

_OF_BOXES = 3  # dimensions


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """What one head found for one mini-batch."""

    layer: int
    cost: float
    average_iou: float
    count: int
    class_loss: float
    iou_loss: float
    total_loss: float
    rewritten: int
    assigned: int


@dataclass(frozen=True, slots=True)
class Step:
    """What one iteration's mini-batches gave."""

    figures: tuple[HeadFigures, ...]  # of each mini-batch in turn, head by head
    waited_s: float  # for pictures
    paths: tuple[str, ...]


def train_step(
    network: Network,
    batches: Iterator[MiniBatch],
    planned: PlannedIteration,
    *,
    keys: TrainingKeys,
    seed: int,
    around_step: Callable[[], AbstractContextManager[object]],
    on_problem: Callable[[Problem], None],
) -> Step:
    """Run forward and backward for an iteration's mini-batches; gradients add up. Waits for the device once.

    Args:
        network: In training mode.
        batches: Gives ``subdivisions`` mini-batches.
        planned: The iteration.
        keys: Those of [net] that change pictures or deltas.
        seed: Key of random draws in layers.
        around_step: Entered around forward and backward of every mini-batch.
        on_problem: Told of pictures and labels that are not as they should be.
    """
    net, device = network.net, next(network.parameters()).device
    keys.begin(planned.completed)
    found: list[tuple[int, Tensor]] = []
    paths: list[str] = []
    waited = 0.0
    for subdivision in range(net.subdivisions):
        asked = time.monotonic()
        batch = next(batches)
        waited += time.monotonic() - asked
        for problem in batch.problems:
            on_problem(problem)
        paths += batch.paths
        key = StepKey(seed, planned.completed, subdivision * net.mini_batch)
        network.begin(key)
        with around_step():
            losses = network.losses(
                keys.images(_to_device(batch.images, device), key),
                _used_rows(batch.truths).to(device, non_blocking=True),
                completed_iterations=planned.completed,
                keep=keys.keep,
            )
        found += [(index, _scalars(loss)) for index, loss in losses.items()]
    return Step(_figures(found), waited, tuple(paths))


def _used_rows(truths: Tensor) -> Tensor:
    """Return the truths (B, T, 5) without rows that no picture uses: the loss compares every anchor with every row.

    Those of a classifier, (B, classes), are all used.
    """
    if truths.ndim < _OF_BOXES:
        return truths
    return truths[:, : max(int((truths[..., 0] != 0).sum(1).max()), 1)]


def _to_device(images: Tensor, device: torch.device) -> Tensor:
    """Return (B, C, H, W) float32 in 0..1, in the memory order that suits the device, for a mini-batch's images."""
    images = images.to(device, non_blocking=True)
    order = torch.channels_last if device.type == "cpu" else torch.contiguous_format
    levels = images.to(torch.float32, memory_format=order)
    return levels.div_(255) if images.dtype == torch.uint8 else levels


def _scalars(loss: HeadLoss) -> Tensor:
    """Return the figures as one (8,) tensor on the device; the delta, by far the largest part, is left behind."""
    figures = (
        loss.cost,
        loss.average_iou,
        loss.count,
        loss.class_loss,
        loss.iou_loss,
        loss.total_loss,
        loss.rewritten,
        loss.assigned,
    )
    return torch.stack([figure.float() for figure in figures])


def _figures(found: list[tuple[int, Tensor]]) -> tuple[HeadFigures, ...]:
    if not found:
        return ()
    table = torch.stack([scalars for _, scalars in found]).cpu().tolist()
    return tuple(
        HeadFigures(
            layer=layer,
            cost=cost,
            average_iou=average_iou,
            count=int(count),
            class_loss=class_loss,
            iou_loss=iou_loss,
            total_loss=total_loss,
            rewritten=int(rewritten),
            assigned=int(assigned),
        )
        for (layer, _), (cost, average_iou, count, class_loss, iou_loss, total_loss, rewritten, assigned) in zip(
            found, table, strict=True
        )
    )
