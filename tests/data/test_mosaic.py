import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.data.augment import AugmentSpec, Colour, Effects, make_crop, recolour
from darkpy.data.blur import blur_picture
from darkpy.data.mosaic import Tile, draw_cut, job_of_row, mosaic, paste, shift_truths

STILL = AugmentSpec(jitter=0, flip=False, mosaic=True)
WIDTH, HEIGHT = 100, 50
CUT = (40, 20)


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def truth_rows(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, np.float32).reshape(-1, 5)


def place(quadrant: int, margins: tuple[int, int, int, int] = (0, 0, 0, 0), flip: bool = False) -> Tile:
    crop = make_crop(margins, image_size=(200, 100), flip=flip)
    return Tile.place(quadrant, CUT, crop, image_size=(200, 100), network_size=(WIDTH, HEIGHT))


@pytest.mark.parametrize("images", [1, 4, 6, 7, 64, 65])
def test_jobs_are_six_equal_shares(images: int) -> None:
    shares = {row: job for job in range(6) for row in range(job * images // 6, (job + 1) * images // 6)}
    assert {row: job_of_row(row, images_per_iteration=images) for row in range(images)} == shares


def test_the_cut_keeps_a_fifth_free_at_either_end() -> None:
    cuts = np.array([draw_cut(rng(key), network_size=(50, 10)) for key in range(800)])
    assert (cuts.min(axis=0).tolist(), cuts.max(axis=0).tolist()) == ([10, 2], [40, 8])


@pytest.mark.parametrize(
    ("quadrant", "tile"),
    [
        (0, Tile(0, 0, 40, 20, from_x=60, from_y=30)),
        (1, Tile(40, 0, 60, 20, from_x=0, from_y=30)),
        (2, Tile(0, 20, 40, 30, from_x=60, from_y=0)),
        (3, Tile(40, 20, 60, 30, from_x=0, from_y=0)),
    ],
)
def test_each_quadrant_shows_the_corner_next_to_the_cut(quadrant: int, tile: Tile) -> None:
    assert place(quadrant) == tile


@pytest.mark.parametrize(
    ("quadrant", "flip", "corner"),
    [
        # margins in the 200 x 100 picture: left -20, right -40, top -8, bottom -6; in the network half of that
        (0, False, (100 - 40 - 20, 50 - 20 - 3)),
        (1, False, (10, 50 - 20 - 3)),
        (2, False, (100 - 40 - 20, 4)),
        (3, False, (10, 4)),
        (0, True, (100 - 40 - 10, 50 - 20 - 3)),
        (3, True, (20, 4)),
    ],
)
def test_a_border_is_skipped(quadrant: int, flip: bool, corner: tuple[int, int]) -> None:
    tile = place(quadrant, (-20, -40, -8, -6), flip)
    assert (tile.from_x, tile.from_y) == corner


def test_a_border_is_skipped_only_as_far_as_the_picture_goes() -> None:
    left_top, right_bottom = place(3, (-160, 0, -90, 0)), place(0, (0, -160, 0, -90))
    assert (left_top.from_x, left_top.from_y) == (40, 20)
    assert (right_bottom.from_x, right_bottom.from_y) == (0, 0)


def test_four_pictures_are_put_together() -> None:
    pictures = [rng(number).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8) for number in range(4)]
    out = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    crop = make_crop((0, 0, 0, 0), image_size=(WIDTH, HEIGHT), flip=False)
    for quadrant, picture in enumerate(pictures):
        paste(out, place(quadrant), picture, rng=rng(), crop=crop, effects=Effects(), truths=truth_rows())
    np.testing.assert_array_equal(out[:20, :40], pictures[0][30:, 60:])
    np.testing.assert_array_equal(out[:20, 40:], pictures[1][30:, :60])
    np.testing.assert_array_equal(out[20:, :40], pictures[2][:30, 60:])
    np.testing.assert_array_equal(out[20:, 40:], pictures[3][:30, :60])


@pytest.mark.parametrize("quadrant", range(4))
@pytest.mark.parametrize(
    "effects",
    [
        pytest.param(Effects(Colour(0.05, 1.4, 0.8)), id="colours"),
        pytest.param(Effects(Colour(0.05, 1.4, 0.8), blur=1), id="background"),
        pytest.param(Effects(Colour(0.05, 1.4, 0.8), blur=3), id="whole"),
    ],
)
def test_a_quadrant_shows_a_part_of_the_picture_with_its_effects(quadrant: int, effects: Effects) -> None:
    """Made whole first and cut then, as in darknet: a blur looks beyond the cut, and OpenCV rounds by rows."""
    picture = rng().integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    truths = truth_rows((0.5, 0.5, 0.5, 0.5, 0))
    crop, tile = make_crop((0, 0, 0, 0), image_size=(WIDTH, HEIGHT), flip=False), place(quadrant)
    out = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    paste(out, tile, picture, rng=rng(), crop=crop, effects=effects, truths=truths)
    whole = blur_picture(recolour(picture, effects.colour), effects.blur, truths)
    expected = np.zeros_like(out)
    expected[tile.y : tile.y + tile.height, tile.x : tile.x + tile.width] = whole[
        tile.from_y : tile.from_y + tile.height, tile.from_x : tile.from_x + tile.width
    ]
    np.testing.assert_array_equal(out, expected)


def test_an_objects_size_in_its_own_picture_limits_the_blur_of_a_quadrant() -> None:
    picture = rng().integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    crop = make_crop((0, 0, 0, 0), image_size=(WIDTH, HEIGHT), flip=False)
    out = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    small = truth_rows((0.5, 0.5, 0.07, 0.9, 0))  # 7 of 100 pixels
    paste(out, place(3), picture, rng=rng(), crop=crop, effects=Effects(blur=9), truths=small)
    np.testing.assert_array_equal(out[20:, 40:], picture[:30, :60])


def test_noise_falls_on_the_quadrant_alone() -> None:
    picture = np.full((HEIGHT, WIDTH, 3), 100, np.uint8)
    crop = make_crop((0, 0, 0, 0), image_size=(WIDTH, HEIGHT), flip=False)
    out = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    paste(out, place(3), picture, rng=rng(), crop=crop, effects=Effects(noise=20), truths=truth_rows())
    assert (out[:20] == 0).all()
    assert (out[:, :40] == 0).all()
    assert 0.4 < (out[20:, 40:] > 100).mean() < 0.6
    assert out[20:, 40:].min() == 100


@pytest.mark.parametrize(
    ("quadrant", "moved"),
    [
        (0, (0.8 - 0.6, 0.8 - 0.6)),
        (1, (0.2 + 0.4, 0.8 - 0.6)),
        (2, (0.8 - 0.6, 0.2 + 0.4)),
        (3, (0.2 + 0.4, 0.2 + 0.4)),
    ],
)
@pytest.mark.parametrize("bound", [False, True])
def test_truths_move_with_their_quadrant(quadrant: int, moved: tuple[float, float], bound: bool) -> None:
    x, y = (0.8 if quadrant in (0, 2) else 0.2), (0.8 if quadrant in (0, 1) else 0.2)
    truths = truth_rows((x, y, 0.11, 0.14, 5))
    shifted = shift_truths(truths, place(quadrant), network_size=(WIDTH, HEIGHT), bound=bound)
    expected = (*moved, 0.11, 0.14, 5)
    np.testing.assert_allclose(shifted, [expected], atol=1 / HEIGHT if bound else 1e-6)


def shift_one(row: tuple[float, ...], quadrant: int, bound: bool) -> list[list[float]]:
    shifted = shift_truths(truth_rows(row), place(quadrant), network_size=(WIDTH, HEIGHT), bound=bound)
    return np.round(shifted, 4).tolist()


def test_without_bound_a_box_is_shrunk_at_the_mosaics_edge_only() -> None:
    # quadrant 0: x 0.625 -> 0.025, edges -0.1 and 0.15, in pixels -10 and 15; the right edge stays
    (row,) = shift_one((0.625, 0.8, 0.25, 0.25, 1), 0, bound=False)
    assert row == pytest.approx([0.075, 0.2, 0.15, 0.25, 1], abs=1e-4)


def test_without_bound_a_box_may_reach_into_the_next_quadrant() -> None:
    # quadrant 3, cut at (40, 20): x 0.05 -> 0.45, edges 0.35 and 0.55
    (row,) = shift_one((0.05, 0.5, 0.2, 0.1, 1), 3, bound=False)
    assert row == pytest.approx([0.45, 0.9, 0.2, 0.1, 1], abs=1e-4)


def test_with_bound_a_box_ends_at_its_quadrant_in_whole_pixels() -> None:
    # x edges 35.5 and 55.5 -> 35 and 55, clamped to 40 and 55; y edges 44.25 and 47.25 -> 44 and 47
    (row,) = shift_one((0.055, 0.515, 0.2, 0.06, 1), 3, bound=True)
    assert row == pytest.approx([0.475, 0.91, 0.15, 0.06, 1], abs=1e-4)


@pytest.mark.parametrize(
    ("row", "quadrant", "bound"),
    [
        pytest.param((0.3, 0.8, 0.2, 0.2, 1), 0, False, id="beyond the mosaic"),
        pytest.param((0.5, 0.8, 0.1, 0.2, 1), 0, True, id="beyond the quadrant"),
        pytest.param((0.8, 0.8, 0.009, 0.2, 1), 0, False, id="narrower than a pixel"),
        pytest.param((0.8, 0.8, 0.2, 0.02, 1), 0, False, id="one pixel high"),
    ],
)
def test_truths_without_a_visible_part_are_left_out(row: tuple[float, ...], quadrant: int, bound: bool) -> None:
    assert shift_one(row, quadrant, bound) == []


def test_a_mosaic_draws_four_pictures_and_keeps_max_boxes() -> None:
    drawn = []

    def draw() -> tuple[np.ndarray, np.ndarray]:
        drawn.append(len(drawn))
        truths = truth_rows((0.5, 0.5, 0.9, 0.9, len(drawn)), (0.5, 0.5, 0.8, 0.8, len(drawn)))
        return np.full((HEIGHT, WIDTH, 1), 10 * len(drawn), np.uint8), truths

    spec = AugmentSpec(jitter=0, flip=False, mosaic=True, max_boxes=5, channels=1)
    pixels, truths, crops = mosaic(rng(), draw, spec=spec, network_size=(WIDTH, HEIGHT))
    assert len(drawn) == len(crops) == 4
    assert np.unique(pixels).tolist() == [10, 20, 30, 40]
    assert (pixels[0, 0], pixels[0, -1], pixels[-1, 0], pixels[-1, -1]) == (10, 20, 30, 40)
    assert truths[:, 4].tolist() == [1, 1, 2, 2, 3]


BOX = st.tuples(*[st.floats(0.125, 0.875, width=32)] * 2, *[st.floats(0.0078125, 0.984375, width=32)] * 2, st.just(0))


@settings(deadline=None, max_examples=50)
@given(st.lists(BOX, max_size=4), st.integers(0, 2**32), st.booleans())
def test_law_truths_stay_inside(rows: list[tuple[float, ...]], key: int, bound: bool) -> None:
    spec = AugmentSpec(jitter=0.3, resize=1.5, mosaic=True, mosaic_bound=bound, max_boxes=6)
    image = np.zeros((30, 40, 3), np.uint8)
    pixels, found, _ = mosaic(rng(key), lambda: (image, truth_rows(*rows)), spec=spec, network_size=(32, 48))
    assert pixels.shape == (48, 32, 3)
    assert len(found) <= 6
    low, high = found[:, :2] - found[:, 2:4] / 2, found[:, :2] + found[:, 2:4] / 2
    one_pixel = 1 / np.array([32, 48])  # without bound, darknet tests whole pixels, cut towards 0
    assert (low > -one_pixel).all()
    assert (high < 1 + one_pixel).all()
    assert (found[:, 2:4] > one_pixel).all()
