"""[shortcut]: sum of the previous layer and earlier ones, weighted if asked.

Source: darknet src/shortcut_layer.c, src/blas.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import ParameterRule, Shape, layer

_NORMALIZER_EPSILON = 1e-4
_SMALLEST_RELU = 0.001  # the GPU build's relu of a weight never falls below this
_TYPES = {"none": 0, "per_feature": 1, "per_layer": 1, "per_channel": 2}
_NORMALIZATIONS = {"none": 0, "relu": 1, "avg_relu": 1, "softmax": 2}


def normalized(weights: Tensor, kind: int) -> Tensor:
    """Return the weights (n + 1, C or 1) normalised over their first dimension: 1 by relu, 2 by softmax."""
    if kind == 1:
        positive = weights.clamp_min(_SMALLEST_RELU)
        return positive / (_NORMALIZER_EPSILON + positive.sum(0))
    exponent = torch.exp(weights - weights.amax(0))
    return exponent / (_NORMALIZER_EPSILON + exponent.sum(0))


class _GatedSum(Function):
    """Sum of weighted inputs whose weight gradient is darknet's, not the normalisation's derivative (GPU build)."""

    @staticmethod
    def forward(ctx: FunctionCtx, weights: Tensor, kind: int, *inputs: Tensor) -> Tensor:
        """Return the sum over i of n_i inputs[i]; inputs (B, C, H, W), weights (n + 1, C or 1)."""
        gates = normalized(weights, kind)
        ctx.save_for_backward(gates, *inputs)
        ctx.kind = kind  # type: ignore[attr-defined]
        total = inputs[0] * gates[0].view(1, -1, 1, 1)
        for gate, x in zip(gates[1:], inputs[1:], strict=True):
            total.addcmul_(x, gate.view(1, -1, 1, 1))
        return total

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients: input i gets n_i times it; weight i its sum with input i times n_i or n_i (1 - n_i)."""
        gates, *inputs = ctx.saved_tensors  # type: ignore[attr-defined]
        to_inputs = [gradient * gate.view(1, -1, 1, 1) for gate in gates]
        sums = torch.stack([(gradient * x).sum((0, 2, 3)) for x in inputs])  # (n + 1, C)
        if gates.shape[1] == 1:
            sums = sums.sum(1, keepdim=True)
        factor = gates if ctx.kind == 1 else gates * (1 - gates)  # type: ignore[attr-defined]
        return (sums * factor, None, *to_inputs)


class Shortcut(nn.Module):
    """Adds inputs channel by channel: extra channels of a source are ignored, missing ones count as 0."""

    def __init__(self, spec: "ShortcutSpec", channels: int) -> None:
        super().__init__()
        self.normalization = spec.normalization
        self.alpha, self.beta = spec.alpha, spec.beta
        self.activation = ACTIVATIONS[spec.activation]
        rows = len(spec.layers) + 1
        self.weight = None
        if spec.weighted:
            self.weight = nn.Parameter(torch.ones(rows, channels if spec.weighted == 2 else 1))

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return (B, C, H, W) of the first input's shape; the others are (B, any C, H, W)."""
        first, *others = inputs
        if self.weight is not None:
            fitted = [_fit_channels(x, first.shape[1]) for x in others]
            total: Tensor = _GatedSum.apply(self.weight, self.normalization, first, *fitted)
            return self.activation(total)
        total = first
        is_plain = self.alpha == self.beta == 1
        for x in others:
            is_plain_sum = is_plain and x.shape[2:] == total.shape[2:]
            total = _add(total, x) if is_plain_sum else _add_apart(total, x, self.alpha, self.beta)
        return self.activation(total)


def _fit_channels(x: Tensor, channels: int) -> Tensor:
    if x.shape[1] >= channels:
        return x[:, :channels]
    return nn.functional.pad(x, (0, 0, 0, 0, 0, channels - x.shape[1]))


def _add(total: Tensor, x: Tensor) -> Tensor:
    common = min(total.shape[1], x.shape[1])
    if common == total.shape[1]:
        return total + x[:, :common]
    return torch.cat([total[:, :common] + x, total[:, common:]], dim=1)


def _add_apart(total: Tensor, x: Tensor, alpha: float, beta: float) -> Tensor:
    """Return alpha total + beta x where they meet, and total elsewhere; every so many pixels of the larger meet.

    Args:
        total: (B, C, H, W).
        x: (B, any C, H', W'), in one ratio to H and W.
        alpha: Factor of total.
        beta: Factor of x.
    """
    sample, stride = _steps(total.shape[3], x.shape[3])
    channels, height, width = (min(one, other) for one, other in zip(total.shape[1:], x.shape[1:], strict=True))
    result = total.clone()
    meeting = result[:, :channels, : height * sample : sample, : width * sample : sample]
    added = x[:, :channels, : height * stride : stride, : width * stride : stride]
    meeting.mul_(alpha).add_(added, alpha=beta)
    return result


def _steps(length: int, other: int) -> tuple[int, int]:
    """Return the step between pixels that meet, in the first and in the other."""
    return max(length // other, 1), max(other // length, 1)


@layer("shortcut")
@dataclass(frozen=True, slots=True)
class ShortcutSpec:
    """Values of a [shortcut] section."""

    where: str
    layers: tuple[int, ...]  # absolute indices, beside the previous layer
    activation: str
    weighted: int  # 0 no, 1 one weight for each input, 2 one for each input and channel
    normalization: int  # 0 none, 1 relu, 2 softmax
    alpha: float = 1.0  # of the previous layer where an earlier one is added; keys of the original darknet
    beta: float = 1.0  # of an earlier layer

    @classmethod
    def parse(cls, options: Options) -> Self:
        layers = options.layers("from")
        weighted = _TYPES[options.choice("weights_type", "none", tuple(_TYPES))]
        word = options.text("weights_normalization", "none")
        if weighted and word not in ("relu", "avg_relu", "softmax"):
            options.fail(
                "weights_normalization", f"Incorrect weights_normalization = {word}. Use one of: relu, softmax."
            )
        return cls(
            where=options.where,
            layers=layers,
            activation=read_activation(options, "linear", loud=True),
            weighted=weighted,
            normalization=_NORMALIZATIONS.get(word, 0),
            alpha=options.real("alpha", 1.0),
            beta=options.real("beta", 1.0),
        )

    def sources(self, index: int) -> tuple[int, ...]:
        return (index - 1, *self.layers)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        first = inputs[0]
        for number, shape in zip(self.layers, inputs[1:], strict=True):
            if (shape.height, shape.width) == (first.height, first.width):
                continue
            if self.weighted or _steps(first.width, shape.width) != _steps(first.height, shape.height):
                rule = "Give both one size" if self.weighted else "Give both one size, or one ratio of width and height"
                raise CfgError(
                    f"{self.where} adds layers of different sizes: the previous layer is {first.width}x{first.height}, "
                    f"layer {number} is {shape.width}x{shape.height}. {rule}."
                )
        return first

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Shortcut(self, inputs[0].channels)

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        assert isinstance(module, Shortcut)
        return () if module.weight is None else (module.weight,)

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        assert isinstance(module, Shortcut)
        return () if module.weight is None else ((module.weight, ParameterRule(clamp_update=1.0)),)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        names = "".join(f"{index}, " for index in self.layers)
        return (
            f"Shortcut Layer: {names} wt = {self.weighted}, wn = {self.normalization}, "
            f"outputs:{output} {self.bflops(inputs, output):5.3f} BF"
        )

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        return output.size * len(self.layers) * (2 if self.weighted else 1) / 1e9
