"""Other anchors: in pixels or cells, shared out among the heads.

Source: darknet README, "How to improve object detection"; src/parser.c, parse_yolo_mask.
"""

import math
from collections.abc import Sequence

from darkpy.cfg.adapt_feed import Layers
from darkpy.cfg.adapt_heads import IN_PIXELS, Head
from darkpy.cfg.adapt_lines import Sheet, plain, reals
from darkpy.errors import CfgError

Anchors = Sequence[tuple[float, float]]
_USUAL_STRIDE = 32
_MISSING = (0.5, 0.5)  # what darknet takes for an anchor that is not there


def adapt_anchors(sheet: Sheet, layers: Layers, heads: Sequence[Head], anchors: Anchors) -> dict[int, int]:
    """Write anchors, masks and num of every head.

    Heads keep their masks where the number of anchors stays and each has a head. Else the anchors, small to large, are
    shared out evenly: the head with the smallest ones first; where they do not share out evenly, the heads of small
    ones get one more.

    Args:
        sheet: Takes the changes.
        layers: Of the cfg.
        heads: Of the detector.
        anchors: Width and height of each, in pixels of the network's input.

    Returns:
        The boxes that each head now predicts in a cell, by layer index.

    Raises:
        CfgError: If no head has anchors, or there are fewer anchors than heads.
    """
    boxes = {head.index: head.boxes for head in heads}
    in_pixels = [head for head in heads if head.kind in IN_PIXELS]
    in_cells = [head for head in heads if head.kind == "region"]
    if not in_pixels and not in_cells:
        raise CfgError(
            f"{sheet.path}: no head of this network has anchors, so -anchors has no effect. "
            "Leave it out, or name the cfg of a detector with [yolo], [Gaussian_yolo] or [region]."
        )
    masks = _masks(sheet, layers, in_pixels, anchors)
    for head in in_pixels:
        _write(sheet, head, anchors, mask=masks[head.index])
        boxes[head.index] = len(masks[head.index])
    for head in in_cells:
        _write_cells(sheet, layers, head, anchors)
        boxes[head.index] = len(anchors)
    return boxes


def _write(sheet: Sheet, head: Head, given: Anchors, *, mask: Sequence[int]) -> None:
    section, anchors = head.section, _in_order_of(head, given)
    numbers = [number for pair in anchors for number in pair]
    if sheet.put_list(section, "anchors", numbers, more_may_follow=head.num == len(anchors)) and list(anchors) != list(
        given
    ):
        sheet.note(section.line, f"[{head.kind}] the anchors are written in order of their size.")
    if section.find("mask") is not None or list(mask) != list(range(len(anchors))):
        sheet.put_list(section, "mask", mask, beside="anchors")
    sheet.put_whole(section, "num", len(anchors), default=1, beside="classes")


def _write_cells(sheet: Sheet, layers: Layers, head: Head, anchors: Anchors) -> None:
    stride = layers.strides[head.index]
    length = float(stride) if stride else _USUAL_STRIDE
    cells = [(width / length, height / length) for width, height in anchors]
    numbers = [number for pair in cells for number in pair]
    if sheet.put_list(head.section, "anchors", numbers, more_may_follow=head.num == len(anchors)):
        sheet.note(
            head.section.line,
            f"[region] counts anchors in grid cells: the pixels are divided by {plain(length)}, the network's stride.",
        )
    sheet.put_whole(head.section, "num", len(anchors), default=1, beside="classes")


def _in_order_of(head: Head, anchors: Anchors) -> Anchors:
    """Return the anchors in the head's order of sizes, or small to large: masks name them by their place."""
    rising = sorted(anchors, key=_area)
    listed = _listed(head)[: head.num]
    present = listed + [_MISSING] * (head.num - len(listed))
    if len(present) != len(anchors):
        return rising
    places = sorted(range(len(present)), key=lambda place: _area(present[place]))
    return [anchor for _, anchor in sorted(zip(places, rising, strict=True))]


def _masks(sheet: Sheet, layers: Layers, heads: Sequence[Head], anchors: Anchors) -> dict[int, tuple[int, ...]]:
    """Return the anchors of each head, by layer index."""
    count = len(anchors)
    if all(head.num == count and max(head.mask) < count for head in heads):
        idle = sorted(set(range(count)) - {place for head in heads for place in head.mask})
        if not idle or all(_listed(head)[:count] == list(anchors) for head in heads):
            return {head.index: head.mask for head in heads}
        sheet.notes.append(
            f"{sheet.path}: no head's mask named anchor {idle[0]}, so no head would learn what it fits best: "
            "the anchors are shared out anew."
        )
    if count < len(heads):
        raise CfgError(
            f"{sheet.path}:{heads[0].section.line}: {count} anchor{'s' if count > 1 else ''} for {len(heads)} heads: "
            "each needs one. "
            f"Give {len(heads)} or more."
        )
    share, more = divmod(count, len(heads))
    if more:
        sheet.notes.append(
            f"{sheet.path}: {count} anchors do not share out evenly among {len(heads)} heads: "
            f"{more} of them, from the head of the smallest on, get {share + 1}, the others {share}."
        )
    masks, first = {}, 0
    for place, head in enumerate(sorted(heads, key=lambda head: (_mean_size(head), layers.strides[head.index] or 0))):
        last = first + share + (place < more)
        masks[head.index] = tuple(range(first, last))
        first = last
    return masks


def _mean_size(head: Head) -> float:
    """Return the mean logarithm of the areas of the head's present anchors."""
    listed = _listed(head)
    areas = [_area(listed[place] if 0 <= place < len(listed) else _MISSING) for place in head.mask]
    return sum(math.log(area) for area in areas if area > 0) / len(areas)


def _listed(head: Head) -> list[tuple[float, float]]:
    """Return the anchors that the head lists, be they more or fewer than its num."""
    numbers = reals(head.section, "anchors") or ()
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def _area(anchor: tuple[float, float]) -> float:
    return anchor[0] * anchor[1]
