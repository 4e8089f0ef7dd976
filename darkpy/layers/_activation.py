"""Activations by darknet's names.  Source: darknet src/activations.c, src/activations.h."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

from darkpy.cfg.options import Options

Activation = Callable[[Tensor], Tensor]
_CHANNELS_EPSILON = 1e-4


def _hard_mish(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.where(x > -2, x * x / 2 + x, torch.zeros_like(x)))


def _plse(x: Tensor) -> Tensor:
    low, high = 0.01 * (x + 4), 0.01 * (x - 4) + 1
    return torch.where(x < -4, low, torch.where(x > 4, high, 0.125 * x + 0.5))


def _lhtan(x: Tensor) -> Tensor:
    return torch.where(x < 0, 0.001 * x, torch.where(x > 1, 0.001 * (x - 1) + 1, x))


def _stair(x: Tensor) -> Tensor:
    floor = torch.floor(x)
    half = torch.floor(x / 2)
    return torch.where(floor % 2 == 0, half, (x - floor) + half)


class _GatedChannels(Function):
    """Shares of a pixel's channels; the gradient is the GPU build's, each value's share times its own gradient."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, kind: str) -> Tensor:
        """Return the shares of x (B, C, H, W) over its channels."""
        if kind == "relu":
            positive = x.clamp_min(0)
            shares = positive / (_CHANNELS_EPSILON + positive.sum(1, keepdim=True))
        else:
            highest = x.amax(1, keepdim=True)
            exponent = torch.exp(x - highest)
            small = _CHANNELS_EPSILON * (torch.exp(-highest) if kind == "softmax" else torch.ones_like(highest))
            shares = exponent / (small + exponent.sum(1, keepdim=True))
        ctx.save_for_backward(shares)
        ctx.kind = kind  # type: ignore[attr-defined]
        return shares

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the gradient times y, or y (1 - y) for a softmax."""
        (shares,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return gradient * (shares if ctx.kind == "relu" else shares * (1 - shares)), None  # type: ignore[attr-defined]


def _over_channels(kind: str) -> Activation:
    def activation(x: Tensor) -> Tensor:
        shares: Tensor = _GatedChannels.apply(x, kind)
        return shares

    return activation


# The rectifiers write into their input: batch norm and convolution keep their own inputs, not this one.
ACTIVATIONS: dict[str, Activation] = {
    "linear": lambda x: x,
    "logistic": torch.sigmoid,
    "loggy": lambda x: 2 * torch.sigmoid(x) - 1,
    "relu": torch.relu_,
    "relu6": F.relu6,
    "elu": F.elu,
    "selu": lambda x: 1.0507 * F.elu(x, alpha=1.6732),
    "relie": lambda x: F.leaky_relu_(x, 0.01),
    "ramp": lambda x: torch.relu(x) + 0.1 * x,
    "leaky": lambda x: F.leaky_relu_(x, 0.1),
    "revleaky": lambda x: F.leaky_relu_(x, 0.1),
    "tanh": torch.tanh,
    "plse": _plse,
    "stair": _stair,
    "hardtan": F.hardtanh,
    "lhtan": _lhtan,
    "swish": F.silu,
    "mish": F.mish,
    "hard_mish": _hard_mish,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "normalize_channels": _over_channels("relu"),
    "normalize_channels_softmax": _over_channels("softmax"),
    "normalize_channels_softmax_maxval": _over_channels("maximum"),
}
_IN_PLACE = ("relu", "relie", "leaky", "revleaky")
_ALIASES = {"silu": "swish"}  # names that other programs give to them


def pure(name: str) -> Activation:
    """Return the activation as a function that leaves its input as it is."""
    activation = ACTIVATIONS[name]
    return (lambda x: activation(x.clone())) if name in _IN_PLACE else activation


def read_activation(options: Options, default: str, *, loud: bool = False) -> str:
    """Return the name of the section's activation.

    Raises:
        CfgError: If darkpy does not know the name (darknet would go on with relu).
    """
    name = options.text("activation", default)
    if name in _ALIASES:
        options.notes.append(f"{options.at('activation')} activation={name} acts as {_ALIASES[name]}, darknet's name.")
        return _ALIASES[name]
    return options.choice("activation", default, tuple(ACTIVATIONS), loud=loud)
