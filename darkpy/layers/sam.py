"""[sam]: an earlier layer times the previous one, value by value.  Source: darknet src/sam_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, layer
from darkpy.layers._product import ProductSpec


@layer("sam")
@dataclass(frozen=True, slots=True)
class SamSpec(ProductSpec):
    """Values of a [sam] section."""

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
