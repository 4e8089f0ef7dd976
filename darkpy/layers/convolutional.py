"""[convolutional]: convolution, batch norm, activation.  Source: darknet src/convolutional_layer.c, src/parser.c."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._activation import ACTIVATIONS, read_activation
from darkpy.layers._base import LayerSpec, ParameterRule, PlainSpec, Shape, layer, total_stride
from darkpy.layers._batch_norm import EPSILON, Normalized
from darkpy.layers._blur import Blur, blur_of
from darkpy.layers._guard import guarded_input, guarded_output

# Variants of a convolution that come with a later version; each changes the arithmetic, so none is passed over.
_LATER = (
    "xnor",
    "binary",
    "assisted_excitation",
    "sway",
    "rotate",
    "stretch",
    "stretch_sway",
)
_SHARED = ("weight", "bias", "scale", "rolling_mean", "rolling_variance")
_FEW_CHANNELS = 16  # below it oneDNN's 1x1 convolution with a stride writes past a buffer (torch 2.14, CPU)
_CENTRALIZED = 32  # weights of a filter: the GPU build centralises only filters of a multiple of these
_WITHOUT_EFFECT = ("bin_output", "reverse", "coordconv", "stream", "wait_stream", "dot", "angle")


class Convolution(Normalized):
    """A convolution with bias, or with batch norm, and its activation. It may take its weights from another one."""

    owner: "Convolution"  # of the weights and statistics: itself, unless it shares another one's

    def __init__(self, spec: "ConvolutionalSpec", in_channels: int) -> None:
        super().__init__()
        self.__dict__["owner"] = self  # no part of this module
        self.blur = spec.blur
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
            self.add_statistics(spec.filters)

    def __getattr__(self, name: str) -> Any:
        """Return what the owner has of weights and statistics."""
        owner = self.__dict__.get("owner")
        if name in _SHARED and owner is not self and owner is not None:
            return getattr(owner, name)
        return super().__getattr__(name)

    def share(self, other: "Convolution") -> None:
        """Use another one's weights and statistics from now on, and drop the own ones."""
        for name in _SHARED:
            self._parameters.pop(name, None)
            self._buffers.pop(name, None)
        self.__dict__["owner"] = other.owner

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, filters, H', W') for (B, C, H, W)."""
        if self.guards:
            x = guarded_input(x)
        if self.thinned != (1, 1):
            x = x[:, :, :: self.thinned[0], :: self.thinned[1]]
        bias = None if self.is_normalized else self.bias
        x = F.conv2d(x, self.weight, bias, self.stride, self.padding, self.dilation, self.groups)
        if self.is_normalized:
            x = self.normalize(x)
        x = self.activation(x)
        if self.blur is not None:
            x = self.blur(x)
        return guarded_output(x) if self.guards else x

    @torch.no_grad()
    def fuse(self) -> None:
        """Fold batch norm into weight and bias, in double precision as darknet's inference commands do."""
        if not self.is_normalized:
            return
        if self.owner is not self:  # whose weights are fused already
            self.is_normalized = False
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
class ConvolutionalSpec(PlainSpec):
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
    blur: Blur | None = None  # antialiasing: the strides are the blur's, the convolution's are 1
    shares: int | None = None  # absolute index of the layer whose weights it uses

    @classmethod
    def parse(cls, options: Options) -> Self:
        """Read the options; ``pad`` other than 0 means padding of size/2, and beats ``padding``."""
        for key in _LATER:
            if options.text(key, "0") not in ("0", "-1"):
                options.fail(key, f"not supported in this version of darkpy. Set {key}=0 for a plain convolution.")
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
        stride_x, stride_y = (step if step >= 1 else stride for step in (stride_x, stride_y))
        blur = blur_of(options.integer("antialiasing", 0), stride_x, stride_y)
        return cls(
            where=options.where,
            filters=filters,
            size=size,
            stride_x=1 if blur else stride_x,
            stride_y=1 if blur else stride_y,
            pad=size // 2 if options.flag("pad") else padding,
            groups=max(options.integer("groups", 1), 1),
            dilation=1 if size == 1 else dilation,
            batch_normalize=normalize != 0,
            activation=read_activation(options, "logistic", loud=True),
            clip=options.real("clip", 0.0, at_least=0.0),
            grad_centr=options.flag("grad_centr"),
            flipped=options.flag("flipped"),
            blur=blur,
            shares=_shared_layer(options),
        )

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        convolved = self._convolved_shape(inputs)
        return self.blur.output_shape(convolved) if self.blur else convolved

    def check_owner(self, owner: LayerSpec, inputs: Sequence[Shape], own_inputs: Sequence[Shape]) -> None:
        """Check that the layer whose weights this one uses has weights of its shape.

        Args:
            owner: Of that layer.
            inputs: Of that layer.
            own_inputs: Of this layer.

        Raises:
            CfgError: If they do not fit.
        """
        if isinstance(owner, ConvolutionalSpec) and inputs[0].channels == own_inputs[0].channels:
            names = ("size", "filters", "groups", "batch_normalize")
            if all(getattr(owner, name) == getattr(self, name) for name in names):
                return
        raise CfgError(
            f"{self.where} Layer size, nweights, channels or filters don't match for the share_layer {self.shares}. "
            "Name a [convolutional] of the same size, filters, groups, batch_normalize and input channels."
        )

    def _convolved_shape(self, inputs: Sequence[Shape]) -> Shape:
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
        if self.shares is not None:
            return ()
        if not self.batch_normalize:
            return (module.bias, module.weight)
        return (module.bias, *module.statistics(), module.weight)

    def scale_blobs(self, module: nn.Module) -> Sequence[Tensor]:
        """Return the blobs that ``dontloadscales`` leaves out."""
        assert isinstance(module, Convolution)
        return module.statistics() if self.batch_normalize else ()

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
        tag = "conv  " if self.shares is None else "convS "
        convolved = self._convolved_shape(inputs) if self.blur else output
        row = f"{tag}{filters}{window}{inputs[0]} -> {convolved} {self.bflops(inputs, output):5.3f} BF"
        return f"{row}\n{self.blur.row(convolved)}" if self.blur else row

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        per_output = inputs[0].channels // self.groups * self.size * self.size
        convolved = self._convolved_shape(inputs) if self.blur else output
        return 2.0 * per_output * convolved.size / 1e9

    def announcements(self) -> tuple[str, ...]:
        """Return the line that darknet prints on stdout while it reads the section."""
        return ("AA:  ",) if self.blur else ()


def _shared_layer(options: Options) -> int | None:
    """Return the absolute index that ``share_index`` names, or None without it."""
    if not options.has("share_index"):
        return None
    (index, *others) = options.layers("share_index")
    if others:
        options.fail("share_index", f"names {1 + len(others)} layers, but one owns the weights. Keep one.")
    return index
