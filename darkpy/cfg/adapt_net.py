"""Another input size, batch or length of training: what [net] says of them.

Source: darknet src/parser.c, parse_net_options; README, "How to train": steps at 80 and 90 % of max_batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from darkpy.cfg.adapt_feed import Layers
from darkpy.cfg.adapt_heads import IN_PIXELS, Head
from darkpy.cfg.adapt_lines import Sheet, plain, reals, whole
from darkpy.cfg.text import Section
from darkpy.errors import CfgError

_PICTURE_CHANNELS = (1, 3)
_DECAY = 0.1  # of the learning rate at each of the two last steps


@dataclass(frozen=True, slots=True)
class Size:
    """Wishes for the network's input, in pixels; None leaves a number as it is."""

    width: int | None
    height: int | None
    channels: int | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Wishes for the training; None leaves a number as it is."""

    max_batches: int | None
    batch: int | None
    subdivisions: int | None


def adapt_size(sheet: Sheet, layers: Layers, heads: Sequence[Head], size: Size, *, keeps_anchors: bool) -> None:
    """Write width, height and channels.

    Args:
        sheet: Takes the changes.
        layers: Of the cfg.
        heads: Of a detector; none for a classifier.
        size: The wishes.
        keeps_anchors: Whether the anchors stay as they were; said where the size changes.

    Raises:
        CfgError: If the network cannot work at that size, or on so many channels.
    """
    net = layers.net
    changed = False
    for key, number in (("width", size.width), ("height", size.height)):
        if number is not None and number != whole(net, key):
            _check_stride(layers, heads, key, number)
            changed |= sheet.put_whole(net, key, number)
    if size.channels is not None and size.channels != whole(net, "channels"):
        if size.channels not in _PICTURE_CHANNELS:
            raise CfgError(
                f"{sheet.path}:{net.line}: [net] channels={size.channels}: pictures load as 1 (grey) or 3 (RGB). "
                "Wish for one of these."
            )
        sheet.put_whole(net, "channels", size.channels)
    if changed and keeps_anchors and any(head.kind in IN_PIXELS for head in heads):
        sheet.note(
            net.line,
            "the anchors stay as they are, in pixels of the new size too. "
            "'detector calc_anchors' finds those that fit.",
        )


def _check_stride(layers: Layers, heads: Sequence[Head], key: str, number: int) -> None:
    """Refuse a size that the cells of a detector's coarsest map do not fill."""
    if all(head.kind == "detection" for head in heads):  # and where there is no head
        return
    stride = max((stride for stride in layers.strides if stride is not None), default=1)
    if number % stride:
        low = int(number // stride * stride)
        near = f"{low} or {int(low + stride)}" if low else str(int(stride))
        raise CfgError(
            f"{layers.net.path}:{layers.net.line}: [net] {key}={number} must be a multiple of {plain(float(stride))}, "
            f"the network's largest stride. Wish for {near}."
        )


def adapt_schedule(sheet: Sheet, wishes: Schedule) -> None:
    """Write batch, subdivisions, max_batches and the steps that follow from it.

    Raises:
        CfgError: If the batch cannot be divided as wished.
    """
    net = sheet.sections[0]
    _check_batch(net, wishes)
    for key, number in (("batch", wishes.batch), ("subdivisions", wishes.subdivisions)):
        if number is not None:
            sheet.put_whole(net, key, number, default=1)
    if wishes.max_batches is not None:
        _adapt_length(sheet, net, wishes.max_batches)


def _check_batch(net: Section, wishes: Schedule) -> None:
    now = (whole(net, "batch") or 1, whole(net, "subdivisions") or 1)
    batch, subdivisions = wishes.batch or now[0], wishes.subdivisions or now[1]
    if (batch, subdivisions) == now:
        return
    if batch % subdivisions:
        raise CfgError(
            f"{net.path}:{net.line}: [net] batch={batch} is no multiple of subdivisions={subdivisions}, so "
            f"{batch % subdivisions} of {batch} images would be left out. Wish for numbers that divide."
        )
    if whole(net, "contrastive") and batch // subdivisions < 2:
        raise CfgError(
            f"{net.path}:{net.line}: [net] batch={batch} and subdivisions={subdivisions} make mini-batches of 1, but "
            "contrastive=1 compares the images of one: it needs 2 or more. Wish for fewer subdivisions."
        )


def _adapt_length(sheet: Sheet, net: Section, max_batches: int) -> None:
    steps = reals(net, "steps") or ()
    changed = sheet.put_whole(net, "max_batches", max_batches)
    entry = net.find("policy")
    policy = entry.value.partition("#")[0] if entry is not None and entry.value is not None else "constant"
    if policy != "steps":
        if changed and steps:
            sheet.note(net.line, f"[net] policy={policy}: the steps stay as they are.")
        return
    if changed or not steps or max(steps) >= max_batches:
        _put_steps(sheet, net, max_batches)


def _put_steps(sheet: Sheet, net: Section, max_batches: int) -> None:
    """Write steps at 80 and 90 %; those before that raise the rate stay, since they belong to the rate at the start."""
    steps, scales = reals(net, "steps") or (), reals(net, "scales") or ()
    pairs = list(zip(steps, scales, strict=False))
    rising = max((place for place, (_, scale) in enumerate(pairs, start=1) if scale >= 1), default=0)
    last = [max_batches * 8 // 10, max_batches * 9 // 10]
    kept = pairs[:rising]
    if kept and kept[-1][0] >= last[0]:
        sheet.note(
            net.line, f"[net] the steps that raise the rate, up to {plain(kept[-1][0])}, do not fit and are left out."
        )
        kept = []
    decays = [scale for _, scale in pairs[rising:]]
    decays = decays if len(decays) == len(last) else [_DECAY] * len(last)
    sheet.put_list(net, "steps", [*(step for step, _ in kept), *last], beside="policy")
    sheet.put_list(net, "scales", [*(scale for _, scale in kept), *decays], beside="steps")
    burn_in = whole(net, "burn_in") or 0
    if burn_in >= last[0]:
        sheet.note(net.line, f"[net] burn_in={burn_in} does not end before the first step at {last[0]}.")
