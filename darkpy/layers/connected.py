"""[connected]: every output from every input.  Source: darknet src/connected_layer.c, src/parser.c."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import ParameterRule, PlainSpec, Shape, layer
from darkpy.layers._batch_norm import Normalized
from darkpy.layers._guard import bounded_output


class Connected(Normalized):
    """A matrix with bias, or with batch norm, and its activation. Gradients of its output are held within -1 and 1."""

    def __init__(self, spec: "ConnectedSpec", inputs: int) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[spec.activation]
        self.is_normalized = spec.batch_normalize
        bound = math.sqrt(2 / inputs)
        self.weight = nn.Parameter(torch.empty(spec.outputs, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(spec.outputs))  # batch norm's shift where there is batch norm
        if self.is_normalized:
            self.add_statistics(spec.outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, outputs, 1, 1) for (B, C, H, W)."""
        bias = None if self.is_normalized else self.bias
        x = F.linear(x.flatten(1), self.weight, bias).view(x.shape[0], -1, 1, 1)
        if self.is_normalized:
            x = self.normalize(x)
        return bounded_output(self.activation(x))


@layer("connected", "conn")
@dataclass(frozen=True, slots=True)
class ConnectedSpec(PlainSpec):
    """Values of a [connected] section."""

    notes_size: ClassVar[bool] = False  # darknet notes no width and height of its input
    outputs: int
    activation: str
    batch_normalize: bool

    @classmethod
    def parse(cls, options: Options) -> Self:
        outputs = options.integer("output", 1, at_least=1, loud=True)
        activation = read_activation(options, "logistic", loud=True)
        return cls(outputs, activation, options.flag("batch_normalize"))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return Shape(self.outputs, 1, 1)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Connected(self, inputs[0].size)

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        assert isinstance(module, Connected)
        if not self.batch_normalize:
            return (module.bias, module.weight)
        return (module.bias, module.weight, *self.scale_blobs(module))

    def scale_blobs(self, module: nn.Module) -> Sequence[Tensor]:
        """Return the blobs that ``dontloadscales`` leaves out."""
        assert isinstance(module, Connected)
        return module.statistics() if self.batch_normalize else ()

    def transposed_blobs(self, module: nn.Module, *, is_old: bool) -> Sequence[Tensor]:
        """Return the blobs that a file holds column by column: the weights, in files of old versions."""
        assert isinstance(module, Connected)
        return (module.weight,) if is_old else ()

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        assert isinstance(module, Connected)
        rules = [(module.weight, ParameterRule(decay=True)), (module.bias, ParameterRule())]
        return [*rules, (module.scale, ParameterRule())] if self.batch_normalize else rules

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"connected{'':28}{inputs[0].size:4d}  ->  {self.outputs:4d}"
