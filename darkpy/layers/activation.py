"""[activation]: an activation function alone.  Source: darknet src/activation_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._activation import pure, read_activation
from darkpy.layers._base import PlainSpec, Shape, layer


class Activated(nn.Module):
    """Applies an activation and leaves its input as it is."""

    def __init__(self, activation: str) -> None:
        super().__init__()
        self.activation = pure(activation)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W)."""
        return self.activation(x)


@layer("activation")
@dataclass(frozen=True, slots=True)
class ActivationSpec(PlainSpec):
    """Values of an [activation] section."""

    notes_size: ClassVar[bool] = False  # darknet notes no width and height of its input
    activation: str

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls(read_activation(options, "linear", loud=True))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Activated(self.activation)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"Activation Layer: {inputs[0].size} inputs"
