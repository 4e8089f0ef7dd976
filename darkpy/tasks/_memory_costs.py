"""What a network costs in memory and time: a step of every tier, recorded on fake tensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from darkpy.blueprint import Blueprint
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.layers._base import StepKey
from darkpy.layers._head import Head, LossLayer
from darkpy.layers.dropout import Dropout
from darkpy.memory.costs import Linear, Trace
from darkpy.memory.plan import Costs, States, Tier, Way
from darkpy.memory.tiers import OFFLOADING, RESTING, TIERS
from darkpy.memory.trace import Step, measured_peak, parking_away, record, rest_away
from darkpy.network import Network, backward

TRUTHS = 32  # objects in a picture for which the loss is measured
_LATE = 1 << 30  # completed iterations: every passing ``stopbackward`` is over


@dataclass(frozen=True, slots=True)
class Size:
    """A network size in pixels."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


def training_costs(
    blueprint: Blueprint, size: Size, *, batch: int, tiers: tuple[int, ...] = TIERS, near: bool = False
) -> Costs:
    """Return what training a network needs; takes seconds, and little memory.

    Args:
        blueprint: The network.
        size: The pictures'.
        batch: Images an iteration.
        tiers: Which are wanted.
        near: Whether the device is a CPU, to which host memory is near: there is a tight way only.
    """
    fake = FakeTensorMode()
    with fake:
        network = Network(blueprint)
        _draw_at_once(network)
        shapes = _head_shapes(network, size)
    loss = _loss_bytes(network, shapes, size)
    with fake:
        step = _step(network, size, loss)
        recorded = {}
        for tier in tiers:
            for tight in _ways(tier, near=near):
                rests = tier >= RESTING and tight
                network.parking = parking_away() if rests else None
                update = DarknetUpdate(network, rest=rest_away if rests else None)
                resident = _resident(network, None if rests else update)
                recorded[tier, tight] = record(step, network, resident=resident, tier=tier, tight=tight, near=near)
        update = DarknetUpdate(network)
        momentum, resident = update.state().values(), _resident(network, update)
        applied = record(_update(update, blueprint), network, resident=resident, tier=None)
    sizes = [_bytes(parameter) for parameter in network.parameters()]
    states = States(
        parameters=sum(sizes),
        statistics=sum(map(_bytes, network.buffers())),
        momentum=sum(map(_bytes, momentum)),
        average=sum(sizes) if blueprint.net.ema_alpha else 0,
    )
    ways = {key: Way(trace, states.momentum if key == (RESTING, True) else 0) for key, trace in recorded.items()}
    of_tiers = tuple(Tier(tier, tuple(way for (number, _), way in ways.items() if number == tier)) for tier in tiers)
    has_file = bool(blueprint.net.offload_file)
    return Costs(states, of_tiers, applied, batch, max(sizes, default=0), near=near, has_file=has_file)


def _resident(network: Network, update: DarknetUpdate | None) -> list[Tensor]:
    """Return what is on the device all the time."""
    return [*network.parameters(), *network.buffers(), *(() if update is None else update.state().values())]


def _ways(tier: int, *, near: bool) -> tuple[bool, ...]:
    """Return for each way of a tier whether it is a tight one."""
    if near and tier:
        return (True,)
    return (False, True) if tier in OFFLOADING else (False,)


def inference_trace(blueprint: Blueprint, size: Size) -> tuple[int, Trace]:
    """Return the bytes of the weights, and a forward pass as detection makes it."""
    channels = blueprint.net.channels
    with FakeTensorMode():
        network = Network(blueprint)
        network.eval()
        network.fuse()
        resident = [*network.parameters(), *network.buffers()]

        @torch.no_grad()
        def step(images: int) -> None:
            network(torch.empty(images, channels, size.height, size.width))

        trace = record(step, network, resident=resident, tier=None)
    return sum(map(_bytes, resident)), trace


def _step(network: Network, size: Size, loss: Linear) -> Step:
    """Return a step that takes what ``Network.losses`` takes; the loss itself counts by its measured bytes."""
    stop_at = max(network.stopped_at(_LATE), network.updated_from - 1)
    channels = network.net.channels

    def step(images: int) -> None:
        network.begin(StepKey(0, 0, 0))
        pictures = torch.empty(images, channels, size.height, size.width)
        outputs = network(pictures, stop_at=stop_at)
        losses = torch.empty(images * loss.image, dtype=torch.uint8), torch.empty(loss.fixed, dtype=torch.uint8)
        del losses  # while it is computed, everything that backward needs is there
        with torch.no_grad():
            deltas = {index: torch.empty_like(output) for index, output in outputs.items()}
            gradients = {index: -deltas.pop(index) for index in list(deltas)}
        backward(outputs, gradients)

    return step


def _update(update: DarknetUpdate, blueprint: Blueprint) -> Step:
    def step(_: int) -> None:
        update.step(rate=1.0, images=blueprint.net.images_per_iteration, iteration=_LATE)

    return step


def _draw_at_once(network: Network) -> None:
    """Let dropout draw for all pictures together: row by row, the memory would not grow with the mini-batch."""
    for module in network.modules():
        if isinstance(module, Dropout):
            module.forward = partial(_drop, module)  # type: ignore[method-assign]


def _drop(module: Dropout, x: Tensor) -> Tensor:
    if not module.training or module.probability == 0:
        return x
    kept = torch.cat([torch.rand_like(x)]) >= module.probability  # drawn, then put together
    return x * kept / (1 - module.probability)


def _head_shapes(network: Network, size: Size) -> dict[int, tuple[int, ...]]:
    """Return the shape of each head's input for one picture."""
    with torch.no_grad():
        outputs = network(torch.empty(1, network.net.channels, size.height, size.width))
    return {index: tuple(outputs[index].shape[1:]) for index in network.loss_indices}


def _loss_bytes(network: Network, shapes: Mapping[int, tuple[int, ...]], size: Size) -> Linear:
    """Return the bytes that the heads' losses take at most beside their inputs: measured with real tensors.

    Which values a loss touches depends on the truths, so that it cannot run on fake tensors. With very many anchors and
    truths it goes part by part, and takes less than this.
    """
    one, two = (
        max((measured_peak(_loss(network, index, shape, images, size)) for index, shape in shapes.items()), default=0)
        for images in (1, 2)
    )
    return Linear(max(two - one, 0), max(2 * one - two, 0))


def _loss(network: Network, index: int, shape: tuple[int, ...], images: int, size: Size) -> Callable[[], object]:
    inputs, module = torch.zeros(images, *shape), cast(LossLayer, network.layers[index])
    network_size = (size.width, size.height)
    if not isinstance(module, Head):  # of a classifier
        return lambda: module.loss(inputs, torch.zeros(images, inputs[0].numel()), network_size).cost
    places = torch.arange(1, TRUTHS + 1) / (TRUTHS + 1)
    truths = torch.stack([places, places, torch.full_like(places, 0.2), torch.full_like(places, 0.2)], 1)
    rows = torch.nn.functional.pad(truths, (0, 1)).expand(images, -1, -1)
    return lambda: module.loss(inputs, rows, network_size).cost


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()
