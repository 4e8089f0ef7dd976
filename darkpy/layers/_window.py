"""Windows that slide over a padded picture: what the poolings have in common.  Source: darknet src/maxpool_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, total_stride


@dataclass(frozen=True, slots=True)
class WindowSpec(PlainSpec):
    """Values of a section that pools, sizes in pixels."""

    where: str
    size: int
    stride_x: int
    stride_y: int
    padding: int  # of both sides together

    @classmethod
    def read(cls, options: Options, **others: Any) -> Self:
        """Read the section; further values as they are."""
        stride = options.integer("stride", 1, at_least=1, loud=True)
        stride_x = options.integer("stride_x", stride, at_least=1)
        stride_y = options.integer("stride_y", stride, at_least=1)
        size = options.integer("size", stride, at_least=1, loud=True)
        padding = options.integer("padding", size - 1, at_least=0)
        return cls(options.where, size, stride_x, stride_y, padding, **others)

    def windows(self, source: Shape) -> Shape:
        """Return as many channels as the source has, and a value for each window.

        Raises:
            CfgError: If there is no room for a window.
        """
        height = total_stride(source.height, self.padding, self.size, self.stride_y)
        width = total_stride(source.width, self.padding, self.size, self.stride_x)
        if height < 1 or width < 1 or self.size > min(source.height, source.width) + self.padding:
            raise CfgError(
                f"{self.where} size={self.size} does not fit an input of {source.width}x{source.height}. "
                "Use a smaller window, or a larger network width and height."
            )
        return Shape(source.channels, height, width)

    def window_row(self, name: str, inputs: Sequence[Shape], output: Shape) -> str:
        """Return the row of the table printed at load, with both strides where they differ."""
        window = f"{self.size:2d}x{self.size:2d}/{self.stride_x:2d}"
        tail = f"{inputs[0]} -> {output} {self.bflops(inputs, output):5.3f} BF"
        if self.stride_x != self.stride_y:
            return f"{name:<17}{window}x{self.stride_y:2d} {tail}"
        return f"{name:<18}{window}   {tail}"

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        """As in ``LayerSpec``."""
        return self.size * self.size * inputs[0].channels * output.height * output.width / 1e9


def reach(length: int, padding: int, size: int, stride: int) -> int:
    """Return how many pixels behind the picture the last window needs; arguments in pixels."""
    last = (total_stride(length, padding, size, stride) - 1) * stride - padding // 2 + size
    return max(last - length, 0)
