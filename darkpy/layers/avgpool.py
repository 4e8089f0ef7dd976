"""[avgpool]: mean of each channel.  Source: darknet src/avgpool_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import nn

from darkpy.cfg.options import Options
from darkpy.layers._base import PlainSpec, Shape, layer


@layer("avgpool", "avg")
@dataclass(frozen=True, slots=True)
class AvgpoolSpec(PlainSpec):
    """An [avgpool] section; it has no options."""

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls()

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return Shape(inputs[0].channels, 1, 1)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return nn.AdaptiveAvgPool2d(1)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"avg{'':26}{inputs[0]} ->   {output.channels:4d}"
