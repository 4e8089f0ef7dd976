"""[batchnorm]: batch norm of the layer before, without a convolution.  Source: darknet src/batchnorm_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import ParameterRule, PlainSpec, Shape, layer
from darkpy.layers._batch_norm import BatchNorm


@layer("batchnorm")
@dataclass(frozen=True, slots=True)
class BatchnormSpec(PlainSpec):
    """A [batchnorm] section; it has no options."""

    @classmethod
    def parse(cls, options: Options) -> Self:
        return cls()

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return BatchNorm(inputs[0].channels)

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        assert isinstance(module, BatchNorm)
        return (module.bias, *module.statistics())

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        assert isinstance(module, BatchNorm)
        return ((module.bias, ParameterRule()), (module.scale, ParameterRule()))

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        source = inputs[0]
        return f"Batch Normalization Layer: {source.width} x {source.height} x {source.channels} image"
