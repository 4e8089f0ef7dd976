"""[local]: a convolution with weights of its own at every place.  Source: darknet src/local_layer.c."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import ParameterRule, PlainSpec, Shape, layer, total_stride


class Local(nn.Module):
    """A bank of filters for each place of the output, a bias for each value of it, and the activation."""

    def __init__(self, spec: "LocalSpec", source: Shape, output: Shape) -> None:
        super().__init__()
        self.size, self.stride, self.pad = spec.size, spec.stride, spec.pad
        self.output = output
        self.activation = ACTIVATIONS[spec.activation]
        fan_in = spec.size * spec.size * source.channels
        bound = math.sqrt(2 / fan_in)
        places = output.height * output.width
        self.weight = nn.Parameter(torch.empty(places, spec.filters, fan_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(output.size))

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, filters, H', W') for (B, C, H, W)."""
        windows = F.unfold(x, self.size, padding=self.pad, stride=self.stride)  # (B, C size size, places)
        sums = torch.einsum("bkp,pnk->bnp", windows, self.weight)
        shape = (x.shape[0], *self.output)
        return self.activation(sums.reshape(shape) + self.bias.view(1, *self.output))


@layer("local")
@dataclass(frozen=True, slots=True)
class LocalSpec(PlainSpec):
    """Values of a [local] section, sizes in pixels."""

    where: str
    filters: int
    size: int
    stride: int
    pad: int  # on each side
    activation: str

    @classmethod
    def parse(cls, options: Options) -> Self:
        filters = options.integer("filters", 1, at_least=1, loud=True)
        size = options.integer("size", 1, at_least=1, loud=True)
        stride = options.integer("stride", 1, at_least=1, loud=True)
        pad = options.integer("pad", 0, at_least=0, loud=True)
        if pad and size != 2 * pad + 1:
            fitting = 2 * pad + 1
            options.fail("pad", f"is a number of pixels here, and fits size={fitting} alone. Set size={fitting}.")
        return cls(options.where, filters, size, stride, pad, read_activation(options, "logistic", loud=True))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        if self.size > min(source.height, source.width) + 2 * self.pad:
            raise CfgError(
                f"{self.where} size={self.size} does not fit an input of {source.width}x{source.height}. "
                "Use a smaller window, or a larger network width and height."
            )
        height = total_stride(source.height, 2 * self.pad, self.size, self.stride)
        width = total_stride(source.width, 2 * self.pad, self.size, self.stride)
        return Shape(self.filters, height, width)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Local(self, inputs[0], self.output_shape(inputs))

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        assert isinstance(module, Local)
        return (module.bias, module.weight)

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        assert isinstance(module, Local)
        return ((module.weight, ParameterRule(decay=True)), (module.bias, ParameterRule()))

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        source = inputs[0]
        return (
            f"Local Layer: {source.height} x {source.width} x {source.channels} image, {self.filters} filters -> "
            f"{output.height} x {output.width} x {self.filters} image"
        )
