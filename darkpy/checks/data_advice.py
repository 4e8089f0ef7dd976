"""What network size and anchors fit a set, and how well the network's own do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from darkpy.checks.data_boxes import Grid, tiny_boxes
from darkpy.checks.data_masks import HeadAnchors, idle_anchors, masks_text, new_masks, unlearnt_diagnostics
from darkpy.checks.data_set import Boxes, DataSet
from darkpy.data.anchors import average_iou, cluster
from darkpy.data.index import label_path
from darkpy.data.labels import read_labels
from darkpy.diagnostics import Diagnostic, Severity
from darkpy.report.anchor_files import plain_text
from darkpy.report.data_report import Advice

Sizes = npt.NDArray[np.float64]  # (N, 2) width and height in pixels

_STEP = 32  # sizes are multiples of the coarsest stride
_LEAST, _MOST = 320, 1024  # of the longer side
STRIDE = 8  # of the finest head of most networks
_SHARE = 0.95  # of the boxes must cover a cell
_CLUSTERS = 6
_MOST_BOXES = 50_000  # for clustering: more change nothing but the time
_FAR_WORSE = 0.10  # of average IoU
_QUICK_FILES, _QUICK_BOXES = 300, 10  # label files at the start of a run; boxes for each anchor
_ANY_CLASS = 2**31 - 1
_SQUEEZED = 1.25  # how much longer one side becomes, relative to the other


@dataclass(frozen=True, slots=True, eq=False)
class NetworkFacts:
    """What a network's file says about boxes."""

    path: str
    grid: Grid
    channels: int
    anchors: Sizes  # (K, 2) in pixels of the network; empty without [yolo]
    classes: int | None  # of its last head
    heads: tuple[HeadAnchors, ...] = ()


def advise(data: DataSet, network: NetworkFacts | None, *, generator: np.random.Generator) -> Advice | None:
    """Return a network size and anchors for the set; None where no picture or no box can be used.

    The size is the smallest multiple of 32 with the median picture's aspect at which 95 % of the boxes cover a cell of
    the finest head. Its longer side is 320 to 1024, and no longer than the pictures.

    Args:
        data: The set.
        network: Its anchors are measured too, and the new ones are for its size.
        generator: Draws the first centres, and boxes where there are very many.
    """
    boxes = _measurable(data.boxes)
    if not len(boxes.lines):
        return None
    stride = network.grid.stride if network else STRIDE
    width, height = suggested_size(data, boxes, stride)
    grid = network.grid if network else Grid(width, height, stride)
    sides = grid.sides(boxes)
    if len(sides) > _MOST_BOXES:
        sides = sides[generator.choice(len(sides), _MOST_BOXES, replace=False)]
    own = network.anchors if network else np.zeros((0, 2))
    clusters = len(own) or _CLUSTERS
    enough = len(np.unique(sides, axis=0)) >= clusters  # fewer would be named twice
    found = cluster(sides, clusters, generator=generator, restarts=3) if enough else None
    own_iou = average_iou(sides, own) if len(own) else None
    if found and own_iou is not None and own_iou > found.average_iou:
        found = None  # the network has better ones
    return Advice(
        width=width,
        height=height,
        stride=stride,
        tiny_share=float(tiny_boxes(boxes, Grid(width, height, stride)).mean()),
        anchors_for=(grid.width, grid.height),
        anchors=tuple((float(w), float(h)) for w, h in found.anchors) if found else (),
        average_iou=found.average_iou if found else None,
        own_average_iou=own_iou,
        masks=_further_masks(network, found.anchors) if found and network else (),
    )


def _further_masks(network: NetworkFacts, anchors: Sizes) -> tuple[str, ...]:
    """Return the masks to write with new anchors; none where the present ones give each anchor a head."""
    return new_masks(network.heads, anchors.prod(axis=1).tolist()) if idle_anchors(network.heads) else ()


def _measurable(boxes: Boxes) -> Boxes:
    known = (boxes.sizes > 0).all(axis=1)
    return Boxes(boxes.truths[known], boxes.owners[known], boxes.lines[known], boxes.sizes[known])


def median_picture(data: DataSet) -> tuple[int, int] | None:
    """Return width and height of the picture with the median aspect (and the median longer side), or None."""
    sizes = np.array(
        [(one.picture.width, one.picture.height) for one in data.samples if one.picture.width], np.float64
    ).reshape(-1, 2)
    if not len(sizes):
        return None
    aspect, longer = float(np.median(sizes[:, 0] / sizes[:, 1])), float(np.median(sizes.max(axis=1)))
    return (
        (round(longer), max(round(longer / aspect), 1))
        if aspect >= 1
        else (max(round(longer * aspect), 1), round(longer))
    )


def suggested_size(data: DataSet, boxes: Boxes, stride: int) -> tuple[int, int]:
    """Return width and height for a network, by the rule of ``advise``; ``boxes`` are of known pictures."""
    picture = median_picture(data) or (1, 1)
    most = min(max(-(-max(picture) // _STEP) * _STEP, _STEP), _MOST)
    sizes = [_fitted(picture, longer) for longer in range(min(_LEAST, most), most + 1, _STEP)]
    for width, height in sizes:
        if tiny_boxes(boxes, Grid(width, height, stride)).mean() <= 1 - _SHARE:
            return width, height
    return sizes[-1]


def _fitted(picture: tuple[int, int], longer: int) -> tuple[int, int]:
    """Return multiples of 32 near the picture's aspect."""
    scale = longer / max(picture)
    width, height = (max(round(side * scale / _STEP) * _STEP, _STEP) for side in picture)
    return width, height


def _reshaped(picture: tuple[int, int], pixels: int) -> tuple[int, int]:
    """Return multiples of 32 near the picture's aspect and near a number of pixels."""
    steps = np.arange(1, 2 * _MOST // _STEP + 1) * float(_STEP)
    widths, heights = np.meshgrid(steps, steps)
    of_form, of_pixels = np.log(widths / heights * picture[1] / picture[0]), np.log(widths * heights / pixels)
    best = int((2 * np.abs(of_form) + np.abs(of_pixels)).argmin())
    return int(widths.flat[best]), int(heights.flat[best])


def network_diagnostics(
    data: DataSet, network: NetworkFacts, advice: Advice | None, *, names: Sequence[str] = ()
) -> Iterator[Diagnostic]:
    """Yield where the network's size and anchors do not fit the set.

    Args:
        data: The set.
        network: The network.
        advice: What would fit.
        names: Of the classes.
    """
    picture = median_picture(data)
    grid = network.grid
    if picture is not None:
        squeeze = picture[0] / picture[1] / (grid.width / grid.height)
        if max(squeeze, 1 / squeeze) > _SQUEEZED:
            form = "upright" if squeeze < 1 else "wide"
            fate = "part of it stays grey" if grid.letter_box else "they are squeezed"
            width, height = _reshaped(picture, grid.width * grid.height)
            message = (
                f"the pictures are {form} (median {picture[0]}x{picture[1]}), the network is "
                f"{grid.width}x{grid.height}: {fate}. Of their form, with about as many pixels, is width={width} "
                f"height={height}."
            )
            yield Diagnostic(Severity.NOTE, "aspect", network.path, None, message, f"width={width} height={height}")
    if advice is not None and advice.average_iou is not None and advice.own_average_iou is not None:
        yield from _poor_anchors(
            network, advice.own_average_iou, advice.average_iou, advice.anchors_text, masks=advice.masks
        )
    boxes = _measurable(_of_train(data))
    yield from unlearnt_diagnostics(grid.sides(boxes), boxes.classes, network.heads, path=network.path, names=names)


def _of_train(data: DataSet) -> Boxes:
    """Return the boxes of the train list; all where there is none."""
    row = next((row for row, listed in enumerate(data.lists) if listed.key == "train"), None)
    if row is None:
        return data.boxes
    of_train, boxes = data.members[row, data.boxes.owners], data.boxes
    return Boxes(boxes.truths[of_train], boxes.owners[of_train], boxes.lines[of_train], boxes.sizes[of_train])


def _poor_anchors(
    network: NetworkFacts, own: float, clustered: float, text: str, *, masks: Sequence[str]
) -> Iterator[Diagnostic]:
    if clustered - own > _FAR_WORSE:
        message = (
            f"its anchors have an average IoU of {own:.1%} with the boxes of this set, clustered ones {clustered:.1%}: "
            f"anchors of another set? Write anchors = {text}{f' and {masks_text(masks)}' if masks else ''}"
        )
        yield Diagnostic(Severity.WARNING, "anchors", network.path, None, message, f"anchors = {text}")


def quick_anchor_diagnostics(pictures: Sequence[str], network: NetworkFacts) -> list[Diagnostic]:
    """Return warnings if the network's anchors are far from the boxes of a set, or no head learns some of them.

    A few hundred label files are read.

    Args:
        pictures: Paths of the set.
        network: Its anchors and size; one that keeps the aspect of pictures is not judged, as that needs their sizes.
    """
    clusters = len(network.anchors)
    if not clusters or network.grid.letter_box:
        return []
    chosen = np.linspace(0, len(pictures) - 1, num=min(_QUICK_FILES, len(pictures)), dtype=np.int64)
    labels = [read_labels(label_path(pictures[row]), classes=_ANY_CLASS).truths for row in chosen.tolist()]
    truths = np.concatenate(labels).astype(np.float64)
    sides = truths[:, 2:4] * (network.grid.width, network.grid.height)
    if len(sides) < _QUICK_BOXES * clusters:
        return []  # too few to judge by
    found = cluster(sides, clusters, generator=np.random.default_rng(0), restarts=3)
    own = average_iou(sides, network.anchors)
    text, masks = plain_text(found.anchors, width=network.grid.width), _further_masks(network, found.anchors)
    poor = _poor_anchors(network, own, found.average_iou, text, masks=masks)
    known = truths[:, 4] < (network.classes or 0)  # a typing error can be any number
    lost = unlearnt_diagnostics(sides[known], truths[known, 4].astype(np.int64), network.heads, path=network.path)
    return [*poor, *lost]
