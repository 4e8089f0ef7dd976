"""Zeros in blocks, one a channel at most, growing over the training.  Source: darknet src/dropout_layer_kernels.cu."""

from dataclasses import dataclass

import torch
from torch import Tensor

_GROWTH = 0.85  # share of max_batches after which blocks have their full size and probability


@dataclass(frozen=True, slots=True)
class BlockRule:
    """The dropblock keys of a [dropout] section."""

    probability: float
    size_abs: int  # pixels; 0: size_rel counts
    size_rel: float  # of width and height

    def at(self, iteration: int, max_batches: int, height: int, width: int) -> tuple[float, int]:
        """Return the probability that a pixel is a candidate, and the side of a block in pixels.

        Args:
            iteration: Completed iterations.
            max_batches: Of the training.
            height: Of the input, in pixels.
            width: Of the input, in pixels.
        """
        end = max_batches * _GROWTH
        grown = iteration / end if iteration < end else 1.0
        sides = [self.size_abs] * 2 if self.size_abs else [self.size_rel * width, self.size_rel * height]
        size = min(min(max(int(side * grown), 1), length) for side, length in zip(sides, (width, height), strict=True))
        return self.probability * grown / (size * size), size


def block_mask(draws: Tensor, probability: float, size: int) -> Tensor:
    """Return the factor of each value: 0 in a block, else what makes up for the blocks of its image.

    Args:
        draws: (B, C, H, W), uniform in 0..1.
        probability: Of a pixel to be a candidate; the one with the smallest number gets the block of its channel.
        size: Side of a block in pixels.
    """
    batch, channels, height, width = draws.shape
    lowest, place = draws.flatten(2).min(2)  # (B, C)
    has_block = lowest < probability
    top = _inside(place // width, height, size)
    left = _inside(place % width, width, size)
    rows = torch.arange(height, device=draws.device)
    columns = torch.arange(width, device=draws.device)
    in_rows = (rows >= top.unsqueeze(2)) & (rows < top.unsqueeze(2) + size)  # (B, C, H)
    in_columns = (columns >= left.unsqueeze(2)) & (columns < left.unsqueeze(2) + size)
    dropped = in_rows.unsqueeze(3) & in_columns.unsqueeze(2) & has_block.view(batch, channels, 1, 1)
    share = has_block.sum(1).float() * size * size / (channels * height * width)  # of the image, below 1
    return torch.where(dropped, 0.0, 1 / (1 - share).clamp_min(torch.finfo(torch.float32).eps).view(batch, 1, 1, 1))


def _inside(start: Tensor, length: int, size: int) -> Tensor:
    """Return where a block begins so that it ends inside, as darknet moves it."""
    room = length - size
    return torch.where(start > room, start - room, start).clamp(0, room)
