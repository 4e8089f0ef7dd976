"""Mosaic: four pictures in one, cut at a random point.

Source: Bochkovskiy et al. 2020, arXiv:2004.10934, section 3.3; darknet src/data.c, blend_truth_mosaic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from darkpy.data.augment import (
    AugmentSpec,
    Crop,
    Effects,
    Floats,
    choose_truths,
    crop_truths,
    draw_crop,
    draw_effects,
    recolour,
    take_crop,
)
from darkpy.data.blur import blur_picture, spare_small_objects
from darkpy.data.image import Bytes
from darkpy.data.noise import add_noise

QUADRANTS = 4  # 0 top left, 1 top right, 2 bottom left, 3 bottom right
JOBS = 6  # darknet decides once for each loader thread's share of an iteration, and it starts six threads a GPU
_NEAREST_CUT = 0.2  # the cut keeps this part of the side free at either end


def job_of_row(row: int, *, images_per_iteration: int) -> int:
    """Return which of the six equal shares of an iteration's images holds ``row``.

    Share i is rows ``i * n // 6`` to ``(i + 1) * n // 6 - 1``.
    """
    return (JOBS * (row + 1) - 1) // images_per_iteration


def draw_cut(rng: np.random.Generator, *, network_size: tuple[int, int]) -> tuple[int, int]:
    """Draw the point where the four pictures meet: x and y in pixels, each between 20 and 80 % of the side."""
    x, y = (
        int(rng.integers(int(side * _NEAREST_CUT), int(side * (1 - _NEAREST_CUT)), endpoint=True))
        for side in network_size
    )
    return x, y


@dataclass(frozen=True, slots=True)
class Tile:
    """Where one quadrant's part comes from and goes to: pixels of the network's input."""

    x: int  # left edge in the mosaic
    y: int
    width: int
    height: int
    from_x: int  # left edge in the augmented picture
    from_y: int

    @classmethod
    def place(
        cls,
        quadrant: int,
        cut: tuple[int, int],
        crop: Crop,
        *,
        image_size: tuple[int, int],
        network_size: tuple[int, int],
    ) -> Self:
        """Return the part of an augmented picture that fills ``quadrant``, past its border of mean colour."""
        (width, height), (cut_x, cut_y) = network_size, cut
        left, right = (crop.right, crop.left) if crop.flip else (crop.left, crop.right)
        border_left = min(cut_x, _border(left, width, image_size[0]))
        border_right = min(width - cut_x, _border(right, width, image_size[0]))
        border_top = min(cut_y, _border(crop.top, height, image_size[1]))
        border_bottom = min(height - cut_y, _border(crop.bottom, height, image_size[1]))
        x, tile_width, from_x = (
            (0, cut_x, width - cut_x - border_right) if quadrant in (0, 2) else (cut_x, width - cut_x, border_left)
        )
        y, tile_height, from_y = (
            (0, cut_y, height - cut_y - border_bottom) if quadrant in (0, 1) else (cut_y, height - cut_y, border_top)
        )
        return cls(x, y, tile_width, tile_height, from_x, from_y)


def _border(margin: int, network_side: int, image_side: int) -> int:
    """Return the pixels of the network's input that a negative margin fills with border."""
    return max(0, -margin * network_side // image_side)


def shift_truths(truths: Floats, tile: Tile, *, network_size: tuple[int, int], bound: bool) -> Floats:
    """Return the truths of one quadrant in the mosaic; those that do not stay inside are left out.

    Args:
        truths: (N, 5) centre x, y, width, height relative to the augmented picture, class.
        tile: The quadrant.
        network_size: Width and height of the mosaic, in pixels.
        bound: Cut the boxes at the quadrant's edges (in whole pixels); else only at the mosaic's edges.
    """
    size = np.array(network_size, np.float32)
    moved = np.array([tile.x - tile.from_x, tile.y - tile.from_y], np.float32) / size
    centre, extent = truths[:, 0:2] + moved, truths[:, 2:4]
    if bound:
        start = np.array([tile.x, tile.y], np.float32)
        stop = start + np.array([tile.width, tile.height], np.float32)
        low, high = _edges(centre, extent, size)
        low, high = np.maximum(low, start), np.minimum(high, stop)
        centre, extent = (high + low) / 2 / size, (high - low) / size
    else:
        centre, extent = _shrink(centre, extent, size)
        low, high = _edges(centre, extent, size)
    inside = (low >= 0) & (high <= size) & (centre > 0) & (centre < 1) & (extent < 1) & (extent > 1 / size)
    shifted = np.concatenate([centre, extent, truths[:, 4:]], axis=1, dtype=np.float32)
    return shifted[inside.all(axis=1)]


def _edges(centre: Floats, extent: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Return the edges in pixels, cut to whole ones."""
    return np.trunc((centre - extent / 2) * size), np.trunc((centre + extent / 2) * size)


def _shrink(centre: Floats, extent: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Take off what stands out of the mosaic, in whole pixels."""
    low, high = _edges(centre, extent, size)
    before, behind = np.minimum(low, 0) / size, np.maximum(high - size, 0) / size
    return centre - before / 2 - behind / 2, extent + before - behind


Draw = Callable[[], tuple[Bytes, Floats]]


def mosaic(
    rng: np.random.Generator, draw: Draw, *, spec: AugmentSpec, network_size: tuple[int, int]
) -> tuple[Bytes, Floats, tuple[Crop, ...]]:
    """Return the network's input made of four pictures.

    Args:
        rng: Source of all draws.
        draw: Returns a picture, (H, W, C) bytes, and its (N, 5) truths; called once for each quadrant.
        spec: Ranges.
        network_size: Width and height of the network's input, in pixels.

    Returns:
        (height, width, C) bytes; (M, 5) truths, M <= max_boxes; the four windows.
    """
    cut = draw_cut(rng, network_size=network_size)
    out = np.empty((network_size[1], network_size[0], spec.channels), np.uint8)
    kept = np.zeros((0, 5), np.float32)
    crops = []
    for quadrant in range(QUADRANTS):
        image, truths = draw()
        image_size = (image.shape[1], image.shape[0])
        crop = draw_crop(rng, spec, image_size=image_size, network_size=network_size, quadrant=quadrant)
        effects = draw_effects(rng, spec)
        tile = Tile.place(quadrant, cut, crop, image_size=image_size, network_size=network_size)
        seen = crop_truths(truths, crop, image_size=image_size)
        chosen = choose_truths(rng, seen, max_boxes=spec.max_boxes, network_size=network_size)
        paste(out, tile, image, rng=rng, crop=crop, effects=effects, truths=chosen)
        room = chosen[: spec.max_boxes - len(kept)]  # darknet looks at so many, whether they stay inside or not
        shifted = shift_truths(room, tile, network_size=network_size, bound=spec.mosaic_bound)
        kept = np.concatenate([kept, shifted])
        crops.append(crop)
    return out, kept, tuple(crops)


def paste(
    out: Bytes,
    tile: Tile,
    image: Bytes,
    *,
    rng: np.random.Generator,
    crop: Crop,
    effects: Effects,
    truths: Floats,
) -> None:
    """Write one quadrant of a mosaic.

    Args:
        out: The mosaic, (H, W, C) bytes.
        tile: The quadrant.
        image: The picture, (h, w, C) bytes.
        rng: Source of the noise.
        crop: The window on the picture.
        effects: What happens to its pixels.
        truths: (N, 5) relative to the window: what a blur of the background leaves sharp.
    """
    height, width = out.shape[:2]
    whole = take_crop(image, crop, width=width, height=height)
    rows = slice(tile.from_y, tile.from_y + tile.height)
    columns = slice(tile.from_x, tile.from_x + tile.width)
    strength = spare_small_objects(effects.blur, truths, network_size=(width, height))
    if not strength:  # a blur looks beyond its rows, colours do not
        whole, rows = whole[rows], slice(None)
    # whole rows, because OpenCV rounds the last pixels of a row in another way than the others
    finished = blur_picture(recolour(whole, effects.colour), strength, truths)
    part = add_noise(rng, finished[rows, columns], effects.noise)
    out[tile.y : tile.y + tile.height, tile.x : tile.x + tile.width] = part
