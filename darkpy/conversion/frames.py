"""Boxes in pixels -> boxes as parts of the upright picture, whatever size the annotation says."""

from dataclasses import dataclass

import numpy as np

from darkpy.conversion.picture_size import PictureSize
from darkpy.conversion.sample import Bools, Floats, Sample, Tally

_ASPECT_TOLERANCE = 0.01  # a picture that was scaled keeps its aspect to about a pixel
_FARTHEST = 0.5  # beyond the picture, in picture sizes; darkpy takes numbers above 2 for pixels
_ROUNDING = 2e-6  # what six decimals of a label make a box overhang by, which is not worth a word
_SMALLEST = 1e-9  # of a picture; labels have ten decimals


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """What is written to a label file. Letter: N boxes."""

    rows: Bools  # (all objects of the sample,) those that are left
    xywh_rel: Floats  # (N, 4) centre x, centre y, width, height


def relative_boxes(sample: Sample, size: PictureSize, *, clip: bool, where: str, tally: Tally) -> Boxes:
    """Return the boxes of a picture as parts of it; what cannot be a box is left out and counted.

    The size that counts: the picture's own, upright. If the annotation says the size of the picture before EXIF turns
    it by a quarter, its boxes are turned too. If it says another size of the same shape that holds all boxes, the
    picture was scaled later, and the said size counts. A wrong size and 0x0 do not count. (Of a picture that EXIF turns
    by a half or mirrors, sizes cannot tell; its boxes are taken as those of the upright picture.)

    Args:
        sample: Its boxes are in pixels.
        size: Of the picture.
        clip: Cut boxes at the picture's edges; else they may overhang by up to half of the picture.
        where: The annotation, for the tally.
        tally: Takes note of what is left out or changed.
    """
    corners = _corners(sample, size, where, tally)
    finite: Bools = np.asarray(np.isfinite(corners).all(axis=1))
    corners = np.where(finite[:, None], corners, 0.0)
    sized: Bools = np.asarray((corners[:, 2:] - corners[:, :2] > _SMALLEST).all(axis=1))
    inside: Bools = np.asarray((corners[:, :2] < 1).all(axis=1) & (corners[:, 2:] > 0).all(axis=1))
    over = (corners[:, :2] < -_ROUNDING).any(axis=1) | (corners[:, 2:] > 1 + _ROUNDING).any(axis=1)
    far = (corners[:, :2] < -_FARTHEST).any(axis=1) | (corners[:, 2:] > 1 + _FARTHEST).any(axis=1)
    kept: Bools = finite & sized & inside
    cut = kept & (over if clip else far)
    tally.add("boxes that are no finite numbers, left out", where, int((~finite).sum()))
    tally.add("boxes without size, left out", where, int((finite & ~sized).sum()))
    tally.add("boxes fully outside the picture, left out", where, int((finite & sized & ~inside).sum()))
    tally.add("boxes that overhang the picture, cut at its edge", where, int(cut.sum()))
    tally.add("boxes that overhang the picture, kept as they are", where, int((kept & over & ~cut).sum()))
    corners = np.where((cut | clip)[:, None], corners.clip(0, 1), corners)[kept]
    centre, extent = (corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]
    return Boxes(kept, np.concatenate([centre, extent], axis=1))


def _corners(sample: Sample, size: PictureSize, where: str, tally: Tally) -> Floats:
    """Return (N, 4) left, top, right, bottom as parts of the upright picture."""
    own, said = (size.width, size.height), sample.said_size
    if said == size.stored and said != own:
        tally.add("pictures turned by EXIF after they were marked, boxes turned too", where)
        return turned(sample.edges / np.array([*said, *said], np.float64), size.orientation)
    if said != own and min(said) > 0:
        if _is_scaled(sample.edges, said, own):
            tally.add("pictures scaled after they were marked, the said size counts", where)
            own = said
        else:
            tally.add("sizes that are not the picture's, which counts", where)
    return sample.edges / np.array([*own, *own], np.float64)


def _is_scaled(edges: Floats, said: tuple[int, int], own: tuple[int, int]) -> bool:
    aspect = said[0] * own[1] / (said[1] * own[0])
    fits = bool((edges[:, [0, 2]] <= said[0] + 1).all() and (edges[:, [1, 3]] <= said[1] + 1).all())
    return abs(aspect - 1) <= _ASPECT_TOLERANCE and fits


def turned(corners: Floats, orientation: int) -> Floats:
    """Return boxes of the stored picture as boxes of the upright one.

    Args:
        corners: (N, 4) left, top, right, bottom, as parts of the stored picture.
        orientation: Of EXIF, 5 to 8: the quarter turns.
    """
    left, top, right, bottom = corners.T
    return np.stack(
        {
            5: (top, left, bottom, right),  # mirrored at the falling diagonal
            6: (1 - bottom, left, 1 - top, right),  # a quarter clockwise
            7: (1 - bottom, 1 - right, 1 - top, 1 - left),  # mirrored at the rising diagonal
            8: (top, 1 - right, bottom, 1 - left),  # a quarter counterclockwise
        }[orientation],
        axis=1,
    )
