import colorsys

import cv2
import numpy as np
import pytest
from augmenting import noise, rng, truth_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.data.augment import (
    AugmentSpec,
    Colour,
    Effects,
    augment,
    choose_truths,
    crop_truths,
    draw_colour,
    draw_crop,
    draw_effects,
    make_crop,
    recolour,
    take_crop,
)

STILL = AugmentSpec(jitter=0, flip=False)


def test_without_settings_picture_and_truths_stay_as_they_are() -> None:
    image = noise(24, 32)
    truths = truth_rows((0.5, 0.25, 0.5, 0.25, 3), (0.25, 0.5, 0.25, 0.5, 1))
    pixels, found, crop = augment(rng(), image, truths, spec=STILL, network_size=(32, 24))
    np.testing.assert_array_equal(pixels, image)
    np.testing.assert_array_equal(found[np.argsort(found[:, 4])[::-1]], truths)
    assert not crop.is_reset


def test_margins_of_jitter_are_cut_to_whole_pixels() -> None:
    crops = [
        draw_crop(rng(key), AugmentSpec(jitter=0.2), image_size=(99, 50), network_size=(32, 32)) for key in range(400)
    ]
    left = [crop.left for crop in crops]
    top = [crop.top for crop in crops]
    assert (min(left), max(left), min(top), max(top)) == (-18, 18, -9, 9)  # -19 and 19 need a draw of exactly 0 or 1
    assert {crop.flip for crop in crops} == {False, True}
    assert all(crop.width == 99 - crop.left - crop.right for crop in crops)


@pytest.mark.parametrize(
    ("resize", "low", "high"),
    [
        pytest.param(1.5, -25, 16, id="both ways: 100 * (1 - 1.5) / 2 to 100 * (1 - 1 / 1.5) / 2"),
        pytest.param(0.5, -50, 0, id="below 1 only outwards"),
        pytest.param(1.0, 0, 0, id="none"),
    ],
)
def test_resize_moves_all_edges_together(resize: float, low: int, high: int) -> None:
    spec = AugmentSpec(jitter=0, resize=resize)
    crops = [draw_crop(rng(key), spec, image_size=(100, 100), network_size=(32, 32)) for key in range(600)]
    assert all((crop.left, crop.right) == (crop.top, crop.bottom) for crop in crops)
    left = [crop.left for crop in crops]
    assert low <= min(left) <= low + 1
    assert high - 1 <= max(left) <= high


def test_single_precision_decides_about_a_margins_last_pixel() -> None:
    """A third of 768 pixels is 255.99998 in the reference, and cut to whole pixels."""
    spec = AugmentSpec(jitter=0, resize=1.5, flip=False)

    class Most:
        random = staticmethod(lambda count: np.ones(count))

    crop = draw_crop(Most(), spec, image_size=(768, 576), network_size=(32, 32))  # type: ignore[arg-type]
    assert (crop.left, crop.top) == (127, 95)  # 128 and 96 in double precision


def test_blur_and_noise_draw_only_where_they_are_set() -> None:
    spec = AugmentSpec(hue=0.1, saturation=1.5, exposure=1.5)
    plain, with_both = rng(3), rng(3)
    effects = draw_effects(plain, spec)
    assert effects == Effects(draw_colour(with_both, spec))
    assert plain.random() == with_both.random()
    drawn = [draw_effects(rng(key), AugmentSpec(blur=9, gaussian_noise=20)) for key in range(200)]
    assert {(effects.blur, effects.noise) for effects in drawn} == {(b, n) for b in (0, 1, 9) for n in (0, 20)}


def test_blur_comes_before_noise() -> None:
    """A picture of one colour stays so under a blur, which would smooth the noise."""
    image, truths = np.full((32, 32, 3), 100, np.uint8), truth_rows((0.5, 0.5, 0.9, 0.9, 0))
    for key in range(40):
        source = rng(key)
        spec = AugmentSpec(jitter=0, flip=False, blur=3, gaussian_noise=40)
        pixels, _, _ = augment(source, image, truths, spec=spec, network_size=(32, 32))
        assert (pixels == 100).all() or 0.4 < (pixels == 100).mean() < 0.6


@pytest.mark.parametrize(
    ("image_size", "network_size", "margins"),
    [
        pytest.param((200, 100), (32, 32), (0, 0, -50, -50), id="wide picture"),
        pytest.param((100, 203), (32, 32), (-51, -51, 0, 0), id="tall picture, cut to whole pixels"),
        pytest.param((100, 100), (64, 32), (-50, -50, 0, 0), id="wide network"),
        pytest.param((100, 100), (32, 64), (0, 0, -50, -50), id="tall network"),
    ],
)
def test_letter_box_widens_the_window(
    image_size: tuple[int, int], network_size: tuple[int, int], margins: tuple[int, int, int, int]
) -> None:
    spec = AugmentSpec(jitter=0, flip=False, letter_box=True)
    crop = draw_crop(rng(), spec, image_size=image_size, network_size=network_size)
    assert (crop.left, crop.right, crop.top, crop.bottom) == margins


def test_mosaic_wins_over_letter_box() -> None:
    spec = AugmentSpec(jitter=0, flip=False, letter_box=True, mosaic=True)
    for quadrant in (None, 0):
        crop = draw_crop(rng(), spec, image_size=(200, 100), network_size=(32, 32), quadrant=quadrant)
        assert (crop.width, crop.height) == (200, 100)


@pytest.mark.parametrize(
    ("quadrant", "flip", "pushed"),
    [
        (0, False, (0, 7, 0, 12)),
        (1, False, (7, 0, 0, 12)),
        (2, False, (0, 7, 12, 0)),
        (3, False, (7, 0, 12, 0)),
        (0, True, (7, 0, 0, 12)),
        (1, True, (0, 7, 0, 12)),
        (2, True, (7, 0, 12, 0)),
        (3, True, (0, 7, 12, 0)),
    ],
)
def test_a_mosaic_pushes_half_of_its_windows_into_the_corner(
    quadrant: int, flip: bool, pushed: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    margins = iter([3, 4, 5, 7])
    monkeypatch.setattr("darkpy.data.augment._draw_margin", lambda *_: next(margins))

    class Ones:
        random = staticmethod(lambda count: np.zeros(count))
        integers = staticmethod(lambda _: 1)

    spec = AugmentSpec(flip=flip, mosaic=True)
    crop = draw_crop(Ones(), spec, image_size=(100, 100), network_size=(32, 32), quadrant=quadrant)  # type: ignore[arg-type]
    assert (crop.left, crop.right, crop.top, crop.bottom) == pushed


@pytest.mark.parametrize("margins", [(6, 6, 0, 0), (0, 0, 5, 4), (10, -9, 0, 0), (0, 0, 9, -3)])
def test_a_window_with_nothing_in_it_becomes_the_whole_picture(margins: tuple[int, int, int, int]) -> None:
    crop = make_crop(margins, image_size=(10, 9), flip=False)
    assert crop.is_reset
    assert (crop.left, crop.top, crop.width, crop.height) == (0, 0, 10, 9)
    assert (crop.right, crop.bottom) == (margins[1], margins[3])


def test_a_window_inside_shows_that_part() -> None:
    image = noise(10, 12)
    crop = make_crop((2, 1, 3, 2), image_size=(12, 10), flip=False)
    np.testing.assert_array_equal(take_crop(image, crop, width=9, height=5), image[3:8, 2:11])


def test_flip_mirrors_left_and_right() -> None:
    image = noise(4, 6)
    crop = make_crop((0, 0, 0, 0), image_size=(6, 4), flip=True)
    np.testing.assert_array_equal(take_crop(image, crop, width=6, height=4), image[:, ::-1])


@pytest.mark.parametrize("channels", [1, 3])
def test_a_border_has_the_mean_colour(channels: int) -> None:
    image = noise(5, 7, channels)
    crop = make_crop((-2, 3, -1, -4), image_size=(7, 5), flip=False)
    window = take_crop(image, crop, width=crop.width, height=crop.height)
    assert window.shape == (10, 6, channels)
    np.testing.assert_array_equal(window[1:6, 2:], image[:, :4])
    mean = np.rint(image.reshape(-1, channels).mean(axis=0))
    border = np.concatenate([window[0], window[6:].reshape(-1, channels), window[1:6, :2].reshape(-1, channels)])
    np.testing.assert_array_equal(border, np.broadcast_to(mean, border.shape))


def test_a_window_wholly_above_the_picture_is_all_border() -> None:
    image = noise(4, 4)
    crop = make_crop((0, 0, -9, 5), image_size=(4, 4), flip=False)  # rows -9 to -1
    window = take_crop(image, crop, width=4, height=8)
    np.testing.assert_array_equal(window, np.broadcast_to(np.rint(image.reshape(-1, 3).mean(axis=0)), window.shape))


def test_the_window_is_resized_as_opencv_does_it() -> None:
    image = noise(10, 12)
    crop = make_crop((0, 0, 0, 0), image_size=(12, 10), flip=False)
    expected = cv2.resize(image, (7, 20), interpolation=cv2.INTER_LINEAR)
    np.testing.assert_array_equal(take_crop(image, crop, width=7, height=20), expected)


def test_neutral_colours_change_nothing() -> None:
    image = noise(4, 4)
    assert recolour(image, Colour()) is image


def hsv_of(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(image, cv2.COLOR_RGB2HSV).astype(np.float32)


def test_colours_are_multiplied_rounded_and_kept_in_range() -> None:
    image = noise(16, 16)
    hsv = hsv_of(image)
    hsv[..., 0] = np.clip(np.rint(hsv[..., 0] + np.float32(179 * 0.1)), 0, 255)
    hsv[..., 1] = np.clip(np.rint(hsv[..., 1] * np.float32(1.5)), 0, 255)
    hsv[..., 2] = np.clip(np.rint(hsv[..., 2] * np.float32(0.7)), 0, 255)
    expected = cv2.cvtColor(hsv.astype(np.uint8), cv2.COLOR_HSV2RGB)
    np.testing.assert_array_equal(recolour(image, Colour(0.1, 1.5, 0.7)), expected)


@pytest.mark.parametrize(
    ("rgb", "shift", "degrees"),
    [
        pytest.param((200, 100, 0), 0.2, 30 + 72, id="round the circle"),
        pytest.param((0, 100, 200), 0.5, 210 + 180 - 360, id="past the end it goes on from the beginning"),
        pytest.param((200, 100, 0), -0.5, 0, id="below 0 it stays at 0"),
    ],
)
def test_hue_shifts(rgb: tuple[int, int, int], shift: float, degrees: float) -> None:
    image = np.full((1, 1, 3), rgb, np.uint8)
    red, green, blue = recolour(image, Colour(hue=shift))[0, 0] / 255
    assert colorsys.rgb_to_hsv(red, green, blue)[0] * 360 == pytest.approx(degrees, abs=3)


def test_exposure_rounds_half_to_even_and_stops_at_255() -> None:
    grey = np.array([[1, 3, 5, 200]], np.uint8)[..., None]
    assert recolour(grey, Colour(exposure=1.5)).ravel().tolist() == [2, 4, 8, 255]  # 1.5, 4.5, 7.5, 300


def test_a_grey_picture_knows_only_exposure() -> None:
    grey = noise(4, 4, 1)
    np.testing.assert_array_equal(recolour(grey, Colour(hue=0.3, saturation=2)), grey)


def test_factors_lie_between_the_inverse_and_the_value() -> None:
    colours = [draw_colour(rng(key), AugmentSpec(hue=0.1, saturation=1.5, exposure=0.5)) for key in range(500)]
    for values, low, high in (
        ([colour.hue for colour in colours], -0.1, 0.1),
        ([colour.saturation for colour in colours], 1 / 1.5, 1.5),
        ([colour.exposure for colour in colours], 0.5, 2),
    ):
        assert low <= min(values) < low * 1.05 + 0.02
        assert high * 0.95 - 0.02 < max(values) <= high
    assert 200 < sum(colour.saturation > 1 for colour in colours) < 300


def test_truths_follow_the_window() -> None:
    crop = make_crop((20, 30, -10, 60), image_size=(100, 100), flip=False)  # 50 x 50 pixels from (20, -10)
    moved = crop_truths(truth_rows((0.45, 0.15, 0.1, 0.2, 7)), crop, image_size=(100, 100))
    np.testing.assert_allclose(moved, [[0.5, 0.5, 0.2, 0.4, 7]], atol=1e-6)


def test_truths_follow_a_flip() -> None:
    crop = make_crop((0, 0, 0, 0), image_size=(10, 10), flip=True)
    np.testing.assert_allclose(
        crop_truths(truth_rows((0.2, 0.3, 0.1, 0.2, 0)), crop, image_size=(10, 10)),
        [[0.8, 0.3, 0.1, 0.2, 0]],
        atol=1e-6,
    )


def test_truths_are_clipped_to_the_picture() -> None:
    crop = make_crop((0, 0, 0, 0), image_size=(10, 10), flip=False)
    clipped = crop_truths(truth_rows((0, 0.5, 0.5, 1.5, 0)), crop, image_size=(10, 10))
    np.testing.assert_allclose(clipped, [[0.125, 0.5, 0.25, 1, 0]], atol=1e-6)


def test_truths_cut_away_or_below_one_pixel_are_dropped() -> None:
    crop = make_crop((50, 0, 0, 0), image_size=(100, 100), flip=False)
    truths = truth_rows((0.2, 0.5, 0.2, 0.2, 0), (0.75, 0.5, 0.5 / 33, 0.5, 1), (0.75, 0.5, 0.5 / 31, 0.5, 2))
    seen = crop_truths(truths, crop, image_size=(100, 100))
    kept = choose_truths(rng(), seen, max_boxes=9, network_size=(32, 32))
    assert kept[:, 4].tolist() == [2]


def test_at_most_max_boxes_are_kept_and_any_of_them() -> None:
    truths = truth_rows(*((0.5, 0.5, 0.2, 0.2, number) for number in range(6)))
    chosen = [choose_truths(rng(key), truths, max_boxes=2, network_size=(32, 32)) for key in range(60)]
    assert {len(rows) for rows in chosen} == {2}
    assert {row[4] for rows in chosen for row in rows} == {0, 1, 2, 3, 4, 5}


BOXES = st.lists(
    st.tuples(*[st.floats(-0.5, 1.5, width=32)] * 2, *[st.floats(0.001953125, 1.5, width=32)] * 2, st.integers(0, 4)),
    max_size=6,
)


@settings(deadline=None, max_examples=50)
@given(BOXES, st.integers(0, 2**32), st.floats(0, 0.6), st.floats(0.3, 2), st.booleans())
def test_law_truths_stay_inside(
    rows: list[tuple[float, ...]], key: int, jitter: float, resize: float, box: bool
) -> None:
    spec = AugmentSpec(jitter=jitter, resize=resize, letter_box=box, max_boxes=4, hue=0.1, saturation=1.5, exposure=1.5)
    pixels, found, _ = augment(rng(key), noise(9, 13), truth_rows(*rows), spec=spec, network_size=(40, 24))
    assert pixels.shape == (24, 40, 3)
    assert len(found) <= 4
    low, high = found[:, :2] - found[:, 2:4] / 2, found[:, :2] + found[:, 2:4] / 2
    assert (low >= -1e-6).all()
    assert (high <= 1 + 1e-6).all()
    assert (found[:, 2:4] > 0).all()
