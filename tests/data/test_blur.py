import cv2
import numpy as np
import pytest
from augmenting import noise, rng, truth_rows

from darkpy.data.blur import blur_picture, draw_blur, spare_small_objects

NETWORK = (200, 100)


def test_the_three_choices_are_equally_likely() -> None:
    source = rng(1)
    drawn = [draw_blur(source, 9) for _ in range(9000)]
    for choice in (0, 1, 9):
        assert abs(drawn.count(choice) - 3000) < 5 * (9000 * 2 / 9) ** 0.5  # five standard deviations
    assert set(drawn) == {0, 1, 9}


def test_without_blur_nothing_is_drawn() -> None:
    source = rng()
    assert draw_blur(source, 0) == 0
    assert source.bit_generator.state == rng().bit_generator.state


def test_a_blur_of_1_is_of_the_background_in_two_of_three_pictures() -> None:
    source = rng(2)
    drawn = [draw_blur(source, 1) for _ in range(900)]
    assert set(drawn) == {0, 1}
    assert abs(drawn.count(1) - 600) < 5 * 200**0.5


@pytest.mark.parametrize(
    ("strength", "sides", "lowered"),
    [
        pytest.param(9, [(0.5, 0.79)], 9, id="79 pixels: 9"),
        pytest.param(9, [(0.5, 0.71)], 8, id="71 pixels: 8"),
        pytest.param(9, [(0.9, 0.9), (0.06, 0.5)], 1, id="12 pixels wide: 1, the background"),
        pytest.param(9, [(0.5, 0.07)], 0, id="7 pixels high: none"),
        pytest.param(9, [], 0, id="no objects: none"),
        pytest.param(1, [(0.02, 0.02)], 1, id="the background's stays"),
        pytest.param(0, [(0.5, 0.5)], 0, id="none stays"),
    ],
)
def test_the_smallest_side_of_an_object_limits_the_blur(
    strength: int, sides: list[tuple[float, float]], lowered: int
) -> None:
    truths = truth_rows(*((0.5, 0.5, width, height, 0) for width, height in sides))
    assert spare_small_objects(strength, truths, network_size=NETWORK) == lowered


@pytest.mark.parametrize(("strength", "kernel"), [(2, 3), (3, 3), (6, 7), (7, 7), (14, 15)])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_whole_picture_is_blurred_by_an_odd_kernel(strength: int, kernel: int, channels: int) -> None:
    image = noise(40, 60, channels)
    expected = cv2.GaussianBlur(image, (kernel, kernel), 0).reshape(image.shape)
    np.testing.assert_array_equal(blur_picture(image, strength, truth_rows((0.5, 0.5, 0.5, 0.5, 0))), expected)


def test_no_blur_leaves_the_picture() -> None:
    image = noise(4, 4)
    assert blur_picture(image, 0, truth_rows()) is image


@pytest.mark.parametrize("channels", [1, 3])
def test_a_blurred_background_leaves_every_truth_sharp(channels: int) -> None:
    image = noise(64, 128, channels)
    truths = truth_rows(
        (0.25, 0.5, 0.25, 0.375, 0),  # columns 16 to 47, rows 20 to 43
        (0.3125, 0.5, 0.25, 0.1875, 1),  # overlaps it: columns 24 to 55, rows 26 to 37
        (1.0, 0.875, 0.125, 0.5, 2),  # reaches beyond the corner: columns 120 to 127, rows 40 to 63
        (0.75, 0.130859375, 0.13671875, 0.13671875, 3),  # 87.25 and 4, each 17.5 and 8.75 wide: 87 to 103, 4 to 11
    )
    expected = cv2.GaussianBlur(image, (17, 17), 0).reshape(image.shape)
    for left, right, top, bottom in ((16, 48, 20, 44), (24, 56, 26, 38), (120, 128, 40, 64), (87, 104, 4, 12)):
        expected[top:bottom, left:right] = image[top:bottom, left:right]
    np.testing.assert_array_equal(blur_picture(image, 1, truths), expected)


def test_a_picture_without_truths_is_all_background() -> None:
    image = noise(40, 40)
    np.testing.assert_array_equal(blur_picture(image, 1, truth_rows()), cv2.GaussianBlur(image, (17, 17), 0))
