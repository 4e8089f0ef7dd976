"""[local_avgpool]: mean over windows.  Source: darknet src/maxpool_layer.c, forward_local_avgpool_layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, layer, total_stride


class WindowMean(nn.Module):
    """Mean over windows; pixels outside the picture do not count."""

    def __init__(self, spec: "LocalAvgpoolSpec") -> None:
        super().__init__()
        self.size = spec.size
        self.stride = (spec.stride_y, spec.stride_x)
        self.padding = spec.padding

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H', W') for (B, C, H, W)."""
        before = self.padding // 2  # left and top; the rest is right and bottom
        height, width = x.shape[2:]
        rows = total_stride(height, self.padding, self.size, self.stride[0])
        columns = total_stride(width, self.padding, self.size, self.stride[1])
        bottom = max((rows - 1) * self.stride[0] - before + self.size - height, 0)
        right = max((columns - 1) * self.stride[1] - before + self.size - width, 0)
        around = (before, right, before, bottom)
        sums = F.avg_pool2d(F.pad(x, around), self.size, self.stride, divisor_override=1)
        inside = F.pad(x.new_ones(1, 1, height, width), around)
        counts = F.avg_pool2d(inside, self.size, self.stride, divisor_override=1)
        return sums / counts.clamp_min(1)


@layer("local_avgpool", "local_avg")
@dataclass(frozen=True, slots=True)
class LocalAvgpoolSpec(PlainSpec):
    """Values of a [local_avgpool] section, sizes in pixels."""

    where: str
    size: int
    stride_x: int
    stride_y: int
    padding: int  # of both sides together

    @classmethod
    def parse(cls, options: Options) -> Self:
        stride = options.integer("stride", 1, at_least=1, loud=True)
        stride_x = options.integer("stride_x", stride, at_least=1)
        stride_y = options.integer("stride_y", stride, at_least=1)
        size = options.integer("size", stride, at_least=1, loud=True)
        return cls(options.where, size, stride_x, stride_y, options.integer("padding", size - 1, at_least=0))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        height = total_stride(source.height, self.padding, self.size, self.stride_y)
        width = total_stride(source.width, self.padding, self.size, self.stride_x)
        if height < 1 or width < 1 or self.size > min(source.height, source.width) + self.padding:
            raise CfgError(
                f"{self.where} size={self.size} does not fit an input of {source.width}x{source.height}. "
                "Use a smaller window, or a larger network width and height."
            )
        return Shape(source.channels, height, width)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return WindowMean(self)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        window = f"{self.size:2d}x{self.size:2d}/{self.stride_x:2d}"
        tail = f"{inputs[0]} -> {output} {self.bflops(inputs, output):5.3f} BF"
        if self.stride_x != self.stride_y:
            return f"avg{'':14}{window}x{self.stride_y:2d} {tail}"
        return f"avg{'':15}{window}   {tail}"

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        return self.size * self.size * inputs[0].channels * output.height * output.width / 1e9
