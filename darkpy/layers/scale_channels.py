"""[scale_channels]: an earlier layer, each channel (or each pixel) times one value of the previous layer.

Source: darknet src/scale_channels_layer.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import Shape, layer
from darkpy.layers._product import ProductSpec


@layer("scale_channels")
@dataclass(frozen=True, slots=True)
class ScaleChannelsSpec(ProductSpec):
    """Values of a [scale_channels] section."""

    by_pixel: bool = False  # scale_wh

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls.read(options, by_pixel=options.flag("scale_wh"))

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
