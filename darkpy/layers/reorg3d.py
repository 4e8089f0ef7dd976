"""[reorg3d]: blocks of pixels become channels.  Source: darknet src/reorg_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, layer
from darkpy.layers._reorg import BlockSpec, Rearranged, depth_to_space, space_to_depth


class Reorg3d(Rearranged):
    """Space to depth. In reverse, darknet's own map, which is no inverse of that."""

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C s s, H / s, W / s), in reverse (B, C / s / s, H s, W s), for (B, C, H, W)."""
        if not self.is_reverse:
            return space_to_depth(x, self.stride)
        batch, channels, height, width = x.shape
        stride = self.stride
        shape = (batch, channels // (stride * stride), height * stride, width * stride)
        return depth_to_space(x.reshape(shape), stride).reshape(shape)  # the memory is read with the output's shape


@layer("reorg3d")
@dataclass(frozen=True, slots=True)
class Reorg3dSpec(BlockSpec):
    """Values of a [reorg3d] section."""

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        block = self.stride * self.stride
        if self.is_reverse:
            if source.channels % (block * block):
                raise CfgError(
                    f"{self.where} reverse=1 with stride={self.stride} needs a multiple of {block * block} channels, "
                    f"but its input has {source.channels}. Change the stride, or the filters before."
                )
            return Shape(source.channels // block, source.height * self.stride, source.width * self.stride)
        if source.height < self.stride or source.width < self.stride:
            raise CfgError(
                f"{self.where} stride={self.stride} does not fit an input of {source.width}x{source.height}. "
                "Set a smaller stride."
            )
        return Shape(source.channels * block, source.height // self.stride, source.width // self.stride)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Reorg3d(self.stride, is_reverse=self.is_reverse)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"reorg{'':20}/{self.stride:2d} {inputs[0]} -> {output}"
