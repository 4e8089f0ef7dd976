"""[reorg]: YOLOv2's first space to depth, which mixes channels and pixels.  Source: darknet src/reorg_old_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, layer
from darkpy.layers._reorg import depth_to_space, space_to_depth


class Reorg(nn.Module):
    """Space to depth of the input's memory, read as fewer channels of larger size; in reverse depth to space."""

    def __init__(self, stride: int, *, is_reverse: bool) -> None:
        super().__init__()
        self.stride = stride
        self.is_reverse = is_reverse

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C s s, H / s, W / s), in reverse (B, C / s / s, H s, W s), for (B, C, H, W)."""
        stride = self.stride
        if self.is_reverse:
            return depth_to_space(x, stride)
        batch, channels, height, width = x.shape
        larger = x.reshape(batch, channels // (stride * stride), height * stride, width * stride)
        return space_to_depth(larger, stride).reshape(
            batch, channels * stride * stride, height // stride, width // stride
        )


@layer("reorg")
@dataclass(frozen=True, slots=True)
class ReorgSpec(PlainSpec):
    """Values of a [reorg] section."""

    where: str
    stride: int  # pixels of a block, both ways
    is_reverse: bool

    @classmethod
    def parse(cls, options: Options) -> Self:
        stride = options.integer("stride", 1, at_least=1, loud=True)
        return cls(options.where, stride, options.flag("reverse"))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        block = self.stride * self.stride
        if source.channels % block:
            raise CfgError(
                f"{self.where} stride={self.stride} needs a multiple of {block} channels, but its input has "
                f"{source.channels}. Change the stride, or the filters before."
            )
        if self.is_reverse:
            return Shape(source.channels // block, source.height * self.stride, source.width * self.stride)
        if source.height % self.stride or source.width % self.stride:
            raise CfgError(
                f"{self.where} stride={self.stride} does not divide an input of {source.width}x{source.height}. "
                "Change the stride, or the network's width and height."
            )
        return Shape(source.channels * block, source.height // self.stride, source.width // self.stride)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Reorg(self.stride, is_reverse=self.is_reverse)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"reorg_old{'':14}/{self.stride:2d}  {inputs[0]}   ->  {output}"

    def announcements(self) -> tuple[str, ...]:
        """Return the line that darknet prints on stdout while it reads the section."""
        return (" reorg_old ",)
