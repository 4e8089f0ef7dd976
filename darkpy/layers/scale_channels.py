"""[scale_channels]: an earlier layer, each channel (or each pixel) times one value of the previous layer.

Source: darknet src/scale_channels_layer.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import PlainSpec, Shape, layer


class ScaleChannels(nn.Module):
    """Product of an input and its weights, one for each channel or each pixel, then the activation."""

    def __init__(self, activation: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]

    def forward(self, scales: Tensor, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for scales (B, C, 1, 1) or (B, 1, H, W) and x (B, C, H, W)."""
        return self.activation(x * scales)


@layer("scale_channels")
@dataclass(frozen=True, slots=True)
class ScaleChannelsSpec(PlainSpec):
    """Values of a [scale_channels] section."""

    where: str
    source: int  # absolute index of the layer that is scaled
    activation: str
    by_pixel: bool = False  # scale_wh

    @classmethod
    def parse(cls, options: Options) -> Self:
        (source, *others) = options.layers("from")
        if others:
            options.fail("from", f"names {1 + len(others)} layers, but [scale_channels] scales one. Keep one.")
        return cls(options.where, source, read_activation(options, "linear"), options.flag("scale_wh"))

    def sources(self, index: int) -> tuple[int, ...]:
        return (index - 1, self.source)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        scales, source = inputs
        if self.by_pixel:
            if scales != (1, source.height, source.width):
                raise CfgError(
                    f"{self.where} scale_wh=1 needs a previous layer of {source.width}x{source.height}x1 to scale "
                    f"layer {self.source}, but it is {scales.width}x{scales.height}x{scales.channels}. "
                    "Set filters=1 before."
                )
            return source
        if scales != (source.channels, 1, 1):
            raise CfgError(
                f"{self.where} needs a previous layer of 1x1x{source.channels} to scale layer {self.source} "
                f"({source.width}x{source.height}x{source.channels}), but it is "
                f"{scales.width}x{scales.height}x{scales.channels}. Put an [avgpool] before, and set its filters."
            )
        return source

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return ScaleChannels(self.activation)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"scale Layer: {self.source}"
