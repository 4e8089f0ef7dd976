"""[upsample]."""

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"stride": 2, "scale": 1.5}, (Shape(3, 2, 5),))
SQUARE = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])


def test_each_pixel_becomes_a_block() -> None:
    spec = sections.spec("upsample", {"stride": 2})
    expected = [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    assert spec.build([Shape(1, 2, 2)])(SQUARE)[0, 0].tolist() == expected


def test_without_a_stride_the_size_doubles() -> None:
    options = sections.options("upsample", {})
    spec = type(sections.spec("upsample", {})).parse(options)
    assert spec.output_shape([Shape(1, 2, 3)]) == Shape(1, 4, 6)
    assert options.notes == ["stride: Using default '2'"]


def test_scale_multiplies() -> None:
    spec = sections.spec("upsample", {"stride": 1, "scale": 0.5})
    assert spec.build([Shape(1, 2, 2)])(SQUARE)[0, 0].tolist() == [[0.5, 1.0], [1.5, 2.0]]


def test_a_negative_stride_sums_blocks() -> None:
    """The sum, not the mean, times scale."""
    spec = sections.spec("upsample", {"stride": -2, "scale": 3})
    assert spec.output_shape([Shape(1, 2, 2)]) == Shape(1, 1, 1)
    assert spec.build([Shape(1, 2, 2)])(SQUARE).item() == pytest.approx(30.0)


def test_the_gradient_of_a_pixel_is_the_sum_of_its_block() -> None:
    x = SQUARE.clone().requires_grad_()
    output = sections.spec("upsample", {"stride": 2, "scale": 2}).build([Shape(1, 2, 2)])(x)
    output.backward(torch.arange(16.0).view(1, 1, 4, 4))
    assert x.grad is not None
    assert x.grad[0, 0].tolist() == [[2 * (0 + 1 + 4 + 5), 2 * (2 + 3 + 6 + 7)], [2 * (8 + 9 + 12 + 13), 2 * 50]]


@pytest.mark.parametrize(
    ("stride", "row"),
    [
        (2, "upsample                 2x    13 x  13 x 128 ->   26 x  26 x 128"),
        (-13, "downsample              13x    13 x  13 x 128 ->    1 x   1 x 128"),
    ],
)
def test_the_row_of_the_table(stride: int, row: str) -> None:
    spec, source = sections.spec("upsample", {"stride": stride}), (Shape(128, 13, 13),)
    assert spec.row(source, spec.output_shape(source)) == row


def test_a_stride_of_zero_is_refused() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[upsample\] stride=0: must not be 0\. Set stride=2 to double"):
        sections.spec("upsample", {"stride": 0})


def test_blocks_must_fill_the_input() -> None:
    line = r"x\.cfg:10: \[upsample\] stride=-2 does not divide an input of 4x3\. Change the stride or"
    with pytest.raises(CfgError, match=line):
        sections.spec("upsample", {"stride": -2}).output_shape([Shape(1, 3, 4)])
