"""[reorg]."""

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape
from darkpy.layers._reorg import depth_to_space, space_to_depth
from darkpy.layers.reorg import ReorgSpec

EXAMPLE = ({"stride": 2}, (Shape(4, 4, 6),))


def test_the_memory_is_read_as_fewer_larger_channels() -> None:
    """The rule of YOLOv2: out[i + w (j + h k)] is the value at a larger picture's place, in memory order."""
    channels, height, width, stride = 8, 4, 6, 2
    x = np.arange(channels * height * width, dtype=np.float32)
    expected = np.zeros_like(x)
    fewer = channels // (stride * stride)
    for k in range(channels):
        for j in range(height):
            for i in range(width):
                offset, c = divmod(k, fewer)
                column, row = i * stride + offset % stride, j * stride + offset // stride
                place = column + width * stride * (row + height * stride * c)
                expected[i + width * (j + height * k)] = x[place]
    spec = sections.spec("reorg", {"stride": stride})
    source = Shape(channels, height, width)
    assert spec.output_shape([source]) == Shape(32, 2, 3)
    output = spec.build([source])(torch.from_numpy(x).view(1, channels, height, width))
    assert output.shape == (1, 32, 2, 3)
    assert np.array_equal(output.flatten().numpy(), expected)


def test_reverse_undoes_reorg3d() -> None:
    x = sections.images(2, 3, 4, 6)
    deep = space_to_depth(x, 2)
    assert torch.equal(depth_to_space(deep, 2), x)
    spec = sections.spec("reorg", {"stride": 2, "reverse": 1})
    assert spec.output_shape([Shape(12, 2, 3)]) == Shape(3, 4, 6)
    assert torch.equal(spec.build([Shape(12, 2, 3)])(deep), x)


def test_memory_order_of_the_input_does_not_matter() -> None:
    x = sections.images(2, 8, 4, 6)
    module = sections.spec("reorg", {"stride": 2}).build([Shape(8, 4, 6)])
    assert torch.equal(module(x.to(memory_format=torch.channels_last)), module(x))


@pytest.mark.parametrize("reverse", [0, 1])
def test_each_gradient_goes_back_to_its_value(reverse: int) -> None:
    x = sections.images(1, 16, 4, 4).requires_grad_()
    output = sections.spec("reorg", {"stride": 2, "reverse": reverse}).build([Shape(16, 4, 4)])(x)
    output.backward(output.detach())
    assert torch.equal(x.grad, x.detach())  # type: ignore[arg-type]


def test_the_row_of_the_table() -> None:
    source = Shape(64, 26, 26)
    spec = sections.spec("reorg", {"stride": 2})
    row = "reorg_old              / 2    26 x  26 x  64   ->    13 x  13 x 256"
    assert spec.row([source], spec.output_shape([source])) == row
    assert isinstance(spec, ReorgSpec)
    assert spec.announcements() == (" reorg_old ",)


@pytest.mark.parametrize("reverse", [0, 1])
def test_channels_fill_blocks(reverse: int) -> None:
    line = r"x\.cfg:10: \[reorg\] stride=2 needs a multiple of 4 channels, but its input has 6\. Change the stride"
    with pytest.raises(CfgError, match=line):
        sections.spec("reorg", {"stride": 2, "reverse": reverse}).output_shape([Shape(6, 8, 8)])


def test_the_stride_divides_the_input() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:10: \[reorg\] stride=2 does not divide an input of 13x8\. Change the"):
        sections.spec("reorg", {"stride": 2}).output_shape([Shape(4, 8, 13)])
