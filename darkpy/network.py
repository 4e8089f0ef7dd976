"""Specs -> Network: which layer reads which, the table printed at load, and the walk through the layers.

Source: darknet src/parser.c, parse_network_cfg_custom; src/network.c, forward_network.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

import darkpy.layers  # noqa: F401  # every section type registers itself
from darkpy.cfg.net import NetSpec, net_warnings
from darkpy.cfg.options import Options
from darkpy.cfg.text import Section, read_sections
from darkpy.errors import CfgError
from darkpy.layers._base import LayerSpec, Shape, StepKey, WrongChannels, spec_class
from darkpy.layers._common import CommonOptions
from darkpy.layers._head import Head, HeadLoss
from darkpy.layers.yolo import Yolo
from darkpy.structures import Detections, NmsRule

TABLE_HEAD = "   layer   filters  size/strd(dil)      input                output"
# Options of [net] that no layer reads: two of them inside a layer mean that a second [net] line was lost.
_NET_ONLY = "batch subdivisions width height channels momentum decay burn_in max_batches policy steps scales".split()


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
    def is_in_place(self) -> bool:
        """Whether the layer changes the output of the one before for all its readers, as darknet's dropout does."""
        return self.kind == "dropout"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A cfg file as typed values, checked: everything but the weights."""

    path: Path
    net: NetSpec
    layers: tuple[LayerPlan, ...]
    notes: tuple[str, ...]  # about [net]

    @property
    def bflops(self) -> float:
        """Billions of floating point operations of all layers for one image, added up in float32 as darknet prints it."""
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
        sizes = [
            layer.output.size
            for layer in self.layers
            if layer.kind not in ("dropout", "scale_channels")
            and layer.inputs[0].width > 1
            and layer.inputs[0].height > 1
        ]
        return sum(sizes) // len(sizes) if sizes else 0


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
    options = Options(section, index=index)
    found = spec_class(section)
    common = CommonOptions.parse(options)
    spec = found.parse(options)
    _refuse_lost_net(options)
    sources = spec.sources(index)
    picture = Shape(net.channels, net.height, net.width)
    inputs = tuple(before[source].output if source >= 0 else picture for source in sources)
    try:
        output = spec.output_shape(inputs)
    except WrongChannels as misfit:
        raise CfgError(_filters_message(section, sources[0], before, sections, misfit)) from None
    return LayerPlan(
        index=index,
        kind=cast(str, found.kind),  # type: ignore[attr-defined]  # set by @layer
        where=options.where,
        spec=spec,
        common=common,
        sources=sources,
        inputs=inputs,
        output=output,
        notes=(*options.notes, *options.leftovers()),
    )


def _filters_message(
    section: Section, source: int, before: list[LayerPlan], sections: Sequence[Section], misfit: WrongChannels
) -> str:
    """Return the line that says which layer's filters to change for a head."""
    while source > 0 and before[source].kind in ("dropout", "upsample", "shortcut"):
        source -= 1
    feeding = sections[source] if source >= 0 else section
    entry = feeding.find("filters")
    shown = f"filters={entry.value}" if entry else "its output"
    line = entry.line if entry else feeding.line
    return (
        f"{section.path}:{line}: [{feeding.kind}] {shown}, but [{section.kind}] at line {section.line} needs "
        f"{misfit.needed} = {misfit.reason}. Set filters={misfit.needed}."
    )


def _refuse_lost_net(options: Options) -> None:
    strangers = [entry for entry in options.unused() if entry.key in _NET_ONLY]
    if len(strangers) >= 2:
        raise CfgError(
            f"{options.section.path}:{strangers[0].line}: '{strangers[0].key}' and '{strangers[1].key}' belong to [net] but stand "
            f"in the [{options.section.kind}] of line {options.section.line}: two cfg files in one, the second without its [net]? "
            "Keep one of them."
        )


def _size_notes(net: NetSpec, layers: Sequence[LayerPlan], path: Path) -> list[str]:
    if layers[-1].kind == "yolo" and (net.width % 32 or net.height % 32):
        return [
            f"{path}: Warning: width={net.width} and height={net.height} in cfg-file must be divisible by 32 "
            "for default networks Yolo v1/v2/v3!!!"
        ]
    return []


class Network(nn.Module):
    """A darknet network. Layers are called one after the other; an output is freed after its last reader.

    Args:
        blueprint: What to build. Weights are random, as darknet draws them.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__()
        self.blueprint = blueprint
        self.net = blueprint.net
        self.layers = nn.ModuleList(layer.spec.build(layer.inputs) for layer in blueprint.layers)
        self.head_indices = tuple(layer.index for layer in blueprint.layers if layer.kind == "yolo")
        self._last_reader = _last_readers(blueprint.layers)
        self._frozen = max((p.index for p in blueprint.layers if p.common.stopbackward == 1), default=0)
        self.train()

    # --- facts ------------------------------------------------------------------------------------------------------

    def head(self, index: int) -> Head:
        """Return the detection head that is layer ``index``."""
        return cast(Head, self.layers[index])

    @property
    def last_head(self) -> Head:
        """The last detection head: it decides on classes, NMS and what the loader does.

        Raises:
            CfgError: If the network has none.
        """
        if not self.head_indices:
            raise CfgError(
                f"{self.blueprint.path}: the network has no detection layer. Add [yolo] after the last convolution."
            )
        return self.head(self.head_indices[-1])

    @property
    def classes(self) -> int:
        """Number of classes of the last head."""
        return self.last_head.classes

    @property
    def nms_rule(self) -> NmsRule:
        """How duplicates are suppressed."""
        return self.last_head.nms_rule

    @property
    def detection_layers(self) -> tuple[tuple[int, int], ...]:
        """Index and darknet's type number of each detection layer."""
        return tuple((index, cast(Yolo, self.layers[index]).type_id) for index in self.head_indices)

    @property
    def frozen_before(self) -> int:
        """Layers below this index never train (``stopbackward=1``); 0 for none."""
        return self._frozen

    def stopped_at(self, completed_iterations: int) -> int:
        """Return the layer at which backward stops now, or -1: ``stopbackward`` is 1 or larger than the iterations done."""
        stops = (
            plan.index
            for plan in self.blueprint.layers
            if plan.common.stopbackward == 1 or plan.common.stopbackward > completed_iterations
        )
        return max(stops, default=-1)

    # --- running ----------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> "Network":
        """Set training mode; layers that ``stopbackward=1`` froze stay in inference mode."""
        super().train(mode)
        for module in self.layers[: self._frozen]:
            module.eval()
        return self

    def walk(self, images: Tensor, *, stop_at: int = -1) -> Iterator[tuple[int, Tensor]]:
        """Yield index and output of each layer in turn.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB; any size that the layers can divide.
            stop_at: Layers up to this index get no gradient.
        """
        outputs: dict[int, Tensor] = {-1: images}
        with_gradient = torch.is_grad_enabled()
        for plan, module in zip(self.blueprint.layers, self.layers, strict=True):
            with torch.set_grad_enabled(with_gradient and plan.index > stop_at):
                output = module(*(outputs[source] for source in plan.sources))
            if plan.is_in_place and plan.index - 1 in outputs:
                outputs[plan.index - 1] = output
            outputs[plan.index] = output
            for source in [source for source in outputs if self._last_reader[source] <= plan.index]:
                del outputs[source]
            yield plan.index, output

    def forward(self, images: Tensor, *, stop_at: int = -1) -> dict[int, Tensor]:
        """Return the output of each head, or of the last layer where there is no head.

        In training mode a head's output is its input, from which ``Head.loss`` starts.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB.
            stop_at: Layers up to this index get no gradient.
        """
        wanted = self.head_indices or (len(self.layers) - 1,)
        return {index: output for index, output in self.walk(images, stop_at=stop_at) if index in wanted}

    def begin(self, key: StepKey) -> None:
        """Name the images of the next forward pass to the layers that draw at random."""
        for module in self.layers:
            begin = getattr(module, "begin", None)
            if begin is not None:
                begin(key)

    def losses(self, images: Tensor, truths: Tensor, *, completed_iterations: int = 0) -> dict[int, HeadLoss]:
        """Run forward and backward for one mini-batch; gradients add up in the parameters' ``grad``.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB.
            truths: (B, T, 5) x, y, width, height relative to the picture, class; a row of zeros ends a list.
            completed_iterations: For ``stopbackward``.

        Returns:
            The loss of each head by its layer index.
        """
        head_inputs = self(images, stop_at=self.stopped_at(completed_iterations))
        size = (images.shape[3], images.shape[2])
        with torch.no_grad():
            losses = {index: self.head(index).loss(x, truths, size) for index, x in head_inputs.items()}
        reachable = [index for index, x in head_inputs.items() if x.requires_grad]
        if reachable:
            torch.autograd.backward(
                [head_inputs[index] for index in reachable], [-losses[index].delta for index in reachable]
            )
        return losses

    @torch.no_grad()
    def detect(self, images: Tensor, threshold: float) -> list[Detections]:
        """Return what the heads find in each image, before NMS, in darknet's array order.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB.
            threshold: Objectness, and each probability, must be above it.
        """
        size = (images.shape[3], images.shape[2])
        parts = [self.head(index).boxes(output, size) for index, output in self(images).items()]
        boxes, objectness, scores = (torch.cat(tensors, dim=1) for tensors in zip(*parts, strict=True))
        found = []
        for row in range(images.shape[0]):
            keep = (objectness[row] > threshold).nonzero(as_tuple=True)[0]
            confidence = objectness[row][keep]
            probabilities = confidence.unsqueeze(1) * scores[row][keep]
            probabilities = torch.where(probabilities > threshold, probabilities, torch.zeros_like(probabilities))
            found.append(Detections(boxes[row][keep], confidence, probabilities))
        return found

    def fuse(self) -> None:
        """Fold batch norm into the convolutions, in place, as darknet's inference commands do."""
        for module in self.layers:
            fuse = getattr(module, "fuse", None)
            if fuse is not None:
                fuse()


def _last_readers(layers: Sequence[LayerPlan]) -> dict[int, int]:
    """Return for each layer the index of the last layer that reads it (itself if nobody does)."""
    last = {index: index for index in range(-1, len(layers))}
    for plan in layers:
        for source in plan.sources:
            last[source] = max(last[source], plan.index)
    return last
