"""[normalization]: each value over a power of its neighbour channels' squares.

Source: darknet src/normalization_layer.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import PlainSpec, Shape, layer


class LocalResponse(nn.Module):
    """x (kappa + alpha S) ** -beta, S a running sum of squares over channels. The gradient holds S constant."""

    def __init__(self, spec: "NormalizationSpec") -> None:
        super().__init__()
        self.spec = spec

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W)."""
        spec = self.spec
        with torch.no_grad():
            factor = (spec.kappa + spec.alpha * self._sums(x * x)) ** -spec.beta
        return x * factor  # darknet hands down the gradient times this factor and no more

    def _sums(self, squares: Tensor) -> Tensor:
        """Return the running sums (B, C, H, W) of the squares, as darknet updates them.

        The sum of channel 0 has the channels below size / 2; on the way to channel k, channel k + size / 2 enters and
        channel k - (size - 1) / 2 - 1 leaves. So channel size / 2 never enters, but leaves.
        """
        half, behind = self.spec.size // 2, (self.spec.size - 1) // 2 + 1
        channels = squares.shape[1]
        change = torch.zeros_like(squares)
        if half + 1 < channels:
            change[:, 1 : channels - half] += squares[:, half + 1 :]
        if behind < channels:
            change[:, behind:] -= squares[:, : channels - behind]
        change[:, 0] = squares[:, :half].sum(1)
        return change.cumsum(1)


@layer("normalization", "lrn")
@dataclass(frozen=True, slots=True)
class NormalizationSpec(PlainSpec):
    """Values of a [normalization] section."""

    size: int  # channels
    alpha: float
    beta: float
    kappa: float

    @classmethod
    def parse(cls, options: Options) -> Self:
        alpha = options.real("alpha", 0.0001, loud=True)
        beta = options.real("beta", 0.75, loud=True)
        kappa = options.real("kappa", 1.0, loud=True)
        return cls(options.integer("size", 5, at_least=1, loud=True), alpha, beta, kappa)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return LocalResponse(self)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        source = inputs[0]
        return (
            f"Local Response Normalization Layer: {source.width} x {source.height} x {source.channels} image, "
            f"{self.size} size"
        )
