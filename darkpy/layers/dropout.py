"""[dropout]: zeros at random while training, for all readers of the layer before.

Source: darknet src/dropout_layer.c.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import ParameterRule, Shape, StepKey, layer, previous


class Dropout(nn.Module):
    """Keeps each value with probability 1 - p, times 1 / (1 - p). The mask of an image depends only on its key."""

    def __init__(self, probability: float, index: int) -> None:
        super().__init__()
        self.probability = probability
        self.index = index
        self.key = StepKey(seed=0, iteration=0, first_row=0)

    def begin(self, key: StepKey) -> None:
        """Name the images that come next."""
        self.key = key

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W); the same tensor outside training."""
        if not self.training or self.probability == 0:
            return x
        kept = torch.stack([self._draw(row, x) for row in range(x.shape[0])]) >= self.probability
        return x * kept / (1 - self.probability)

    def _draw(self, row: int, x: Tensor) -> Tensor:
        """Return uniform numbers (C, H, W) for image ``row`` of the mini-batch."""
        words = (self.key.seed, self.key.iteration, self.key.first_row + row, self.index)
        digest = hashlib.blake2b(struct.pack("<4q", *words), digest_size=7).digest()
        generator = torch.Generator(device=x.device).manual_seed(int.from_bytes(digest, "little"))
        return torch.rand(x.shape[1:], generator=generator, device=x.device, dtype=torch.float32)


@layer("dropout")
@dataclass(frozen=True, slots=True)
class DropoutSpec:
    """Values of a [dropout] section."""

    in_place: ClassVar[bool] = True  # readers of the layer below see the dropped values too
    probability: float
    index: int

    @classmethod
    def parse(cls, options: Options) -> Self:
        probability = options.real("probability", 0.2, at_least=0.0, loud=True)
        if probability >= 1:
            options.fail("probability", "must be below 1. Set 0.5 or the like.")
        for key in ("dropblock", "dropblock_size_rel", "dropblock_size_abs"):
            if options.has(key):
                options.notes.append(f"{options.at(key)} {key} acts as plain dropout in this version of darkpy.")
        return cls(probability, options.index or 0)

    def sources(self, index: int) -> tuple[int, ...]:
        return previous(index)

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Dropout(self.probability, self.index)

    def blobs(self, module: nn.Module) -> Sequence[Tensor]:
        return ()

    def parameter_rules(self, module: nn.Module) -> Sequence[tuple[nn.Parameter, ParameterRule]]:
        return ()

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        size = output.size
        return f"dropout    p = {self.probability:.3f}        {size:4d}  ->   {size:4d}"

    def bflops(self, inputs: Sequence[Shape], output: Shape) -> float:
        return 0.0
