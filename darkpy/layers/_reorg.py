"""Space to depth and back, by views; what both reorg layers share.  Source: darknet src/blas.c, reorg_cpu."""

from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import PlainSpec


class Rearranged(nn.Module):
    """Blocks of pixels become channels, or the reverse."""

    def __init__(self, stride: int, *, is_reverse: bool) -> None:
        super().__init__()
        self.stride = stride
        self.is_reverse = is_reverse


@dataclass(frozen=True, slots=True)
class BlockSpec(PlainSpec):
    """Values of a section that rearranges blocks of pixels."""

    where: str
    stride: int  # pixels of a block, both ways
    is_reverse: bool

    @classmethod
    def parse(cls, options: Options) -> Self:
        """As in ``LayerSpec``."""
        return cls(options.where, options.integer("stride", 1, at_least=1, loud=True), options.flag("reverse"))


def space_to_depth(x: Tensor, stride: int) -> Tensor:
    """Return (B, stride stride C, H / stride, W / stride): channel (a stride + b) C + c is pixel (a, b) of each block.

    Args:
        x: (B, C, H, W); rows and columns beyond a multiple of the stride are left out.
        stride: Length of a block in pixels.
    """
    batch, channels, height, width = x.shape
    rows, columns = height // stride, width // stride
    blocks = x[:, :, : rows * stride, : columns * stride].reshape(batch, channels, rows, stride, columns, stride)
    return blocks.permute(0, 3, 5, 1, 2, 4).reshape(batch, stride * stride * channels, rows, columns)


def depth_to_space(x: Tensor, stride: int) -> Tensor:
    """Return (B, C / stride / stride, H stride, W stride): the inverse of ``space_to_depth``.

    Args:
        x: (B, C, H, W); C is a multiple of the square of the stride.
        stride: Length of a block in pixels.
    """
    batch, channels, height, width = x.shape
    fewer = channels // (stride * stride)
    blocks = x.reshape(batch, stride, stride, fewer, height, width).permute(0, 3, 4, 1, 5, 2)
    return blocks.reshape(batch, fewer, height * stride, width * stride)
