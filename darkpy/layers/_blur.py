"""``antialiasing``: a layer works at stride 1, and a fixed blur of each channel takes the stride.

Source: darknet src/convolutional_layer.c, make_convolutional_layer; Zhang 2019, arXiv:1904.11486.
"""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from darkpy.layers._base import Shape, total_stride

_SMALL = 2  # the value of antialiasing that asks for 2x2 pixels of equal weight


@dataclass(frozen=True, slots=True)
class Blur:
    """The blur behind a layer, strides in pixels."""

    size: int  # 3: binomial, one pixel of padding; 2: equal weights, none
    stride_x: int
    stride_y: int

    @property
    def pad(self) -> int:
        """Pixels of padding on each side."""
        return self.size // 2 if self.size != _SMALL else 0

    def output_shape(self, source: Shape) -> Shape:
        """Return the shape behind the blur."""
        height = total_stride(source.height, 2 * self.pad, self.size, self.stride_y)
        width = total_stride(source.width, 2 * self.pad, self.size, self.stride_x)
        return Shape(source.channels, height, width)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the blurred x (B, C, H, W)."""
        line = x.new_tensor([1.0, 1.0] if self.size == _SMALL else [1.0, 2.0, 1.0])
        kernel = line.unsqueeze(1) * line / (line.sum() * line.sum())
        channels = x.shape[1]
        weight = kernel.expand(channels, 1, self.size, self.size)
        return F.conv2d(x, weight, None, (self.stride_y, self.stride_x), self.pad, groups=channels)

    def row(self, source: Shape) -> str:
        """Return the blur's own line of the table printed at load."""
        output = self.output_shape(source)
        flops = 2.0 * self.size * self.size * output.size / 1e9
        channels = source.channels
        filters = f"{channels:5d}/{channels:4d} " if channels > 1 else f"{channels:5d}      "
        if self.stride_x != self.stride_y:
            window = f"{self.size:2d}x{self.size:2d}/{self.stride_x:2d}x{self.stride_y:2d} "
        else:
            window = f"{self.size:2d} x{self.size:2d}/{self.stride_x:2d}   "
        return f"conv  {filters}{window}{source} -> {output} {flops:5.3f} BF"


def blur_of(kind: int, stride_x: int, stride_y: int) -> Blur | None:
    """Return the blur that a value of antialiasing asks for, or None for 0."""
    return Blur(_SMALL if kind == _SMALL else 3, stride_x, stride_y) if kind else None
