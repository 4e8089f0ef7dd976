"""What a layer with a loss does beside being a layer; of a detection head its boxes, and what it asks of the data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from darkpy.layers._base import LayerSpec
from darkpy.structures import NmsRule

# Takes a head's delta (B, A, 5 + classes), returns it with some values set to 0.
DeltaFilter = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class HeadLoss:
    """Loss of one head for one mini-batch. Figures are 0-dimensional tensors, left on the device."""

    delta: Tensor  # (B, C, H, W): minus the gradient with respect to the head's input, summed over images
    cost: Tensor  # what enters the printed loss
    average_iou: Tensor
    count: Tensor  # assignments of truths to anchors
    class_loss: Tensor  # divided by B, as printed
    iou_loss: Tensor
    total_loss: Tensor
    rewritten: Tensor  # assignments to an anchor that had one already
    assigned: Tensor  # all boxes that were written


@dataclass(frozen=True, slots=True)
class DataRule:
    """What the last detection head asks of the data pipeline."""

    classes: int
    jitter: float
    resize: float
    random: float  # 0: one size; else the coefficient of multi-scale training
    max_boxes: int


@runtime_checkable
class LossLayer(Protocol):
    """A module that gives the loss of what it returns in training. A head does, and so do layers of classifiers."""

    has_loss: bool  # a [softmax] may have none

    def loss(
        self,
        x: Tensor,
        truths: Tensor,
        network_size: tuple[int, int],
        *,
        keep: DeltaFilter | None = None,
        adversarial: bool = False,
    ) -> HeadLoss:
        """Return the loss of a layer's output in training.

        Args:
            x: (B, C, H, W); of a head, its input.
            truths: (B, classes); of a head (B, T, 5).
            network_size: Width, height in pixels.
            keep: Takes values out of a head's delta before anything is computed from it.
            adversarial: Delta for a picture without a truth; a head's turns it against what it finds
                (``adversarial_lr``).
        """


@runtime_checkable
class HeadSpec(LayerSpec, Protocol):
    """The spec of a detection head, of whatever section type."""

    @property
    def data_rule(self) -> DataRule:
        """What the head asks of the data pipeline, and its number of classes."""


@runtime_checkable
class Head(LossLayer, Protocol):
    """A module that turns its input into boxes, and gives the loss of its input."""

    type_id: int  # darknet's number for the section type, printed
    classes: int
    nms_rule: NmsRule
    data_rule: DataRule
    loss_name: str
    normalizers: tuple[float, float, float]  # iou, objectness, class: as printed
    detailed: bool  # show_details

    def boxes(self, output: Tensor, network_size: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        """Return boxes (B, N, 4), objectness (B, N), class scores (B, N, classes) of an output, in array order."""
