"""[upsample]: repeat every pixel, or sum blocks of pixels.  Source: darknet src/upsample_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, layer


class Upsample(nn.Module):
    """Nearest-neighbour enlargement times ``scale``; a negative stride sums blocks instead."""

    def __init__(self, stride: int, scale: float) -> None:
        super().__init__()
        self.stride = stride
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H stride, W stride), or (B, C, H / -stride, W / -stride), for (B, C, H, W)."""
        if self.stride > 0:
            x = F.interpolate(x, scale_factor=self.stride, mode="nearest")
            return x if self.scale == 1 else x * self.scale
        return F.avg_pool2d(x, -self.stride) * (self.scale * self.stride**2)


@layer("upsample")
@dataclass(frozen=True, slots=True)
class UpsampleSpec(PlainSpec):
    """Values of an [upsample] section."""

    where: str
    stride: int  # output pixels for each input pixel, both ways; negative: input pixels for each output pixel
    scale: float

    @classmethod
    def parse(cls, options: Options) -> Self:
        stride = options.integer("stride", 2, loud=True)
        if stride == 0:
            options.fail("stride", "must not be 0. Set stride=2 to double width and height.")
        return cls(options.where, stride, options.real("scale", 1.0))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        if self.stride > 0:
            return Shape(source.channels, source.height * self.stride, source.width * self.stride)
        step = -self.stride
        if source.height % step or source.width % step:
            raise CfgError(
                f"{self.where} stride={self.stride} does not divide an input of {source.width}x{source.height}. "
                "Change the stride or the network's width and height."
            )
        return Shape(source.channels, source.height // step, source.width // step)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Upsample(self.stride, self.scale)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        name = "upsample" if self.stride > 0 else "downsample"
        return f"{name:24}{abs(self.stride):2d}x  {inputs[0]} -> {output}"
