"""An earlier layer times the previous one: what [sam] and [scale_channels] have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import PlainSpec, Shape


class Product(nn.Module):
    """Product of two inputs, then the activation."""

    def __init__(self, activation: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]

    def forward(self, factors: Tensor, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for x (B, C, H, W) and factors of that shape, (B, C, 1, 1) or (B, 1, H, W)."""
        return self.activation(x * factors)


@dataclass(frozen=True, slots=True)
class ProductSpec(PlainSpec):
    """Values of a section that scales an earlier layer."""

    where: str
    source: int  # absolute index of the layer that is scaled
    activation: str

    @classmethod
    def read(cls, options: Options, **others: Any) -> Self:
        """Read the section; further values as they are."""
        (source, *further) = options.layers("from")
        if further:
            kind = options.section.kind
            options.fail("from", f"names {1 + len(further)} layers, but [{kind}] scales one. Keep one.")
        return cls(options.where, source, read_activation(options, "linear"), **others)

    @classmethod
    def parse(cls, options: Options) -> Self:
        """As in ``LayerSpec``."""
        return cls.read(options)

    def sources(self, index: int) -> tuple[int, ...]:
        """As in ``LayerSpec``."""
        return (index - 1, self.source)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        """As in ``LayerSpec``."""
        return Product(self.activation)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        """As in ``LayerSpec``."""
        return f"scale Layer: {self.source}"
