"""A cfg for other classes, sizes, anchors or lengths of training: the text changes only where it must.

Source: darknet README, "How to train (to detect your custom objects)"; src/parser.c for what each head needs.
"""

import math
from dataclasses import dataclass, fields

from darkpy.cfg.adapt_classes import adapt_classes
from darkpy.cfg.adapt_feed import Layers, set_widths
from darkpy.cfg.adapt_heads import Head, embedding_needs, find_heads
from darkpy.cfg.adapt_lines import Sheet
from darkpy.cfg.adapt_masks import adapt_anchors
from darkpy.cfg.adapt_net import Schedule, Size, adapt_schedule, adapt_size


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a cfg is to be adapted to; None leaves a thing as it is."""

    classes: int | None = None
    width: int | None = None  # of the network's input, in pixels
    height: int | None = None
    channels: int | None = None
    anchors: tuple[tuple[float, float], ...] | None = None  # width, height in pixels of the network's input
    max_batches: int | None = None
    batch: int | None = None  # images of an iteration
    subdivisions: int | None = None


@dataclass(frozen=True, slots=True)
class Adapted:
    """An adapted cfg."""

    text: str
    notes: tuple[str, ...]  # what a reader of the change should know, one line each


def adapt(text: str, wishes: Wishes, *, path: str) -> Adapted:
    """Return the text of a cfg that fulfils the wishes.

    Lines that need no change keep every character. In a line that changes only the value does. A key that is missing
    is added in the style of its neighbours. Where nothing needs to change, the text stays the same.

    Args:
        text: Of the cfg, with its line ends and its byte-order mark.
        wishes: What to adapt it to.
        path: Name of the file, for messages.

    Raises:
        CfgError: If the text is no cfg, or cannot fulfil the wishes.
        ValueError: If a wished number is not above 0 and finite, or there are no anchors in ``wishes.anchors``.
    """
    _check(wishes)
    sheet = Sheet(text, path)
    layers = Layers.of(sheet)
    heads = find_heads(layers)
    if wishes.classes is not None or wishes.anchors is not None:
        boxes = _boxes(sheet, layers, heads, wishes)
        needs = adapt_classes(sheet, layers, heads, wishes.classes, boxes=boxes)
        set_widths(sheet, layers, [*needs, *embedding_needs(layers, heads, boxes)])
    size = Size(wishes.width, wishes.height, wishes.channels)
    adapt_size(sheet, layers, heads, size, keeps_anchors=wishes.anchors is None)
    adapt_schedule(sheet, Schedule(wishes.max_batches, wishes.batch, wishes.subdivisions))
    return Adapted(sheet.text(), tuple(sheet.notes))


def _boxes(sheet: Sheet, layers: Layers, heads: list[Head], wishes: Wishes) -> dict[int, int]:
    """Return how many boxes each head predicts in a cell, by the head's layer index, with the anchors written."""
    if wishes.anchors is None:
        return {head.index: head.boxes for head in heads}
    return adapt_anchors(sheet, layers, heads, wishes.anchors)


def _check(wishes: Wishes) -> None:
    for field in fields(wishes):
        value = getattr(wishes, field.name)
        numbers = [number for pair in value for number in pair] if isinstance(value, tuple) else [value]
        if not numbers or any(number is not None and not 0 < number < math.inf for number in numbers):
            raise ValueError(f"{field.name}={value}: must be above 0")
