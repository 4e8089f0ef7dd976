"""Augmentation of one training picture: crop, flip, colour, blur, noise, and the same for its truths.

Pure: every random draw comes from the generator that is passed in.
Source: darknet src/data.c, load_data_detection (with OpenCV); src/image_opencv.cpp, image_data_augmentation.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from darkpy.data.blur import blur_picture, draw_blur, spare_small_objects
from darkpy.data.image import Bytes, import_cv2
from darkpy.data.noise import add_noise, draw_noise

Floats = npt.NDArray[np.float32]

_HUE_RANGE = 179  # OpenCV's 8-bit hue counts 0..179, and darknet scales hue by its largest value


@dataclass(frozen=True, slots=True)
class AugmentSpec:
    """What [net], the detection head and the run say about training pictures, apart from the network's size."""

    jitter: float = 0.2  # largest shift of each edge, part of the picture's side
    resize: float = 1.0  # zoom range; below 1 only outwards
    hue: float = 0.0  # largest shift, part of the colour circle
    saturation: float = 1.0  # largest factor, or its inverse
    exposure: float = 1.0
    blur: int = 0  # kernel's side of a blurred picture, about, in pixels; 1 blurs only backgrounds
    gaussian_noise: int = 0  # standard deviation, in grey levels
    flip: bool = True
    mosaic: bool = False
    mosaic_bound: bool = False
    mixup: bool = False  # not together with mosaic
    letter_box: bool = False  # without effect where mosaic is on: in training, mosaic wins
    max_boxes: int = 200  # truths a picture
    classes: int = 80
    channels: int = 3
    images_per_iteration: int = 64


@dataclass(frozen=True, slots=True)
class Crop:
    """The window on the picture that becomes the network's input; negative margins reach beyond the picture. Pixels."""

    left: int
    right: int
    top: int
    bottom: int
    flip: bool
    width: int  # of the window
    height: int
    is_reset: bool = False  # the draw left nothing, so the window is the whole picture


@dataclass(frozen=True, slots=True)
class Colour:
    """How the colours change; the defaults change nothing."""

    hue: float = 0.0  # shift, part of the colour circle
    saturation: float = 1.0  # factor
    exposure: float = 1.0  # factor

    @property
    def is_neutral(self) -> bool:
        """Whether nothing changes."""
        return (self.hue, self.saturation, self.exposure) == (0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Effects:
    """What happens to the pixels of a window; the defaults change nothing."""

    colour: Colour = Colour()
    blur: int = 0  # strength, see ``blur_picture``
    noise: int = 0  # standard deviation, in grey levels


def draw_effects(rng: np.random.Generator, spec: AugmentSpec) -> Effects:
    """Draw a change of colours, a blur and a noise; the last two touch the generator only where ``spec`` has them."""
    return Effects(draw_colour(rng, spec), draw_blur(rng, spec.blur), draw_noise(rng, spec.gaussian_noise))


def draw_colour(rng: np.random.Generator, spec: AugmentSpec) -> Colour:
    """Draw a change of colours."""
    hue = float(rng.uniform(-abs(spec.hue), abs(spec.hue)))
    return Colour(hue, _draw_factor(rng, spec.saturation), _draw_factor(rng, spec.exposure))


def _draw_factor(rng: np.random.Generator, largest: float) -> float:
    """Draw a factor between 1 and ``largest``, or its inverse, with equal chances."""
    factor = float(rng.uniform(min(1.0, largest), max(1.0, largest)))
    return factor if rng.random() < 0.5 else 1 / factor


def draw_crop(
    rng: np.random.Generator,
    spec: AugmentSpec,
    *,
    image_size: tuple[int, int],
    network_size: tuple[int, int],
    quadrant: int | None = None,
) -> Crop:
    """Draw the window on a picture.

    Args:
        rng: Source of all draws.
        spec: Ranges.
        image_size: Width and height of the picture, in pixels.
        network_size: Width and height of the network's input, in pixels.
        quadrant: Place in a mosaic (0 top left, 1 top right, 2 bottom left, 3 bottom right), else None.
            A mosaic knows no letter_box.
    """
    width, height = image_size
    zoom = rng.random(2)
    shifts = rng.random(4)
    flip = spec.flip and bool(rng.integers(2))
    left, right = (_draw_margin(width, spec, *pair) for pair in zip(shifts[:2], zoom, strict=True))
    top, bottom = (_draw_margin(height, spec, *pair) for pair in zip(shifts[2:], zoom, strict=True))
    if quadrant is not None:
        if rng.integers(2):
            left, right, top, bottom = _push_to_corner((left, right, top, bottom), quadrant=quadrant, flip=flip)
    elif spec.letter_box and not spec.mosaic:
        left, right, top, bottom = _letter_box((left, right, top, bottom), image_size, network_size)
    return make_crop((left, right, top, bottom), image_size=image_size, flip=flip)


def _draw_margin(side: int, spec: AugmentSpec, shift: float, zoom: float) -> int:
    """Return the pixels to cut off at one edge.

    Every step is cut to whole pixels, and single precision decides, as in darknet: a third of 768 pixels is 255.
    """
    jitter, resize, one = np.float32(spec.jitter), np.float32(spec.resize), np.float32(1)
    reach = int(side * jitter)
    margin = int(np.float32(shift) * (2 * reach) - reach)
    down, up = (resize, one / resize) if resize < 1 else (one / resize, resize)
    outwards = int(side * (one - one / down) / 2)
    if resize < 1:
        return int(margin - np.float32(zoom) * outwards + outwards)
    inwards = int(side * (one - one / up) / 2)
    return int(margin + (np.float32(zoom) * (inwards - outwards) + outwards))


def _letter_box(
    margins: tuple[int, int, int, int], image_size: tuple[int, int], network_size: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Widen the window to the network's aspect, in single precision as darknet."""
    left, right, top, bottom = margins
    width, height = (np.float32(side) for side in image_size)
    aspect = np.float32(network_size[0]) / np.float32(network_size[1])
    if width / height / aspect > 1:
        missing = (width / aspect - height) / 2
        return left, right, int(top - missing), int(bottom - missing)
    missing = (height * aspect - width) / 2
    return int(left - missing), int(right - missing), top, bottom


def _push_to_corner(margins: tuple[int, int, int, int], *, quadrant: int, flip: bool) -> tuple[int, int, int, int]:
    """Move the window so that the part seen in ``quadrant`` begins at the picture's edge: most of it stays visible."""
    left, right, top, bottom = margins
    is_left, is_upper = quadrant in (0, 2), quadrant in (0, 1)
    left, right = (0, left + right) if is_left != flip else (left + right, 0)
    top, bottom = (0, top + bottom) if is_upper else (top + bottom, 0)
    return left, right, top, bottom


def make_crop(margins: tuple[int, int, int, int], *, image_size: tuple[int, int], flip: bool) -> Crop:
    """Return the window for margins left, right, top, bottom in pixels; the whole picture if they leave nothing."""
    left, right, top, bottom = margins
    width, height = image_size[0] - left - right, image_size[1] - top - bottom
    if width <= 0 or height <= 0 or left >= image_size[0] or top >= image_size[1]:
        # right and bottom keep their values, as in darknet: a mosaic's shifts depend on them
        return Crop(0, right, 0, bottom, flip, image_size[0], image_size[1], is_reset=True)
    return Crop(left, right, top, bottom, flip, width, height)


def take_crop(image: Bytes, crop: Crop, *, width: int, height: int) -> Bytes:
    """Return the window, flipped if so drawn, resized to ``width`` x ``height`` pixels: (height, width, C) bytes.

    Where the window reaches beyond the picture it shows the picture's mean colour.
    """
    cv2 = import_cv2()
    part = _window(image, crop)
    resized = cv2.resize(part, (width, height), interpolation=cv2.INTER_LINEAR)
    if crop.flip:
        resized = cv2.flip(resized, 1)
    return resized.reshape(height, width, image.shape[2])  # type: ignore[no-any-return]  # OpenCV drops C = 1


def _window(image: Bytes, crop: Crop) -> Bytes:
    """Return the window at its own size, (crop.height, crop.width, C) bytes: a view if it lies inside the picture."""
    cv2 = import_cv2()
    rows, columns = image.shape[:2]
    right, bottom = crop.left + crop.width, crop.top + crop.height
    part = image[max(crop.top, 0) : max(bottom, 0), max(crop.left, 0) : max(right, 0)]
    if part.shape[:2] == (crop.height, crop.width):
        return part
    mean = np.rint(cv2.mean(image))
    if not part.size:  # the window misses the picture
        return np.full((crop.height, crop.width, image.shape[2]), mean[: image.shape[2]], np.uint8)
    margins = (max(-crop.top, 0), max(bottom - rows, 0), max(-crop.left, 0), max(right - columns, 0))
    bordered = cv2.copyMakeBorder(part, *margins, cv2.BORDER_CONSTANT, value=mean)
    return bordered.reshape(crop.height, crop.width, image.shape[2])  # type: ignore[no-any-return]  # OpenCV drops C = 1


def recolour(image: Bytes, colour: Colour) -> Bytes:
    """Return (H, W, C) bytes with hue shifted and saturation and value multiplied, each rounded and kept in 0..255.

    A hue below 0 stays at 0 instead of going round the circle, as in darknet. Grey pictures know only the exposure.
    """
    if colour.is_neutral:
        return image
    cv2 = import_cv2()
    level = np.arange(256, dtype=np.float32)
    if image.shape[2] == 1:
        return cv2.LUT(image, _saturated(level * np.float32(colour.exposure))).reshape(image.shape)  # type: ignore[no-any-return]
    channels = (
        level + np.float32(_HUE_RANGE * colour.hue),
        level * np.float32(colour.saturation),
        level * np.float32(colour.exposure),
    )
    table = _saturated(np.stack(channels, axis=-1))[None]  # (1, 256, 3)
    hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
    return cv2.cvtColor(cv2.LUT(hsv, table), cv2.COLOR_HSV2RGB)  # type: ignore[no-any-return]


def _saturated(values: Floats) -> Bytes:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def crop_truths(truths: Floats, crop: Crop, *, image_size: tuple[int, int]) -> Floats:
    """Return the truths as seen through the window: moved, scaled, flipped and clipped to it.

    Args:
        truths: (N, 5) centre x, y, width, height relative to the picture, class.
        crop: The window.
        image_size: Width and height of the picture, in pixels.

    Returns:
        (N, 5), relative to the window; what lies outside it has width or height 0.
    """
    scale = np.array([crop.width / image_size[0], crop.height / image_size[1]], np.float32)
    offset = np.array([crop.left / image_size[0], crop.top / image_size[1]], np.float32) / scale
    centre, half = truths[:, 0:2], truths[:, 2:4] / 2
    low, high = (centre - half) * (1 / scale) - offset, (centre + half) * (1 / scale) - offset
    if crop.flip:
        low[:, 0], high[:, 0] = 1 - high[:, 0], 1 - low[:, 0]
    low, high = low.clip(0, 1), high.clip(0, 1)
    return np.concatenate([(low + high) / 2, high - low, truths[:, 4:]], axis=1, dtype=np.float32)


def choose_truths(rng: np.random.Generator, truths: Floats, *, max_boxes: int, network_size: tuple[int, int]) -> Floats:
    """Return at most ``max_boxes`` of the truths, in random order, without those below one pixel of the network."""
    kept = truths[rng.permutation(len(truths))[:max_boxes]]
    large = (kept[:, 2] >= np.float32(1 / network_size[0])) & (kept[:, 3] >= np.float32(1 / network_size[1]))
    return kept[large]


def augment(
    rng: np.random.Generator,
    image: Bytes,
    truths: Floats,
    *,
    spec: AugmentSpec,
    network_size: tuple[int, int],
) -> tuple[Bytes, Floats, Crop]:
    """Return the network's input for one picture outside a mosaic.

    Args:
        rng: Source of all draws.
        image: (H, W, C) bytes.
        truths: (N, 5) centre x, y, width, height relative to the picture, class.
        spec: Ranges.
        network_size: Width and height of the network's input, in pixels.

    Returns:
        (height, width, C) bytes; (M, 5) truths relative to the input, M <= max_boxes; the window.
    """
    image_size = (image.shape[1], image.shape[0])
    crop = draw_crop(rng, spec, image_size=image_size, network_size=network_size)
    effects = draw_effects(rng, spec)
    seen = crop_truths(truths, crop, image_size=image_size)
    chosen = choose_truths(rng, seen, max_boxes=spec.max_boxes, network_size=network_size)
    pixels = recolour(take_crop(image, crop, width=network_size[0], height=network_size[1]), effects.colour)
    strength = spare_small_objects(effects.blur, chosen, network_size=network_size)
    return add_noise(rng, blur_picture(pixels, strength, chosen), effects.noise), chosen, crop
