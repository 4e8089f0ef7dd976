"""The heads of a cfg: what each says of classes and boxes, and how many channels that takes.

Source: darknet src/parser.c, parse_yolo, parse_gaussian_yolo, parse_region, parse_detection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from darkpy.cfg.adapt_feed import Layers, Need
from darkpy.cfg.adapt_lines import whole
from darkpy.cfg.text import Section

IN_PIXELS = ("yolo", "Gaussian_yolo")  # heads whose anchors are in pixels, and shared out by masks
DEFAULT_CLASSES = {"yolo": 20, "Gaussian_yolo": 20, "region": 20, "detection": 1}
_NO_EMBEDDINGS = 999999
_MOST_BOXES = 100_000  # of a cell: more is a slip


@dataclass(frozen=True, slots=True)
class Head:
    """A detection head as its section has it."""

    index: int  # of the layer
    section: Section
    num: int  # anchors of the list; boxes of a cell in [detection]
    mask: tuple[int, ...]  # those that this head uses
    coords: int  # numbers of a box, in [region] and [detection]
    cells: int  # of the map, in [detection]; 1 elsewhere

    @property
    def kind(self) -> str:
        """Which head it is."""
        return self.section.kind

    @property
    def boxes(self) -> int:
        """Boxes that the head predicts in each cell."""
        return len(self.mask)

    @property
    def classes(self) -> int | None:
        """Classes as the cfg has them; None where that is no number."""
        entry = self.section.find("classes")
        if entry is None or entry.value is None:
            return DEFAULT_CLASSES[self.kind]
        return whole(self.section, "classes")

    def channels(self, classes: int, boxes: int) -> int:
        """Return the channels that the head reads in each cell."""
        if self.kind == "detection":
            return classes + boxes * (1 + self.coords)
        return boxes * (classes + self._beside_classes)

    def need(self, classes: int, boxes: int) -> Need:
        """Return what the head needs for so many classes and boxes."""
        noun = "class" if classes == 1 else "classes"
        mask = (
            ("mask" if self.kind in IN_PIXELS else "box")
            if boxes == 1
            else ("masks" if self.kind in IN_PIXELS else "boxes")
        )
        reason = f"{boxes} {mask} x ({classes} {noun} + {self._beside_classes})"
        if self.kind == "detection":
            reason = f"{self.cells} cells x ({classes} {noun} + {boxes} {mask} x (1 + {self.coords}))"
        before = self.classes
        return Need(
            index=self.index,
            source=self.index - 1,
            what=f"[{self.kind}] at line {self.section.line}",
            channels=self.channels(classes, boxes),
            cells=self.cells,
            reason=reason,
            is_new=before is None or self.channels(before, self.boxes) != self.channels(classes, boxes),
        )

    @property
    def _beside_classes(self) -> int:
        """Numbers of a box beside its class scores."""
        return {"yolo": 5, "Gaussian_yolo": 9}.get(self.kind, self.coords + 1)


def embedding_needs(layers: Layers, heads: Sequence[Head], boxes: Mapping[int, int]) -> list[Need]:
    """Return what the layers of embeddings need, so that an embedding keeps its length for more or fewer boxes.

    Args:
        layers: Of the cfg.
        heads: Of the detector.
        boxes: That each head predicts in a cell after the change, by layer index.
    """
    needs = []
    for head in heads:
        number, count = layers.options(head.index).integer("embedding_layer", _NO_EMBEDDINGS), boxes[head.index]
        source = number if number >= 0 else head.index + number
        if number == _NO_EMBEDDINGS or count == head.boxes or not 0 <= source < len(layers.sections):
            continue
        length = (whole(layers.sections[source], "filters") or 0) // head.boxes
        reason = f"{count} embeddings of {length} numbers"
        what = f"embedding_layer of [{head.kind}] at line {head.section.line}"
        needs.append(Need(head.index, source, what, count * length, 1, reason, is_new=True))
    return needs


def find_heads(layers: Layers) -> list[Head]:
    """Return the detection heads in file order.

    Raises:
        CfgError: If a head's numbers cannot be read.
    """
    return [_head(layers, index) for index, section in enumerate(layers.sections) if section.kind in DEFAULT_CLASSES]


def _head(layers: Layers, index: int) -> Head:
    options = layers.options(index)
    kind = layers.sections[index].kind
    num = options.integer("num", 1, at_least=1, at_most=_MOST_BOXES)
    mask = options.integers("mask") if kind in IN_PIXELS else None
    side = options.integer("side", 7, at_least=1) if kind == "detection" else 1
    coords = options.integer("coords", 1 if kind == "detection" else 4, at_least=1)
    return Head(index, layers.sections[index], num, mask or tuple(range(num)), coords, side * side)
