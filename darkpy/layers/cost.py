"""[cost]: how far the layer before is from the truth.  Source: darknet src/cost_layer.c, src/blas.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import PlainSpec, Shape, layer
from darkpy.layers._class_loss import class_loss, fitted_truths
from darkpy.layers._head import DeltaFilter, HeadLoss

_LEFT_OUT = -1234  # of a truth that does not count, with type=masked
_TYPES = ("sse", "masked", "smooth")


class Cost(nn.Module):
    """Takes the loss of its input in training; zeros otherwise, as darknet has them without a truth."""

    has_loss = True

    def __init__(self, spec: "CostSpec") -> None:
        super().__init__()
        self.spec = spec

    def forward(self, x: Tensor) -> Tensor:
        """Return x in training, else zeros, (B, C, H, W)."""
        return x.view_as(x) if self.training else torch.zeros_like(x)

    def loss(
        self,
        x: Tensor,
        truths: Tensor,
        network_size: tuple[int, int],
        *,
        keep: DeltaFilter | None = None,
        adversarial: bool = False,
    ) -> HeadLoss:
        """Return the loss of the layer's input (B, C, H, W) for truths (B, classes).

        Of the difference d to the truth: d * d, where its delta is d. With type=smooth 2 |d| - 1 and the sign beyond 1.
        """
        truth = fitted_truths(torch.zeros_like(x) if adversarial else truths, x, self.spec.where)
        difference = truth - x
        if self.spec.type == "masked":
            difference = torch.where(truth == _LEFT_OUT, torch.zeros_like(x), difference)
        error, delta = difference * difference, difference
        if self.spec.type == "smooth":
            size = difference.abs()
            error = torch.where(size < 1, error, 2 * size - 1)
            delta = difference.clamp(-1, 1)
        return class_loss(delta * self.spec.scale, error.sum())


@layer("cost")
@dataclass(frozen=True, slots=True)
class CostSpec(PlainSpec):
    """Values of a [cost] section."""

    is_output: ClassVar[bool] = False  # the network's output is that of the layer before
    notes_size: ClassVar[bool] = False  # darknet notes no width and height of its input
    where: str
    type: str
    scale: float  # of the delta

    @classmethod
    def parse(cls, options: Options) -> Self:
        kind = options.choice("type", "sse", _TYPES, loud=True)
        scale = options.real("scale", 1.0)
        if options.real("ratio", 0.0):
            options.notes.append(f"{options.at('ratio')} ratio has no effect, as in darknet.")
        return cls(options.where, kind, scale)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Cost(self)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"cost{'':43}{inputs[0].size:4d}"
