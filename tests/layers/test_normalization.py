"""[normalization]."""

import numpy as np
import pytest
import sections

from darkpy.layers._base import Shape

EXAMPLE = ({"size": 5, "alpha": 0.01, "beta": 0.75, "kappa": 1}, (Shape(8, 2, 3),))


def norms(squares: np.ndarray, size: int, alpha: float, kappa: float) -> np.ndarray:
    """The running sum, channel after channel."""
    channels = squares.shape[1]
    norm = np.zeros_like(squares)
    norm[:, 0] = kappa + alpha * squares[:, : size // 2].sum(1)
    for k in range(1, channels):
        norm[:, k] = norm[:, k - 1]
        leaving, entering = k - (size - 1) // 2 - 1, k + size // 2
        if leaving >= 0:
            norm[:, k] -= alpha * squares[:, leaving]
        if entering < channels:
            norm[:, k] += alpha * squares[:, entering]
    return norm


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 40])
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_values_and_gradient_follow_the_running_sum(size: int, channels: int) -> None:
    x = (sections.images(2, channels, 2, 3) - 0.3).requires_grad_()
    values = {"size": size, "alpha": 0.05, "beta": 0.6, "kappa": 2}
    gradient = sections.images(2, channels, 2, 3, seed=2)
    output = sections.spec("normalization", values).build([Shape(channels, 2, 3)])(x)
    output.backward(gradient)
    numbers = x.detach().numpy().astype(np.float64)
    factor = norms(numbers**2, size, 0.05, 2.0) ** -0.6
    np.testing.assert_allclose(output.detach().numpy(), numbers * factor, rtol=1e-5)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), gradient.numpy() * factor, rtol=1e-5)


def test_defaults_are_told() -> None:
    options = sections.options("lrn", {})
    type(sections.spec("lrn", {})).parse(options)
    assert options.notes == [
        "alpha: Using default '0.000100'",
        "beta: Using default '0.750000'",
        "kappa: Using default '1.000000'",
        "size: Using default '5'",
    ]


def test_the_row_of_the_table() -> None:
    source = (Shape(8, 27, 28),)
    row = "Local Response Normalization Layer: 28 x 27 x 8 image, 5 size"
    assert sections.spec("normalization", {"size": 5}).row(source, source[0]) == row
