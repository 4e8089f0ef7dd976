"""[crop]: a window of the picture, at random while training, as numbers in -1..1.

Source: darknet src/crop_layer.c, src/crop_layer_kernels.cu.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, StepKey, layer
from darkpy.layers._colours import jitter_colours
from darkpy.layers._draws import image_generator

_COLOURS = 3
_DRAWS = 11  # of an image: 8 as darknet uses them, and 3 for the shift of its channels


class Crop(nn.Module):
    """Cuts the centre out; in training a window with random place, mirror, angle and colours. No gradient passes."""

    def __init__(self, spec: "CropSpec", source: Shape) -> None:
        super().__init__()
        self.spec = spec
        self.share = spec.height / source.height  # of both axes, where the input has another size
        self.key = StepKey(seed=0, iteration=0, first_row=0)

    def begin(self, key: StepKey) -> None:
        """Name the images that come next."""
        self.key = key

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, crop height, crop width) for (B, C, H, W)."""
        spec = self.spec
        size = (spec.height, spec.width)
        if x.shape[2:] != spec.source_size:
            size = (int(self.share * x.shape[2]), int(self.share * x.shape[3]))
        cut = self._random_window(x, size) if self.training else _centre(x, size)
        return cut * 2 - 1 if spec.adjusts else cut.clone()

    def _random_window(self, x: Tensor, size: tuple[int, int]) -> Tensor:
        spec = self.spec
        draws = torch.stack([self._draw(row, x.device) for row in range(x.shape[0])]).to(x.dtype)
        if x.shape[1] == _COLOURS and (spec.saturation != 1 or spec.exposure != 1):
            saturation = _factor(draws[:, 0], draws[:, 1], spec.saturation)
            x = jitter_colours(x, saturation, _factor(draws[:, 2], draws[:, 3], spec.exposure))
        cut = _sample(x, size, draws[:, 4:8], mirrors=spec.mirrors, angle=spec.angle)
        if not spec.shift:
            return cut
        shift = (draws[:, 8:].view(-1, _COLOURS, 1, 1) - 0.5) * spec.shift
        return cut + (shift[:, : x.shape[1]] / 2 if spec.adjusts else shift[:, : x.shape[1]])  # it is doubled next

    def _draw(self, row: int, device: torch.device) -> Tensor:
        return torch.rand(_DRAWS, generator=image_generator(self.key, row, self.spec.index, device), device=device)


def _factor(size: Tensor, side: Tensor, largest: float) -> Tensor:
    factor = size * (largest - 1) + 1
    return torch.where(side > 0.5, 1 / factor, factor)


def _centre(x: Tensor, size: tuple[int, int]) -> Tensor:
    top, left = (x.shape[2] - size[0]) // 2, (x.shape[3] - size[1]) // 2
    return x[:, :, top : top + size[0], left : left + size[1]]


def _sample(x: Tensor, size: tuple[int, int], draws: Tensor, *, mirrors: bool, angle: float) -> Tensor:
    """Return windows at random places, (B, C, size), between the pixels by their distance.

    Args:
        x: (B, C, H, W).
        size: Height and width of a window in pixels.
        draws: (B, 4) uniform in 0..1: place across, place down, mirror, angle.
        mirrors: Whether half of the windows are mirrored.
        angle: Largest turn about the picture's centre, in radians.
    """
    height, width = x.shape[2:]
    across, down, mirror, turn = (draws[:, k].view(-1, 1, 1) for k in range(4))
    j = torch.arange(size[1], device=x.device, dtype=x.dtype).view(1, 1, -1)
    i = torch.arange(size[0], device=x.device, dtype=x.dtype).view(1, -1, 1)
    column = j + (width - size[1]) * across
    if mirrors:
        column = torch.where(mirror > 0.5, width - 1 - column, column)
    row = i + (height - size[0]) * down
    radians = 2 * angle * turn - angle
    column, row = column - width / 2, row - height / 2
    turned_column = torch.cos(radians) * column - torch.sin(radians) * row + width / 2
    turned_row = torch.sin(radians) * column + torch.cos(radians) * row + height / 2
    grid = torch.stack([_relative(turned_column, width), _relative(turned_row, height)], dim=3)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True)


def _relative(pixels: Tensor, length: int) -> Tensor:
    """Return where pixels lie between the first (-1) and the last (1)."""
    return 2 * pixels / max(length - 1, 1) - 1


@layer("crop")
@dataclass(frozen=True, slots=True)
class CropSpec(PlainSpec):
    """Values of a [crop] section."""

    where: str
    index: int
    height: int  # pixels
    width: int
    mirrors: bool  # flip
    angle: float  # radians
    saturation: float
    exposure: float
    shift: float
    adjusts: bool  # 0..1 becomes -1..1
    source_size: tuple[int, int] = (0, 0)  # height and width that the window was made for

    @classmethod
    def parse(cls, options: Options) -> Self:
        height = options.integer("crop_height", 1, at_least=1, loud=True)
        width = options.integer("crop_width", 1, at_least=1, loud=True)
        mirrors = options.integer("flip", 0, loud=True) != 0
        angle = options.real("angle", 0.0, loud=True)
        saturation = options.real("saturation", 1.0, above=0.0, loud=True)
        exposure = options.real("exposure", 1.0, above=0.0, loud=True)
        adjusts = not options.flag("noadjust")
        shift = options.real("shift", 0.0, loud=True)
        return cls(
            where=options.where,
            index=options.index or 0,
            height=height,
            width=width,
            mirrors=mirrors,
            angle=angle,
            saturation=saturation,
            exposure=exposure,
            shift=shift,
            adjusts=adjusts,
        )

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        (source,) = inputs
        if self.height > source.height or self.width > source.width:
            raise CfgError(
                f"{self.where} crop_width={self.width} and crop_height={self.height} are more than its input of "
                f"{source.width}x{source.height}. Set smaller ones, or a larger network width and height."
            )
        return Shape(source.channels, self.height, self.width)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        (source,) = inputs
        return Crop(replace(self, source_size=(source.height, source.width)), source)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        source = inputs[0]
        return (
            f"Crop Layer: {source.height} x {source.width} -> {output.height} x {output.width} x "
            f"{output.channels} image"
        )
