"""[reorg]: YOLOv2's first space to depth, which mixes channels and pixels.  Source: darknet src/reorg_old_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, layer
from darkpy.layers._reorg import BlockSpec, Rearranged, depth_to_space, space_to_depth


class Reorg(Rearranged):
    """Space to depth of the input's memory, read as fewer channels of larger size; in reverse depth to space."""

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
class ReorgSpec(BlockSpec):
    """Values of a [reorg] section."""

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
