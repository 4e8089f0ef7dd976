"""[local_avgpool]: mean over windows.  Source: darknet src/maxpool_layer.c, forward_local_avgpool_layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.layers._base import Shape, layer
from darkpy.layers._window import WindowSpec, reach


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
        bottom, right = (
            reach(length, self.padding, self.size, step)
            for length, step in zip((height, width), self.stride, strict=True)
        )
        around = (before, right, before, bottom)
        sums = F.avg_pool2d(F.pad(x, around), self.size, self.stride, divisor_override=1)
        inside = F.pad(x.new_ones(1, 1, height, width), around)
        counts = F.avg_pool2d(inside, self.size, self.stride, divisor_override=1)
        return sums / counts.clamp_min(1)


@layer("local_avgpool", "local_avg")
@dataclass(frozen=True, slots=True)
class LocalAvgpoolSpec(WindowSpec):
    """Values of a [local_avgpool] section."""

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls.read(options)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return self.windows(inputs[0])

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return WindowMean(self)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return self.window_row("avg", inputs, output)
