from math import erf, sqrt

import numpy as np
import pytest

from darkpy.data.noise import add_noise, draw_noise

SHAPE = (416, 416, 3)
REFERENCE = {  # deviation: share of zeros and mean of each channel, measured on the C reference's 416 x 416 pixels
    5: [(0.53975, 1.98432), (0.53959, 1.99530), (0.53804, 1.99901)],
    20: [(0.51014, 7.94776), (0.50982, 7.99428), (0.50884, 8.00657)],
}


def rng(key: int = 0) -> np.random.Generator:
    return np.random.default_rng(key)


def law(deviation: int) -> np.ndarray:
    """Probabilities of the levels 0 to 255: the normal law, rounded; what lies below 0 or above 255 counts there."""
    edges = np.array([level + 0.5 for level in range(255)])
    below = np.array([0.5 + 0.5 * erf(edge / deviation / sqrt(2)) for edge in edges])
    return np.diff(np.concatenate([[0], below, [1]]))


def within_five_deviations(levels: np.ndarray, probabilities: np.ndarray) -> None:
    count = levels.size
    zeros, expected = float((levels == 0).mean()), probabilities[0]
    assert abs(zeros - expected) < 5 * sqrt(expected * (1 - expected) / count)
    values = np.arange(256)
    mean = float((values * probabilities).sum())
    variance = float((values**2 * probabilities).sum()) - mean**2
    assert abs(levels.mean(dtype=np.float64) - mean) < 5 * sqrt(variance / count)
    fourth = float(((values - mean) ** 4 * probabilities).sum())
    assert abs(levels.var(dtype=np.float64) - variance) < 5 * sqrt((fourth - variance**2) / count)


@pytest.mark.parametrize(("asked", "deviation"), [(5, 5), (20, 20), (127, 127), (500, 127)])
def test_half_of_the_pictures_get_noise_of_at_most_127(asked: int, deviation: int) -> None:
    source = rng(asked)
    drawn = [draw_noise(source, asked) for _ in range(4000)]
    assert set(drawn) == {0, deviation}
    assert abs(drawn.count(0) - 2000) < 5 * sqrt(1000)  # five standard deviations


def test_without_noise_nothing_is_drawn() -> None:
    source, image = rng(), np.zeros((2, 2, 3), np.uint8)
    assert draw_noise(source, 0) == 0
    assert add_noise(source, image, 0) is image
    assert source.bit_generator.state == rng().bit_generator.state


@pytest.mark.parametrize("deviation", [5, 20, 60, 127])
def test_noise_is_normal_rounded_and_only_brightens(deviation: int) -> None:
    levels = add_noise(rng(deviation), np.zeros(SHAPE, np.uint8), deviation)
    assert levels.shape == SHAPE
    for channel in range(3):
        within_five_deviations(levels[..., channel], law(deviation))
    correlation = np.corrcoef(levels.reshape(-1, 3).T)
    assert (np.abs(correlation[np.triu_indices(3, 1)]) < 5 / sqrt(416 * 416)).all()


@pytest.mark.parametrize("deviation", list(REFERENCE))
def test_the_law_is_the_reference_programs(deviation: int) -> None:
    probabilities, values = law(deviation), np.arange(256)
    mean = float((values * probabilities).sum())
    spread = sqrt(float((values**2 * probabilities).sum()) - mean**2)
    for zeros, average in REFERENCE[deviation]:
        assert abs(zeros - probabilities[0]) < 5 * sqrt(0.25 / 416**2)
        assert abs(average - mean) < 5 * spread / 416


def test_bright_pixels_stop_at_255() -> None:
    noisy = add_noise(rng(), np.full((64, 64, 1), 250, np.uint8), 100)
    assert noisy.shape == (64, 64, 1)
    assert noisy.min() == 250
    assert (noisy == 255).mean() > 0.4


def test_the_same_generator_makes_the_same_noise() -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    np.testing.assert_array_equal(add_noise(rng(3), image, 20), add_noise(rng(3), image, 20))
    assert (add_noise(rng(3), image, 20) != add_noise(rng(4), image, 20)).any()
