"""The laws that the draws of augmentation follow; a bound is five standard deviations wide, or as unlikely."""

import numpy as np

from darkpy.data.augment import AugmentSpec, draw_colour, draw_crop


def rng(key: int) -> np.random.Generator:
    return np.random.default_rng(key)


def within_five_deviations(hits: int, trials: int, probability: float) -> None:
    assert abs(hits - trials * probability) < 5 * (trials * probability * (1 - probability)) ** 0.5


def test_law_margins_are_even_but_for_the_cut_to_whole_pixels() -> None:
    source, spec, trials = rng(1), AugmentSpec(jitter=0.1), 6000
    crops = [draw_crop(source, spec, image_size=(80, 60), network_size=(32, 32)) for _ in range(trials)]
    for margins, reach in (
        ([crop.left for crop in crops], 8),
        ([crop.right for crop in crops], 8),
        ([crop.top for crop in crops], 6),
        ([crop.bottom for crop in crops], 6),
    ):
        assert set(margins) == set(range(1 - reach, reach))  # the ends have no width
        for margin in set(margins):
            within_five_deviations(margins.count(margin), trials, (2 if margin == 0 else 1) / (2 * reach))
    within_five_deviations(sum(crop.flip for crop in crops), trials, 0.5)
    left, right = np.array([(crop.left, crop.right) for crop in crops]).T
    assert abs(np.corrcoef(left, right)[0, 1]) < 5 / trials**0.5


def is_even(values: np.ndarray, low: float, high: float) -> bool:
    """Whether the largest distance to the even law is below Kolmogorov's bound for five standard deviations."""
    ranks = (np.arange(len(values)) + 0.5) / len(values)
    return float(np.abs((np.sort(values) - low) / (high - low) - ranks).max()) < 2.75 / len(values) ** 0.5


def test_law_colours_are_even_and_half_of_the_factors_are_inverse() -> None:
    source, trials = rng(2), 6000
    spec = AugmentSpec(hue=0.1, saturation=1.5, exposure=0.5)
    colours = [draw_colour(source, spec) for _ in range(trials)]
    assert is_even(np.array([colour.hue for colour in colours]), -0.1, 0.1)
    saturation, exposure = np.array([(colour.saturation, colour.exposure) for colour in colours]).T
    within_five_deviations(int((saturation > 1).sum()), trials, 0.5)
    within_five_deviations(int((exposure > 1).sum()), trials, 0.5)
    assert is_even(np.maximum(saturation, 1 / saturation), 1, 1.5)
    assert is_even(np.minimum(exposure, 1 / exposure), 0.5, 1)
