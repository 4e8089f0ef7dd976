"""[reorg3d]."""

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"stride": 2}, (Shape(3, 4, 6),))


def test_blocks_become_channels() -> None:
    """out[(a s + b) C + c, y, x] = in[c, y s + a, x s + b]; rows and columns that fill no block are left out."""
    x = sections.images(2, 3, 5, 7)
    spec = sections.spec("reorg3d", {"stride": 2})
    assert spec.output_shape([Shape(3, 5, 7)]) == Shape(12, 2, 3)
    output = spec.build([Shape(3, 5, 7)])(x)
    expected = np.zeros((2, 12, 2, 3), np.float32)
    for a in range(2):
        for b in range(2):
            expected[:, (a * 2 + b) * 3 : (a * 2 + b + 1) * 3] = x.numpy()[:, :, a : a + 4 : 2, b : b + 5 : 2][
                :, :, :2, :3
            ]
    assert np.array_equal(output.numpy(), expected)


def test_reverse_reads_the_memory_with_the_outputs_shape() -> None:
    """As the C program indexes: its dimensions are those of the output, so it is not the inverse."""
    channels, height, width, stride = 16, 2, 3, 2
    x = np.arange(channels * height * width, dtype=np.float32)
    oc, oh, ow = channels // 4, height * stride, width * stride
    expected = np.zeros_like(x)
    fewer = oc // (stride * stride)
    for k in range(oc):
        for j in range(oh):
            for i in range(ow):
                offset, c = divmod(k, fewer)
                column, row = i * stride + offset % stride, j * stride + offset // stride
                expected[column + ow * stride * (row + oh * stride * c)] = x[i + ow * (j + oh * k)]
    spec = sections.spec("reorg3d", {"stride": stride, "reverse": 1})
    assert spec.output_shape([Shape(channels, height, width)]) == Shape(oc, oh, ow)
    output = spec.build([Shape(channels, height, width)])(torch.from_numpy(x).view(1, channels, height, width))
    assert output.shape == (1, oc, oh, ow)
    assert np.array_equal(output.flatten().numpy(), expected)


@pytest.mark.parametrize("reverse", [0, 1])
def test_each_gradient_goes_back_to_its_value(reverse: int) -> None:
    x = sections.images(1, 16, 4, 4).requires_grad_()
    output = sections.spec("reorg3d", {"stride": 2, "reverse": reverse}).build([Shape(16, 4, 4)])(x)
    output.backward(output.detach())
    assert torch.equal(x.grad, x.detach())  # type: ignore[arg-type]


def test_the_row_of_the_table() -> None:
    source = Shape(160, 16, 16)
    spec = sections.spec("reorg3d", {"stride": 2})
    row = "reorg                    / 2   16 x  16 x 160 ->    8 x   8 x 640"
    assert spec.row([source], spec.output_shape([source])) == row


def test_reverse_needs_channels_for_two_blocks() -> None:
    line = r"x\.cfg:10: \[reorg3d\] reverse=1 with stride=2 needs a multiple of 16 channels, but its input has 4\."
    with pytest.raises(CfgError, match=line):
        sections.spec("reorg3d", {"stride": 2, "reverse": 1}).output_shape([Shape(4, 8, 8)])


def test_a_block_fits_the_input() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:10: \[reorg3d\] stride=4 does not fit an input of 8x3\. Set a smaller"):
        sections.spec("reorg3d", {"stride": 4}).output_shape([Shape(1, 3, 8)])
