"""Activations by darknet's names.  Source: darknet src/activations.c, src/activations.h."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from darkpy.cfg.options import Options

Activation = Callable[[Tensor], Tensor]


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
}


def read_activation(options: Options, default: str, *, loud: bool = False) -> str:
    """Return the name of the section's activation.

    Raises:
        CfgError: If darkpy does not know the name (darknet would go on with relu).
    """
    return options.choice("activation", default, tuple(ACTIVATIONS), loud=loud)
