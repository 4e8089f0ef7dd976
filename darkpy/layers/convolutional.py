"""[convolutional]: convolution, batch norm, activation.  Source: darknet src/convolutional_layer.c, src/parser.c."""

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
from darkpy.layers._base import ParameterRule, Shape, layer, previous, total_stride
from darkpy.layers._batch_norm import EPSILON, normalize
from darkpy.layers._guard import guarded_input, guarded_output

# Variants of a convolution that come with a later version; each changes the arithmetic, so none is passed over.
_LATER = (
    "xnor",
    "binary",
    "antialiasing",
    "assisted_excitation",
    "sway",
    "rotate",
    "stretch",
    "stretch_sway",
)
_FEW_CHANNELS = 16  # below it oneDNN's 1x1 convolution with a stride writes past a buffer (torch 2.14, CPU)
_CENTRALIZED = 32  # weights of a filter: the GPU build centralises only filters of a multiple of these
_WITHOUT_EFFECT = ("bin_output", "reverse", "coordconv", "stream", "wait_stream", "dot", "angle")


class Convolution(nn.Module):
    """A convolution with bias, or with batch norm, and its activation."""

    def __init__(self, spec: "ConvolutionalSpec", in_channels: int) -> None:
        super().__init__()
        self.stride = (spec.stride_y, spec.stride_x)
        self.thinned = (1, 1)  # step between the pixels that are read at all
        if spec.size == 1 and spec.pad == 0 and in_channels < _FEW_CHANNELS:
            self.stride, self.thinned = self.thinned, self.stride
        self.padding = spec.pad * spec.dilation
        self.dilation = spec.dilation
        self.groups = spec.groups
        self.activation = ACTIVATIONS[spec.activation]
        self.is_normalized = spec.batch_normalize
        self.guards = False  # try_fix_nan
        fan_in = spec.size * spec.size * in_channels // spec.groups
        bound = math.sqrt(2 / fan_in)
        shape = (spec.filters, in_channels // spec.groups, spec.size, spec.size)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(spec.filters))  # batch norm's shift where there is batch norm
        if self.is_normalized:
            self.scale = nn.Parameter(torch.ones(spec.filters))
            self.rolling_mean: Tensor
            self.rolling_variance: Tensor
            self.register_buffer("rolling_mean", torch.zeros(spec.filters))
            self.register_buffer("rolling_variance", torch.zeros(spec.filters))  # 0, not 1: as darknet begins

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, filters, H', W') for (B, C, H, W)."""
        if self.guards:
            x = guarded_input(x)
        if self.thinned != (1, 1):
            x = x[:, :, :: self.thinned[0], :: self.thinned[1]]
        bias = None if self.is_normalized else self.bias
        x = F.conv2d(x, self.weight, bias, self.stride, self.padding, self.dilation, self.groups)
        if self.is_normalized:
            x = self._normalize(x)
        return guarded_output(self.activation(x)) if self.guards else self.activation(x)

    def _normalize(self, x: Tensor) -> Tensor:
        return normalize(x, self.rolling_mean, self.rolling_variance, self.scale, self.bias, training=self.training)

    @torch.no_grad()
    def fuse(self) -> None:
        """Fold batch norm into weight and bias, in double precision as darknet's inference commands do."""
        if not self.is_normalized:
            return
        bias, scale, mean, variance, weight = (
            tensor.cpu().double()  # on the CPU, since Apple's GPUs have no double precision
            for tensor in (self.bias, self.scale, self.rolling_mean, self.rolling_variance, self.weight)
        )
        factor = scale / torch.sqrt(variance + EPSILON)
        self.weight.copy_(weight * factor.view(-1, 1, 1, 1))
        self.bias.copy_(bias - mean * factor)
        self.is_normalized = False


@layer("convolutional", "conv")
@dataclass(frozen=True, slots=True)
class ConvolutionalSpec:
    """Values of a [convolutional] section, sizes in pixels."""

    where: str
    filters: int
    size: int
    stride_x: int
    stride_y: int
    pad: int  # on each side, before dilation
    groups: int
    dilation: int
    batch_normalize: bool
    activation: str
    clip: float = 0.0  # bound of the weights after an update; 0 for none
    grad_centr: bool = False
    flipped: bool = False  # a weights file holds the weights column by column

    @classmethod
    def parse(cls, options: Options) -> Self:
        """Read the options; ``pad`` other than 0 means padding of size/2, and beats ``padding``."""
        for key in _LATER:
            if options.text(key, "0") not in ("0", "-1"):
                options.fail(key, f"not supported in this version of darkpy. Set {key}=0 for a plain convolution.")
        if options.has("share_index"):  # 0 and -1 name layers, too
            options.fail("share_index", "not supported in this version of darkpy. Remove it: each has its own weights.")
        for key in _WITHOUT_EFFECT:
            if options.has(key):
                options.notes.append(f"{options.at(key)} {key} has no effect in this version of darkpy.")
        filters = options.integer("filters", 1, at_least=1, loud=True)
        size = options.integer("size", 1, at_least=1, loud=True)
        stride_x, stride_y = options.integer("stride_x", -1), options.integer("stride_y", -1)
        stride = options.integer("stride", 1, at_least=1, loud=stride_x < 1 or stride_y < 1)
        padding = options.integer("padding", 0, at_least=0)
        normalize = options.integer("batch_normalize", 0)
        if options.flag("cbn") or normalize == 2:
            where = options.at("cbn" if options.flag("cbn") else "batch_normalize")
            options.notes.append(f"{where} cross-iteration batch norm acts as plain one in this version of darkpy.")
            normalize = 1
        dilation = options.integer("dilation", 1, at_least=1)
        return cls(
            where=options.where,
            filters=filters,
            size=size,
            stride_x=stride_x if stride_x >= 1 else stride,
            stride_y=stride_y if stride_y >= 1 else stride,
            pad=size // 2 if options.flag("pad") else padding,
            groups=max(options.integer("groups", 1), 1),
            dilation=1 if size == 1 else dilation,
            batch_normalize=normalize != 0,
            activation=read_activation(options, "logistic", loud=True),
            clip=options.real("clip", 0.0, at_least=0.0),
            grad_centr=options.flag("grad_centr"),
            flipped=options.flag("flipped"),
        )

    def sources(self, index: int) -> tuple[int, ...]:
        return previous(index)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        for name, count in (("input channels", source.channels), ("filters", self.filters)):
            if count % self.groups:
                raise CfgError(f"{self.where} groups={self.groups} does not divide {count} {name}. Change one of them.")
        height = total_stride(source.height, 2 * self.pad, self.size, self.stride_y)
        width = total_stride(source.width, 2 * self.pad, self.size, self.stride_x)
        if height < 1 or width < 1 or (height, width) != self._convolved(source):
            raise CfgError(
                f"{self.where} size={self.size} with padding {self.pad} and dilation {self.dilation} does not fit "
                f"an input of {source.width}x{source.height}. Set pad=1, or a larger network width and height."
            )
        return Shape(self.filters, height, width)

    def _convolved(self, source: Shape) -> tuple[int, int]:
        """Return the height and width that the convolution really gives; darknet's formula leaves dilation out."""
        span = self.dilation * (self.size - 1) + 1
        padding = 2 * self.pad * self.dilation
        return (
            (source.height + padding - span) // self.stride_y + 1,
            (source.width + padding - span) // self.stride_x + 1,
        )

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Convolution(self, inputs[0].channels)

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        assert isinstance(module, Convolution)
        if not self.batch_normalize:
            return (module.bias, module.weight)
        return (module.bias, module.scale, module.rolling_mean, module.rolling_variance, module.weight)

    def scale_blobs(self, module: nn.Module) -> Sequence[Tensor]:
        """Return the blobs that ``dontloadscales`` leaves out."""
        assert isinstance(module, Convolution)
        return (module.scale, module.rolling_mean, module.rolling_variance) if self.batch_normalize else ()

    def transposed_blobs(self, module: nn.Module, *, is_old: bool) -> Sequence[Tensor]:
        """Return the blobs that a file holds column by column: the weights, with ``flipped``."""
        assert isinstance(module, Convolution)
        return (module.weight,) if self.flipped else ()

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        assert isinstance(module, Convolution)
        centralize = self.grad_centr and self.batch_normalize and module.weight[0].numel() % _CENTRALIZED == 0
        of_weights = ParameterRule(decay=True, clip=self.clip, centralize=centralize, of_convolution=True)
        other = ParameterRule(of_convolution=True)
        rules = [(module.weight, of_weights), (module.bias, other)]
        if self.batch_normalize:
            rules.append((module.scale, other))
        return rules

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        filters = f"{self.filters:5d}/{self.groups:4d} " if self.groups > 1 else f"{self.filters:5d}      "
        if self.stride_x != self.stride_y:
            window = f"{self.size:2d}x{self.size:2d}/{self.stride_x:2d}x{self.stride_y:2d} "
        elif self.dilation > 1:
            window = f"{self.size:2d} x{self.size:2d}/{self.stride_x:2d}({self.dilation:1d})"
        else:
            window = f"{self.size:2d} x{self.size:2d}/{self.stride_x:2d}   "
        return f"conv  {filters}{window}{inputs[0]} -> {output} {self.bflops(inputs, output):5.3f} BF"

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        per_output = inputs[0].channels // self.groups * self.size * self.size
        return 2.0 * per_output * output.size / 1e9
