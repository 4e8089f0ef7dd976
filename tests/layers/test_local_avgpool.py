"""[local_avgpool]."""

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"size": 3, "stride": 2}, (Shape(3, 5, 7),))


def mean_of_windows(x: np.ndarray, size: int, stride: tuple[int, int], padding: int) -> np.ndarray:
    height, width = x.shape[2:]
    rows, columns = (
        int((length + padding - size) / step) + 1 for length, step in zip((height, width), stride, strict=True)
    )
    output = np.zeros((*x.shape[:2], rows, columns))
    for i in range(rows):
        for j in range(columns):
            top, left = i * stride[0] - padding // 2, j * stride[1] - padding // 2
            window = x[:, :, max(top, 0) : max(top + size, 0), max(left, 0) : max(left + size, 0)]
            output[:, :, i, j] = window.mean((2, 3))
    return output


CASES = [
    {"size": 2, "stride": 2},
    {"size": 3, "stride": 2},
    {"size": 3, "stride": 1},
    {"size": 4, "stride": 3},
    {"size": 3, "stride": 3, "padding": 0},
    {"size": 3, "stride_x": 1, "stride_y": 2, "padding": 1},
]


@pytest.mark.parametrize("values", CASES)
def test_only_pixels_of_the_picture_count(values: dict[str, int]) -> None:
    x = sections.images(2, 3, 7, 9) - 0.5
    spec = sections.spec("local_avgpool", values)
    output = spec.build([Shape(3, 7, 9)])(x)
    stride = (values.get("stride_y", values.get("stride", 1)), values.get("stride_x", values.get("stride", 1)))
    size = values["size"]
    expected = mean_of_windows(x.numpy().astype(np.float64), size, stride, values.get("padding", size - 1))
    assert output.shape[1:] == spec.output_shape([Shape(3, 7, 9)])
    np.testing.assert_allclose(output.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_the_gradient_is_the_true_one() -> None:
    x = sections.images(1, 2, 5, 5).double().requires_grad_()
    module = sections.spec("local_avgpool", {"size": 3, "stride": 2}).build([Shape(2, 5, 5)])
    assert torch.autograd.gradcheck(module, (x,))


def test_the_row_of_the_table() -> None:
    source = Shape(160, 32, 32)
    spec = sections.spec("local_avgpool", {"size": 3, "stride": 2})
    output = spec.output_shape([source])
    assert spec.row([source], output) == "avg                3x 3/ 2     32 x  32 x 160 ->   16 x  16 x 160 0.000 BF"
    assert spec.bflops([source], output) == 9 * 160 * 256 / 1e9
    uneven = sections.spec("local_avgpool", {"size": 3, "stride_x": 2, "stride_y": 1})
    row = "avg               3x 3/ 2x 1   32 x  32 x 160 ->   16 x  32 x 160 0.001 BF"
    assert uneven.row([source], uneven.output_shape([source])) == row


def test_the_window_fits() -> None:
    line = r"x\.cfg:10: \[local_avgpool\] size=9 does not fit an input of 4x3\. Use a smaller window"
    with pytest.raises(CfgError, match=line):
        sections.spec("local_avgpool", {"size": 9, "padding": 0}).output_shape([Shape(1, 3, 4)])
