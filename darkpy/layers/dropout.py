"""[dropout]: zeros at random while training, for all readers of the layer before.

Source: darknet src/dropout_layer.c.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.layers._base import PlainSpec, Shape, StepKey, layer
from darkpy.layers._draws import image_generator
from darkpy.layers._dropblock import BlockRule, block_mask

_USUAL_BLOCK = 7  # pixels, where no size is given


class Dropout(nn.Module):
    """Keeps each value with probability 1 - p, times 1 / (1 - p); with a block rule zeros come in blocks.

    The mask of an image depends only on its key.
    """

    def __init__(self, probability: float, index: int, blocks: BlockRule | None = None) -> None:
        super().__init__()
        self.probability = probability
        self.blocks = blocks
        self.max_batches = 0  # of the training: blocks grow until near its end; 0 for no growth
        self.index = index
        self.key = StepKey(seed=0, iteration=0, first_row=0)

    def begin(self, key: StepKey) -> None:
        """Name the images that come next."""
        self.key = key

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W) for (B, C, H, W); the same tensor outside training."""
        if not self.training or self.probability == 0:
            return x
        draws = torch.stack([self._draw(row, x) for row in range(x.shape[0])])
        if self.blocks is not None:
            probability, size = self.blocks.at(self.key.iteration, self.max_batches, x.shape[2], x.shape[3])
            return x * block_mask(draws, probability, size)
        return x * (draws >= self.probability) / (1 - self.probability)

    def _draw(self, row: int, x: Tensor) -> Tensor:
        """Return uniform numbers (C, H, W) for image ``row`` of the mini-batch."""
        generator = image_generator(self.key, row, self.index, x.device)
        return torch.rand(x.shape[1:], generator=generator, device=x.device, dtype=torch.float32)


@layer("dropout")
@dataclass(frozen=True, slots=True)
class DropoutSpec(PlainSpec):
    """Values of a [dropout] section."""

    in_place: ClassVar[bool] = True  # readers of the layer below see the dropped values too
    probability: float
    index: int
    blocks: BlockRule | None = None  # dropblock

    @property
    def notes_size(self) -> bool:
        """Whether darknet notes the input's size: for blocks alone."""
        return self.blocks is not None

    @classmethod
    def parse(cls, options: Options) -> Self:
        probability = options.real("probability", 0.2, at_least=0.0, loud=True)
        if probability >= 1:
            options.fail("probability", "must be below 1. Set 0.5 or the like.")
        return cls(probability, options.index or 0, _block_rule(options, probability))

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Dropout(self.probability, self.index, _fitted(self.blocks, inputs[0]))

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        size = output.size
        blocks = _fitted(self.blocks, inputs[0])
        if blocks is not None:
            key, value = ("abs", str(blocks.size_abs)) if blocks.size_abs else ("rel", f"{blocks.size_rel:.2f}")
            block = f"l.dropblock_size_{key} = {value}"
            return f"dropblock    p = {self.probability:.3f}   {block}    {size:4d}  ->   {size:4d}"
        return f"dropout    p = {self.probability:.3f}        {size:4d}  ->   {size:4d}"


def _block_rule(options: Options, probability: float) -> BlockRule | None:
    """Return the dropblock keys, or None for plain dropout."""
    is_on = options.flag("dropblock")
    size_rel = options.real("dropblock_size_rel", 0.0, at_least=0.0, at_most=1.0)
    size_abs = int(options.real("dropblock_size_abs", 0.0, at_least=0.0))
    if not is_on:
        return None
    if not size_rel and not size_abs:
        options.notes.append(f"{options.at('dropblock')} no block size is given: dropblock_size_abs={_USUAL_BLOCK}.")
        size_abs = _USUAL_BLOCK
    if size_rel and size_abs:
        options.notes.append(
            f"{options.at('dropblock_size_rel')} dropblock_size_rel is ignored: dropblock_size_abs={size_abs} counts."
        )
        size_rel = 0.0
    return BlockRule(probability, size_abs, size_rel)


def _fitted(blocks: BlockRule | None, source: Shape) -> BlockRule | None:
    """Return the rule with a block no larger than the layer's input."""
    if blocks is None or blocks.size_abs <= min(source.height, source.width):
        return blocks
    return replace(blocks, size_abs=min(source.height, source.width))
