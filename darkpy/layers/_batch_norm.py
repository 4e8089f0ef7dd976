"""Batch norm as darknet's GPU build has it, for the layers that carry one.  Source: darknet src/batchnorm_layer.c."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

EPSILON = 1e-5  # inside the root, as cuDNN's
MOMENTUM = 0.01  # rolling = 0.99 rolling + 0.01 new


def normalize(x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor, bias: Tensor, *, training: bool) -> Tensor:
    """Return the normalised input; in training by its own statistics, which enter the rolling ones.

    Args:
        x: (B, C, H, W).
        mean: Rolling mean (C,), changed in training.
        variance: Rolling variance (C,), changed in training.
        scale: (C,).
        bias: (C,), added last.
        training: Whether the input's own statistics count.
    """
    if training and x.shape[0] * x.shape[2] * x.shape[3] == 1:  # one value a channel: torch refuses that
        mean.lerp_(x.detach().flatten(), MOMENTUM)
        variance.mul_(1 - MOMENTUM)
        return (x - x) * scale.view(1, -1, 1, 1) + bias.view(1, -1, 1, 1)
    return F.batch_norm(x, mean, variance, scale, bias, training, MOMENTUM, EPSILON)


class Normalized(nn.Module):
    """A layer that may carry batch norm: scale, shift and rolling statistics of its channels."""

    bias: nn.Parameter
    scale: nn.Parameter
    rolling_mean: Tensor
    rolling_variance: Tensor

    def add_statistics(self, channels: int) -> None:
        """Give the layer what batch norm has beside the shift, which is the layer's bias."""
        self.scale = nn.Parameter(torch.ones(channels))
        self.register_buffer("rolling_mean", torch.zeros(channels))
        self.register_buffer("rolling_variance", torch.zeros(channels))  # 0, not 1: as darknet begins

    def normalize(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W)."""
        return normalize(x, self.rolling_mean, self.rolling_variance, self.scale, self.bias, training=self.training)

    def statistics(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return scale and rolling statistics, as a weights file has them."""
        return self.scale, self.rolling_mean, self.rolling_variance


class BatchNorm(Normalized):
    """Batch norm alone."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.add_statistics(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W)."""
        return self.normalize(x)
