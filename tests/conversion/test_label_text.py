import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from darkpy.conversion.label_text import label_text


def test_no_zeros_at_the_end_and_no_exponents() -> None:
    text = label_text(np.array([0, 12]), np.array([[0.5, 1 / 3, 1, 1e-5], [0.25, 0.125, 0.1, 2e-10]]))
    assert text == "0 0.5 0.3333333333 1 0.00001\n12 0.25 0.125 0.1 0.0000000002\n"


def test_no_boxes_are_an_empty_file() -> None:
    assert label_text(np.zeros(0, np.int64), np.zeros((0, 4))) == ""


@given(
    value=st.floats(0, 1),
    pixels=st.integers(1, 100_000),
)
def test_a_coordinate_comes_back_to_a_thousandth_of_a_pixel(value: float, pixels: int) -> None:
    text = label_text(np.array([0]), np.array([[value, 0.5, 0.5, 0.5]]))
    assert abs(float(text.split()[1]) - value) * pixels < 1e-3
