"""[sam]: an earlier layer times the previous one, value by value.  Source: darknet src/sam_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import PlainSpec, Shape, layer


class Sam(nn.Module):
    """Product of two inputs, then the activation."""

    def __init__(self, activation: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]

    def forward(self, attention: Tensor, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for two of that shape."""
        return self.activation(x * attention)


@layer("sam")
@dataclass(frozen=True, slots=True)
class SamSpec(PlainSpec):
    """Values of a [sam] section."""

    where: str
    source: int  # absolute index of the layer that is scaled
    activation: str

    @classmethod
    def parse(cls, options: Options) -> Self:
        (source, *others) = options.layers("from")
        if others:
            options.fail("from", f"names {1 + len(others)} layers, but [sam] scales one. Keep one.")
        return cls(options.where, source, read_activation(options, "linear"))

    def sources(self, index: int) -> tuple[int, ...]:
        return (index - 1, self.source)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        attention, source = inputs
        if attention != source:
            raise CfgError(
                f"{self.where} needs two layers of one shape: the previous layer is "
                f"{attention.width}x{attention.height}x{attention.channels}, layer {self.source} is "
                f"{source.width}x{source.height}x{source.channels}. Set the filters before to {source.channels}, "
                "at the same size."
            )
        return source

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Sam(self.activation)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"scale Layer: {self.source}"
