"""Specs -> Blueprint: which layer reads which, the shapes, and the table printed at load.

Source: darknet src/parser.c, parse_network_cfg_custom.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

import darkpy.layers  # noqa: F401  # every section type registers itself
from darkpy.cfg.net import NetSpec, net_warnings
from darkpy.cfg.options import Options
from darkpy.cfg.text import Section, read_sections
from darkpy.errors import CfgError
from darkpy.layers._base import LayerSpec, Shape, WrongChannels, spec_class
from darkpy.layers._common import CommonOptions

TABLE_HEAD = "   layer   filters  size/strd(dil)      input                output"
# Options of [net] that no layer reads: two of them inside a layer mean that a second [net] line was lost.
_NET_ONLY = "batch subdivisions width height channels momentum decay burn_in max_batches policy steps scales"


class LostNet(CfgError):
    """Options of [net] inside a layer: what follows belongs to another network."""


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """One layer: what it is, what it reads and the shapes at its ends."""

    index: int
    kind: str
    where: str  # "net.cfg:12: [convolutional]"
    spec: LayerSpec
    common: CommonOptions
    sources: tuple[int, ...]  # absolute indices; -1 is the picture
    inputs: tuple[Shape, ...]
    output: Shape
    notes: tuple[str, ...]  # defaults that are used, and warnings

    @property
    def bflops(self) -> float:
        """Billions of floating point operations for one image."""
        return self.spec.bflops(self.inputs, self.output)

    @property
    def owner(self) -> int | None:
        """Index of the layer whose weights this one uses, or None if it has its own."""
        return cast("int | None", getattr(self.spec, "shares", None))

    @property
    def notes_size(self) -> bool:
        """Whether darknet notes the width and height of the layer's input, which its mean of outputs asks for."""
        return bool(getattr(self.spec, "notes_size", True))

    @property
    def is_output(self) -> bool:
        """Whether the layer's output may be that of the network; darknet takes the last one that is."""
        return bool(getattr(self.spec, "is_output", True))

    @property
    def is_in_place(self) -> bool:
        """Whether the layer changes the output of the one before for all its readers, as darknet's dropout does."""
        return bool(getattr(self.spec, "in_place", False))


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A cfg file as typed values, checked: everything but the weights."""

    path: Path
    net: NetSpec
    layers: tuple[LayerPlan, ...]
    notes: tuple[str, ...]  # about [net]

    @property
    def bflops(self) -> float:
        """Billions of floating point operations for one image, added up in float32 as darknet prints it."""
        total = np.float32(0)
        for layer in self.layers:
            total += np.float32(layer.bflops)
        return float(total)

    def table(self) -> Iterator[str]:
        """Yield the lines of the table that darknet prints at load, with each layer's notes below its row."""
        yield TABLE_HEAD
        for layer in self.layers:
            yield f"{layer.index:4d} {layer.spec.row(layer.inputs, layer.output)}"
            yield from layer.notes
        yield f"Total BFLOPS {self.bflops:5.3f} "
        yield f"avg_outputs = {self._average_outputs()} "

    def _average_outputs(self) -> int:
        """Return the mean output size over layers whose input is an image, as darknet counts them."""
        sizes = [layer.output.size for layer in self.layers if self._reads_an_image(layer)]
        return sum(sizes) // len(sizes) if sizes else 0

    def _reads_an_image(self, layer: LayerPlan) -> bool:
        while layer.kind == "route":  # darknet notes the input of a route's first source as that of the route
            layer = self.layers[layer.sources[0]]
        return layer.notes_size and layer.inputs[0].width > 1 and layer.inputs[0].height > 1


def read_blueprint(path: Path) -> Blueprint:
    """Read and check a cfg file.

    Raises:
        CfgError: If the file cannot be read, or the network does not fit together.
    """
    return plan_network(read_sections(path), path)


def plan_network(sections: Sequence[Section], path: Path) -> Blueprint:
    """Return the blueprint of a cfg's sections.

    Raises:
        CfgError: If the network does not fit together.
    """
    first, *rest = sections
    if first.kind not in ("net", "network"):
        raise CfgError(
            f"{path}:{first.line}: First section must be [net] or [network], but it is [{first.kind}]. Put [net] first."
        )
    options = Options(first)
    net = NetSpec.parse(options)
    notes = [*options.notes, *net_warnings(options)]
    if not rest:
        raise CfgError(f"{path}: [net] alone is no network. Add layer sections, such as [convolutional].")
    layers: list[LayerPlan] = []
    for section in rest:
        layers.append(_plan_layer(section, net, layers, rest))
    notes += _size_notes(net, layers, path)
    return Blueprint(path, net, tuple(layers), tuple(notes))


def _plan_layer(section: Section, net: NetSpec, before: list[LayerPlan], sections: Sequence[Section]) -> LayerPlan:
    index = len(before)
    spec, common, options = read_layer(section, index)
    sources = spec.sources(index)
    picture = Shape(net.channels, net.height, net.width)
    inputs = tuple(before[source].output if source >= 0 else picture for source in sources)
    try:
        output = spec.output_shape(inputs)
    except WrongChannels as misfit:
        raise CfgError(filters_message(section, sources[0], sections, misfit)) from None
    plan = LayerPlan(
        index=index,
        kind=kind_of(spec),
        where=options.where,
        spec=spec,
        common=common,
        sources=sources,
        inputs=inputs,
        output=output,
        notes=(*options.notes, *options.leftovers()),
    )
    if plan.owner is not None:
        owner = before[plan.owner]
        spec.check_owner(owner.spec, owner.inputs, inputs)  # type: ignore[attr-defined]  # it shares
    return plan


def read_layer(section: Section, index: int) -> tuple[LayerSpec, CommonOptions, Options]:
    """Return a layer's section as typed values, and its options, which know what was asked for.

    Raises:
        CfgError: If the section type is unknown, or an option cannot be used.
    """
    options = Options(section, index=index)
    found = spec_class(section)
    common = CommonOptions.parse(options)
    spec = found.parse(options)
    _refuse_lost_net(options)
    return spec, common, options


def kind_of(spec: LayerSpec) -> str:
    """Return the canonical name of a layer's section type."""
    return cast(str, type(spec).kind)  # type: ignore[attr-defined]  # set by @layer


def filters_message(section: Section, source: int, sections: Sequence[Section], misfit: WrongChannels) -> str:
    """Return the line that says which layer's filters to change for a head.

    Args:
        section: Of the head.
        source: The layer that it reads; -1 is the picture.
        sections: Of all layers.
        misfit: What the head needs, and what it was given.
    """
    if source < 0:
        return (
            f"{section.path}:{section.line}: [{section.kind}] reads the picture, but needs {misfit.needed} channels = "
            f"{misfit.reason}. Put a [convolutional] with filters={misfit.needed} before it."
        )
    while source > 0 and sections[source].kind in ("dropout", "upsample", "shortcut"):
        source -= 1
    feeding = sections[source]
    is_convolution = feeding.kind in ("convolutional", "conv")
    entry = feeding.find("filters") if is_convolution else None
    shown = f"filters={entry.value}" if entry else f"gives {misfit.found} channels"
    line = entry.line if entry else feeding.line
    mend = "Set" if is_convolution else "Put a [convolutional] between them, with"
    return (
        f"{section.path}:{line}: [{feeding.kind}] {shown}, but [{section.kind}] at line {section.line} needs "
        f"{misfit.needed} = {misfit.reason}. {mend} filters={misfit.needed}."
    )


def _refuse_lost_net(options: Options) -> None:
    strangers = [entry for entry in options.unused() if entry.key in _NET_ONLY.split()]
    if len(strangers) >= 2:
        raise LostNet(
            f"{options.section.path}:{strangers[0].line}: '{strangers[0].key}' and '{strangers[1].key}' belong to "
            f"[net] but stand in the [{options.section.kind}] of line {options.section.line}: two cfg files in one, "
            "the second without its [net]? Keep one of them."
        )


def _size_notes(net: NetSpec, layers: Sequence[LayerPlan], path: Path) -> list[str]:
    if layers[-1].kind == "yolo" and (net.width % 32 or net.height % 32):
        return [
            f"{path}: Warning: width={net.width} and height={net.height} in cfg-file must be divisible by 32 "
            "for default networks Yolo v1/v2/v3!!!"
        ]
    return []


def coarsest_stride(blueprint: Blueprint) -> int:
    """Return the pixels of the picture between two cells of the coarsest head, as a power of two; 32 without a head."""
    cells = [layer.output.width for layer in blueprint.layers if layer.kind == "yolo"]
    return int(2 ** round(math.log2(blueprint.net.width / min(cells)))) if cells else 32


def check_size(blueprint: Blueprint, *, width: int, height: int) -> None:
    """Check that a network fits together at another input size.

    Args:
        blueprint: The network.
        width: In pixels.
        height: In pixels.

    Raises:
        CfgError: If two layers do not fit; names the size.
    """
    outputs: dict[int, Shape] = {-1: Shape(blueprint.net.channels, height, width)}
    for plan in blueprint.layers:
        try:
            outputs[plan.index] = plan.spec.output_shape([outputs[source] for source in plan.sources])
        except CfgError as misfit:
            step, stride = blueprint.net.resize_step, coarsest_stride(blueprint)
            mend = f", such as {stride}" if step % stride else ", or random=0"  # strides of 3 have no usual multiple
            raise CfgError(
                f"{misfit} This is at {width}x{height}, a size that random=1 draws with resize_step={step}: set "
                f"resize_step to a multiple of the network's stride{mend}."
            ) from None
