"""[empty]: passes its input on.  Source: darknet src/layer.c; src/parser.c, parse_empty."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import ParameterRule, Shape, layer, previous


@layer("empty", "silence")
@dataclass(frozen=True, slots=True)
class EmptySpec:
    """An [empty] section; it has no options."""

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls()

    def sources(self, index: int) -> tuple[int, ...]:
        return previous(index)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return nn.Identity()

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        return ()

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        return ()

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return "empty "

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        return 0.0
