"""[softmax]: shares of classes, with the loss of classifiers.

Source: darknet src/softmax_layer.c; src/blas_kernels.cu, softmax_x_ent_kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, layer
from darkpy.layers._class_loss import class_loss, fitted_truths
from darkpy.layers._head import DeltaFilter, HeadLoss


class _Straight(torch.autograd.Function):
    """Shares whose gradient goes to the input as it is: that of the loss, truth minus share, is the input's already."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, shares: Tensor) -> Tensor:
        return shares.view_as(shares)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


class Softmax(nn.Module):
    """Softmax of equal parts of the values, or of each pixel's channels."""

    def __init__(self, spec: "SoftmaxSpec") -> None:
        super().__init__()
        self.spec = spec
        self.has_loss = not spec.noloss

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W)."""
        if self.spec.spatial and not self.has_loss:
            return x.softmax(1)
        with torch.no_grad():
            shares = self._shares(x)
        output: Tensor = _Straight.apply(x, shares)
        return output

    def _shares(self, x: Tensor) -> Tensor:
        if self.spec.spatial:
            return x.softmax(1)
        groups = x.reshape(x.shape[0], self.spec.groups, -1)
        return (groups / self.spec.temperature).softmax(2).view(x.shape)

    def loss(
        self,
        x: Tensor,
        truths: Tensor,
        network_size: tuple[int, int],
        *,
        keep: DeltaFilter | None = None,
        adversarial: bool = False,
    ) -> HeadLoss:
        """Return the loss of the layer's output (B, C, H, W) for truths (B, classes): -log(share) of true classes."""
        truth = fitted_truths(torch.zeros_like(x) if adversarial else truths, x, self.spec.where)
        likely = -x.clamp_min(torch.finfo(x.dtype).tiny).log()
        return class_loss(truth - x, torch.where(truth != 0, likely, torch.zeros_like(x)).sum())


@layer("softmax", "soft")
@dataclass(frozen=True, slots=True)
class SoftmaxSpec(PlainSpec):
    """Values of a [softmax] section."""

    where: str
    groups: int
    temperature: float
    spatial: bool
    noloss: bool

    @classmethod
    def parse(cls, options: Options) -> Self:
        groups = options.integer("groups", 1, at_least=1)
        temperature = options.real("temperature", 1.0, above=0.0)
        if options.has("tree"):
            options.fail("tree", "not supported in this version of darkpy. Remove it for one softmax over all classes.")
        spatial = options.real("spatial", 0.0) != 0
        return cls(options.where, groups, temperature, spatial, options.flag("noloss"))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        if inputs[0].size % self.groups:
            raise CfgError(
                f"{self.where} groups={self.groups} does not divide {inputs[0].size} inputs. Change one of them."
            )
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Softmax(self)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        return f"softmax{'':40}{inputs[0].size:4d}"
