"""[maxpool]: maximum over a window, or over channels.  Source: darknet src/maxpool_layer.c, src/parser.c."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import Shape, layer
from darkpy.layers._blur import Blur, blur_of
from darkpy.layers._window import WindowSpec, reach

_OUTSIDE = torch.finfo(torch.float32).min  # what darknet takes for pixels outside the picture


class WindowMaximum(nn.Module):
    """Maximum over windows; pixels outside the picture never win."""

    def __init__(self, spec: "MaxpoolSpec") -> None:
        super().__init__()
        self.size = spec.size
        self.stride = (spec.stride_y, spec.stride_x)
        self.before = spec.padding // 2  # left and top; the rest is right and bottom
        self.padding = spec.padding

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H', W') for (B, C, H, W)."""
        after = self.padding - self.before
        if self.before == after and 2 * self.before <= self.size:
            return F.max_pool2d(x, self.size, self.stride, self.before)
        bottom = reach(x.shape[2], self.padding, self.size, self.stride[0])
        right = reach(x.shape[3], self.padding, self.size, self.stride[1])
        if self.before or bottom or right:
            x = F.pad(x, (self.before, right, self.before, bottom), value=_OUTSIDE)
        return F.max_pool2d(x, self.size, self.stride)


class ChannelMaximum(nn.Module):
    """Maximum over the channels g, g + out_channels, g + 2 out_channels, ..."""

    def __init__(self, out_channels: int) -> None:
        super().__init__()
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, out_channels, H, W) for (B, C, H, W)."""
        missing = -x.shape[1] % self.out_channels
        if missing:
            x = F.pad(x, (0, 0, 0, 0, 0, missing), value=_OUTSIDE)
        return torch.unflatten(x, 1, (-1, self.out_channels)).amax(1)


class Blurred(nn.Module):
    """A pooling and the blur behind it."""

    def __init__(self, pooling: nn.Module, blur: Blur) -> None:
        super().__init__()
        self.pooling = pooling
        self.blur = blur

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H', W') for (B, C, H, W)."""
        return self.blur(cast(Tensor, self.pooling(x)))


@layer("maxpool", "max")
@dataclass(frozen=True, slots=True)
class MaxpoolSpec(WindowSpec):
    """Values of a [maxpool] section."""

    out_channels: int  # 0: pool over windows; else over channels
    blur: Blur | None = None  # antialiasing: the strides are the blur's, the pooling's are 1

    @classmethod
    def parse(cls, options: Options) -> Self:
        if options.flag("maxpool_zero_nonmax"):
            options.fail(
                "maxpool_zero_nonmax",
                "not supported in this version of darkpy. Set maxpool_zero_nonmax=0 for a plain [maxpool].",
            )
        out_channels = options.integer("out_channels", 1, at_least=1)
        spec = cls.read(options, out_channels=out_channels if options.flag("maxpool_depth") else 0)
        blur = blur_of(options.integer("antialiasing", 0), spec.stride_x, spec.stride_y)
        return replace(spec, stride_x=1, stride_y=1, blur=blur) if blur else spec

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        pooled = self._pooled_shape(inputs)
        return self.blur.output_shape(pooled) if self.blur else pooled

    def _pooled_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        if self.out_channels:
            if self.out_channels > source.channels:
                raise CfgError(
                    f"{self.where} out_channels={self.out_channels} is more than the {source.channels} input channels. "
                    "Set it to a divisor of them."
                )
            return Shape(self.out_channels, source.height, source.width)
        return self.windows(source)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        pooling = ChannelMaximum(self.out_channels) if self.out_channels else WindowMaximum(self)
        return Blurred(pooling, self.blur) if self.blur else pooling

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        if self.blur:
            pooled = self._pooled_shape(inputs)
            return f"{replace(self, blur=None).row(inputs, pooled)}\n{self.blur.row(pooled)}"
        if self.out_channels:
            return replace(self, stride_y=self.stride_x).window_row("max-depth", inputs, output)  # it has one stride
        return self.window_row("max", inputs, output)

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        pooled = self._pooled_shape(inputs) if self.blur else output
        return WindowSpec.bflops(self, inputs, pooled)

    def announcements(self) -> tuple[str, ...]:
        """Return the line that darknet prints on stdout while it reads the section."""
        return ("AA:  ",) if self.blur else ()
