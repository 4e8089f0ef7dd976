"""[empty]: passes its input on.  Source: darknet src/layer.c; src/parser.c, parse_empty."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import nn

from darkpy.cfg.options import Options
from darkpy.layers._base import PlainSpec, Shape, layer


@layer("empty", "silence")
@dataclass(frozen=True, slots=True)
class EmptySpec(PlainSpec):
    """An [empty] section; it has no options."""

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls()

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return nn.Identity()

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return "empty "
