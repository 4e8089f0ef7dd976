from collections.abc import Callable

import numpy as np
import pytest

from darkpy.data.augment import AugmentSpec, augment
from darkpy.data.mixup import blend, mixup, unit_levels

STILL = AugmentSpec(jitter=0, flip=False, mixup=True)
SIZE = (32, 24)


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def picture(key: int, channels: int = 3) -> np.ndarray:
    return rng(key).integers(0, 256, (24, 32, channels), dtype=np.uint8)


def truth_rows(*classes: int) -> np.ndarray:
    return np.array([(0.5, 0.5, 0.4, 0.4, number) for number in classes], np.float32).reshape(-1, 5)


def draws(*pictures: tuple[np.ndarray, np.ndarray]) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    waiting = iter(pictures)
    return lambda: next(waiting)


def test_every_pair_of_bytes_is_averaged_as_the_reference_does() -> None:
    first, second = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    mean = blend(first[..., None], second[..., None])[..., 0]
    quotients = np.arange(256, dtype=np.float32) / np.float32(255)
    assert mean.dtype == np.float32
    np.testing.assert_array_equal(mean, quotients[first] * np.float32(0.5) + quotients[second] * np.float32(0.5))
    np.testing.assert_allclose(mean, (first.astype(float) + second) / 510, atol=6e-8)


def test_unit_levels_leave_floats_alone() -> None:
    levels = unit_levels(picture(0))
    assert levels.dtype == np.float32
    assert unit_levels(levels) is levels


@pytest.mark.parametrize("channels", [1, 3])
def test_two_pictures_and_their_truths_are_put_together(channels: int) -> None:
    first, second = picture(1, channels), picture(2, channels)
    pixels, truths, crops = mixup(
        rng(), draws((first, truth_rows(0, 1)), (second, truth_rows(2))), spec=STILL, network_size=SIZE
    )
    np.testing.assert_array_equal(pixels, blend(first, second))
    assert sorted(truths[:2, 4]) == [0, 1]
    assert truths[2, 4] == 2
    assert len(crops) == 2


def test_the_first_pictures_truths_have_precedence() -> None:
    spec = AugmentSpec(jitter=0, flip=False, max_boxes=3)
    _, truths, _ = mixup(
        rng(), draws((picture(1), truth_rows(0, 0)), (picture(2), truth_rows(1, 1))), spec=spec, network_size=SIZE
    )
    assert truths[:, 4].tolist() == [0, 0, 1]


def test_each_picture_is_augmented_by_itself() -> None:
    """The first as if it stood alone, the second with draws of its own."""
    spec = AugmentSpec(jitter=0.3, hue=0.1, saturation=1.5, exposure=1.5, blur=7, gaussian_noise=20)
    image, truths = picture(1), truth_rows(0, 1, 2)
    source = rng(7)
    first, first_truths, first_crop = augment(source, image, truths, spec=spec, network_size=SIZE)
    second, second_truths, second_crop = augment(source, image, truths, spec=spec, network_size=SIZE)
    pixels, found, crops = mixup(rng(7), draws((image, truths), (image, truths)), spec=spec, network_size=SIZE)
    np.testing.assert_array_equal(pixels, blend(first, second))
    np.testing.assert_array_equal(found, np.concatenate([first_truths, second_truths]))
    assert crops == (first_crop, second_crop)
    assert first_crop != second_crop
