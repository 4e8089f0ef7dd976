"""Another number of classes: in every head of a detector, or at the end of a classifier.

Source: darknet src/parser.c; src/classifier.c for what a classifier's last layer is.
"""

from collections.abc import Mapping, Sequence

from darkpy.cfg.adapt_feed import Layers, Need
from darkpy.cfg.adapt_heads import DEFAULT_CLASSES, Head
from darkpy.cfg.adapt_lines import Sheet, reals
from darkpy.errors import CfgError


def adapt_classes(
    sheet: Sheet, layers: Layers, heads: Sequence[Head], classes: int | None, *, boxes: Mapping[int, int]
) -> list[Need]:
    """Write the number of classes where it stands, and return what the heads need for it.

    Args:
        sheet: Takes the changes.
        layers: Of the cfg.
        heads: Of a detector; none for a classifier.
        classes: The wish; None keeps each head's number.
        boxes: Boxes that each head predicts in a cell, by layer index.

    Raises:
        CfgError: If the cfg ends in nothing that has classes.
    """
    if not heads:
        return [_classifier_need(layers, classes)] if classes is not None else []
    needs = []
    for head in heads:
        number = (
            classes
            if classes is not None
            else layers.options(head.index).integer("classes", DEFAULT_CLASSES[head.kind], at_least=1)
        )
        if classes is not None:
            _adapt_head(sheet, head, classes)
        needs.append(head.need(number, boxes[head.index]))
    if classes is not None:
        _note_contrastive(sheet, layers, classes)
    return needs


def _adapt_head(sheet: Sheet, head: Head, classes: int) -> None:
    section, before = head.section, head.classes
    counters = reals(section, "counters_per_class")
    if counters is not None and len(counters) != classes:
        sheet.set_aside(section, "counters_per_class", len(counters))
        _note_set_aside(sheet, head, "counters_per_class", len(counters))
    if before == classes:
        return
    for key in ("tree", "map"):
        if sheet.set_aside(section, key, before or 0):
            _note_set_aside(sheet, head, key, before or 0)
    for line in sheet.take_back(section, classes):
        sheet.note(line, f"fits {classes} classes, and counts again.")
    sheet.put_whole(section, "classes", classes, default=DEFAULT_CLASSES[head.kind], beside="anchors")


def _note_set_aside(sheet: Sheet, head: Head, key: str, classes: int) -> None:
    entry = head.section.find(key)
    line = entry.line if entry else head.section.line
    sheet.note(line, f"[{head.kind}] {key} belongs to {classes} classes: the line is a comment now.")


def _note_contrastive(sheet: Sheet, layers: Layers, classes: int) -> None:
    """Say that the classes= of a [contrastive] layer stays: in a detector nothing reads it."""
    for section in layers.sections:
        entry = section.find("classes") if section.kind == "contrastive" else None
        if entry is not None and entry.value != str(classes):
            sheet.note(entry.line, f"[contrastive] classes={entry.value} has no effect in a detector, and stays.")


def _classifier_need(layers: Layers, classes: int) -> Need:
    """Return what the last layer of a classifier reads: one channel a class, in one cell."""
    net, last = layers.net, len(layers.sections) - 1
    if layers.kind(last) == "cost" and last and layers.kind(last - 1) == "softmax":
        last -= 1
    end = layers.sections[last]
    if layers.kind(last) not in ("softmax", "cost"):
        raise CfgError(
            f"{end.path}:{end.line}: the network ends in [{end.kind}] and has no head, so it has no classes. "
            "Name the cfg of a detector or a classifier."
        )
    if net.find("width") is None and net.find("inputs") is not None:
        raise CfgError(
            f"{net.path}:{net.line}: [net] reads inputs= and no pictures, so its outputs are no classes. "
            "Name the cfg of a detector or a classifier."
        )
    for key, is_one in (("tree", False), ("groups", layers.options(last).integer("groups", 1) <= 1)):
        entry = end.find(key)
        if entry is not None and entry.value is not None and not is_one:
            raise CfgError(
                f"{end.path}:{entry.line}: [{end.kind}] {key}={entry.value} fixes the classes and their order, so "
                "their number cannot change alone. Remove the line, then adapt."
            )
    noun = "class" if classes == 1 else "classes"
    return Need(last, last - 1, f"[{end.kind}] at line {end.line}", classes, None, f"{classes} {noun}", is_new=True)
