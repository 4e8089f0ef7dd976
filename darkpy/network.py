"""Blueprint -> Network: the walk through the layers.  Source: darknet src/network.c, forward_network."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from darkpy.blueprint import Blueprint, LayerPlan, plan_network, read_blueprint
from darkpy.errors import CfgError
from darkpy.layers._base import StepKey
from darkpy.layers._batch_norm import Normalized
from darkpy.layers._head import DeltaFilter, Head, HeadLoss, LossLayer
from darkpy.layers._seed import seed
from darkpy.layers.convolutional import Convolution
from darkpy.layers.dropout import Dropout
from darkpy.memory.parking import Box, Parking
from darkpy.structures import Detections, NmsRule

__all__ = ["Blueprint", "LayerPlan", "Network", "backward", "plan_network", "read_blueprint"]


_FAR = 8  # layers between an output and a reader of it


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
        self.head_indices = tuple(index for index, module in enumerate(self.layers) if isinstance(module, Head))
        self._last_reader = _last_readers(blueprint.layers)
        self._with_loss = tuple(
            index for index, module in enumerate(self.layers) if isinstance(module, LossLayer) and module.has_loss
        )
        self.loss_indices = tuple(i for i in self._with_loss if not blueprint.layers[i].common.onlyforward)
        self._output = max((plan.index for plan in blueprint.layers if plan.is_output), default=0)
        self._frozen = max((p.index for p in blueprint.layers if p.common.stopbackward == 1), default=0)
        self._last_only_bn = max((p.index for p in blueprint.layers if p.common.train_only_bn), default=-1)
        for plan, module in zip(blueprint.layers, self.layers, strict=True):
            if plan.owner is not None:
                cast(Convolution, module).share(cast(Convolution, self.layers[plan.owner]))
            if isinstance(module, Convolution):
                module.guards = self.net.try_fix_nan
            if isinstance(module, Dropout):
                module.max_batches = self.net.max_batches
        self.parking: Parking | None = None  # takes gradients that wait long; None leaves them to autograd
        self._forks = _forks(blueprint.layers)
        self.gradient_hooks: list[RemovableHandle] = []  # of the weight update that takes the gradients
        self.train()

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
        return tuple((index, self.head(index).type_id) for index in self.head_indices)

    @property
    def updated_from(self) -> int:
        """Layers below this index are never updated: those frozen, and those up to ``train_only_bn``."""
        return max(self._frozen, self._last_only_bn + 1)

    def stopped_at(self, completed_iterations: int) -> int:
        """Return the layer where backward stops now, or -1: ``stopbackward`` is 1 or above the iterations done."""
        stops = (
            plan.index
            for plan in self.blueprint.layers
            if plan.common.stopbackward == 1 or plan.common.stopbackward > completed_iterations
        )
        return max(stops, default=-1)

    def train(self, mode: bool = True) -> "Network":
        """Set training mode; layers with batch norm that ``stopbackward=1`` froze stay in inference mode."""
        super().train(mode)
        for module in self.layers[: self._frozen]:
            if isinstance(module, Normalized):
                module.eval()
        return self

    def walk(self, images: Tensor, *, stop_at: int = -1) -> Iterator[tuple[int, Tensor]]:
        """Yield index and output of each layer in turn.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB; any size that the layers can divide.
            stop_at: Layers up to this index get no gradient.
        """
        outputs: dict[int, Tensor] = {-1: images}
        boxes: dict[int, Box] = {}
        with_gradient = torch.is_grad_enabled()
        for plan, module in zip(self.blueprint.layers, self.layers, strict=True):
            with torch.set_grad_enabled(with_gradient and plan.index > stop_at and not plan.common.onlyforward):
                output = module(*(_read(outputs, boxes, source) for source in plan.sources))
            if self.parking is not None and plan.index in self._forks and output.requires_grad:
                output, boxes[plan.index] = self.parking.fork(output)
            outputs[plan.index] = output
            for below in _sharing(self.blueprint.layers, plan.index):
                if below in outputs:
                    outputs[below] = output
            for source in [source for source in outputs if self._last_reader[source] <= plan.index]:
                del outputs[source]
            yield plan.index, output

    def forward(self, images: Tensor, *, stop_at: int = -1) -> dict[int, Tensor]:
        """Return the output of each head, or of the last layer that is no [cost] where there is no head.

        In training mode it is the output of each layer with a loss, from which ``LossLayer.loss`` starts.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB.
            stop_at: Layers up to this index get no gradient.
        """
        wanted = (self._with_loss if self.training else self.head_indices) or (self._output,)
        return {index: output for index, output in self.walk(images, stop_at=stop_at) if index in wanted}

    def begin(self, key: StepKey) -> None:
        """Name the images of the next forward pass to the layers that draw at random."""
        for module in self.layers:
            begin = getattr(module, "begin", None)
            if begin is not None:
                begin(key)

    def losses(
        self,
        images: Tensor,
        truths: Tensor,
        *,
        completed_iterations: int = 0,
        keep: DeltaFilter | None = None,
    ) -> dict[int, HeadLoss]:
        """Run forward and backward for one mini-batch; gradients go to the weight update, or add up in ``grad``.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB.
            truths: (B, T, 5) x, y, width, height relative to the picture, class; a row of zeros ends a list. Of a
                classifier (B, classes).
            completed_iterations: For ``stopbackward``.
            keep: As in ``Head.loss``.

        Returns:
            The loss of each head by its layer index, its delta left out: that memory is free again.
        """
        stop_at = max(self.stopped_at(completed_iterations), self._last_only_bn)
        head_inputs = self(images, stop_at=stop_at)
        losses = self.head_losses(head_inputs, truths, (images.shape[3], images.shape[2]), keep=keep)
        gradients = {index: self._gradient(loss) for index, loss in losses.items()}
        losses = {index: replace(loss, delta=loss.delta.new_empty(0)) for index, loss in losses.items()}
        backward(head_inputs, gradients)
        return losses

    @torch.no_grad()
    def head_losses(
        self,
        head_inputs: dict[int, Tensor],
        truths: Tensor,
        network_size: tuple[int, int],
        *,
        keep: DeltaFilter | None = None,
        adversarial: bool = False,
    ) -> dict[int, HeadLoss]:
        """Return the loss of each head by its layer index, without those that ``onlyforward`` takes out.

        Args:
            head_inputs: As ``forward`` returns them in training mode.
            truths: (B, T, 5).
            network_size: Width, height in pixels.
            keep: As in ``Head.loss``.
            adversarial: As in ``Head.loss``.
        """
        return {
            index: cast(LossLayer, self.layers[index]).loss(
                head_inputs[index], truths, network_size, keep=keep, adversarial=adversarial
            )
            for index in self.loss_indices
        }

    def image_delta(self, images: Tensor, truths: Tensor, *, keep: DeltaFilter | None = None) -> Tensor | None:
        """Return the adversarial delta of a mini-batch's images, or None where no head's gradient gets there.

        No parameter gets a gradient. Layers run in the mode that they are in.

        Args:
            images: (B, C, H, W) float32, 0..1, RGB.
            truths: (B, T, 5).
            keep: As in ``Head.loss``.
        """
        images = images.detach().requires_grad_()
        head_inputs = self(images)
        size = (images.shape[3], images.shape[2])
        losses = self.head_losses(head_inputs, truths, size, keep=keep, adversarial=True)
        reachable = [index for index in losses if head_inputs[index].requires_grad]
        if not reachable:
            return None
        (gradient,) = torch.autograd.grad(
            [head_inputs[index] for index in reachable],
            [images],
            [self._gradient(losses[index]) for index in reachable],
            allow_unused=True,
        )
        return None if gradient is None else -gradient

    def _gradient(self, loss: HeadLoss) -> Tensor:
        """Return the gradient that a head hands down; ``loss_scale`` multiplies it, and the update divides by it."""
        return -loss.delta if self.net.loss_scale == 1 else loss.delta * -self.net.loss_scale

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
        where = (objectness > threshold).nonzero(as_tuple=True)  # picture by picture; here the device is waited for
        confidence = objectness[where]
        probabilities = confidence.unsqueeze(1) * scores[where]
        probabilities = torch.where(probabilities > threshold, probabilities, torch.zeros_like(probabilities))
        counts = torch.bincount(where[0], minlength=images.shape[0]).tolist()
        split = (torch.split(part, counts) for part in (boxes[where], confidence, probabilities))
        return [Detections(*parts) for parts in zip(*split, strict=True)]

    def fuse(self) -> None:
        """Fold batch norm into the convolutions, in place, as darknet's inference commands do."""
        for module in self.layers:
            fuse = getattr(module, "fuse", None)
            if fuse is not None:
                fuse()


def backward(outputs: dict[int, Tensor], gradients: dict[int, Tensor]) -> None:
    """Run backward from some layers; both arguments are emptied, so that each tensor is freed once it was used.

    Args:
        outputs: By layer index; those without a history are left out.
        gradients: By layer index.
    """
    with torch.enable_grad():
        seeds = [
            seed(outputs[index], gradients.pop(index)) for index in list(gradients) if outputs[index].requires_grad
        ]
    outputs.clear()
    gradients.clear()
    if seeds:
        torch.autograd.backward(seeds)


def _read(outputs: dict[int, Tensor], boxes: dict[int, Box], source: int) -> Tensor:
    """Return a layer's output for one more reader."""
    return boxes[source].read(outputs[source]) if source in boxes else outputs[source]


def _forks(layers: Sequence[LayerPlan]) -> frozenset[int]:
    """Return the layers with several readers, some of which are far behind: a gradient of theirs waits long."""
    readers = [(source, plan.index) for plan in layers for source in plan.sources]
    shared = {index for index in range(len(layers)) for _ in _sharing(layers, index)}
    shared |= {below for index in range(len(layers)) for below in _sharing(layers, index)}
    far = {source for source, reader in readers if reader - source > _FAR}
    return frozenset(one for one in far - shared if one >= 0 and sum(source == one for source, _ in readers) > 1)


def _sharing(layers: Sequence[LayerPlan], index: int) -> Iterator[int]:
    """Yield the layers below ``index`` whose output it changes: none, or those under a [dropout] or several."""
    while index >= 0 and layers[index].is_in_place:
        index -= 1
        yield index


def _last_readers(layers: Sequence[LayerPlan]) -> dict[int, int]:
    """Return for each layer the index of the last layer that reads it (itself if nobody does)."""
    last = {index: index for index in range(-1, len(layers))}
    for plan in layers:
        for source in plan.sources:
            last[source] = max(last[source], plan.index)
    return last
