"""[route]: outputs of earlier layers side by side, as channels.  Source: darknet src/route_layer.c."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, layer


class Route(nn.Module):
    """Concatenates part ``group_id`` of ``groups`` equal parts of each input."""

    def __init__(self, groups: int, group_id: int) -> None:
        super().__init__()
        self.groups = groups
        self.group_id = group_id

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return (B, sum of C / groups, H, W) for inputs of (B, C, H, W)."""
        parts = [x.chunk(self.groups, dim=1)[self.group_id] for x in inputs] if self.groups > 1 else list(inputs)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


@layer("route")
@dataclass(frozen=True, slots=True)
class RouteSpec(PlainSpec):
    """Values of a [route] section."""

    where: str
    layers: tuple[int, ...]  # absolute indices
    groups: int
    group_id: int

    @classmethod
    def parse(cls, options: Options) -> Self:
        if not options.has("layers"):
            raise CfgError(f"{options.where} Route Layer must specify input layers. Add layers=-1 or the like.")
        layers = options.layers("layers")
        groups = options.integer("groups", 1, at_least=1)
        group_id = options.integer("group_id", 0, at_least=0, at_most=groups - 1)
        for key in ("stream", "wait_stream"):
            options.has(key)  # numbers of CUDA streams: no meaning here
        return cls(options.where, layers, groups, group_id)

    def sources(self, index: int) -> tuple[int, ...]:
        return self.layers

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        first = inputs[0]
        for number, shape in zip(self.layers, inputs, strict=True):
            if (shape.height, shape.width) != (first.height, first.width):
                raise CfgError(
                    f"{self.where} The width and height of the input layers are different: layer {self.layers[0]} is "
                    f"{first.width}x{first.height}, layer {number} is {shape.width}x{shape.height}. "
                    "Route layers of one size, with an [upsample] or a stride before."
                )
            if shape.channels % self.groups:
                raise CfgError(
                    f"{self.where} groups={self.groups} does not divide the {shape.channels} channels of "
                    f"layer {number}. Change groups or that layer's filters."
                )
        return Shape(sum(shape.channels // self.groups for shape in inputs), first.height, first.width)

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Route(self.groups, self.group_id)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        names = "".join(f" {index}" for index in self.layers)
        gap = (
            " \t" + " " * 4
            if len(self.layers) > 3
            else " \t" + " " * 12
            if len(self.layers) > 1
            else " \t\t" + " " * 12
        )
        group = f"{self.group_id}/{self.groups}" if self.groups > 1 else "   "
        return f"route {names}{gap}{'':11}{group} -> {output} "
