"""[scale_channels]."""

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"from": 2, "activation": "logistic"}, (Shape(3, 1, 1), Shape(3, 2, 5)))
X = torch.tensor([[[[1.0, -2.0]], [[3.0, 4.0]]]])
SCALES = torch.tensor([2.0, -1.0]).view(1, 2, 1, 1)
INPUTS = [Shape(2, 1, 1), Shape(2, 1, 2)]


def test_each_channel_times_its_scale() -> None:
    spec = sections.spec("scale_channels", {"from": -4})
    assert spec.sources(sections.INDEX) == (4, 1)
    assert spec.build(INPUTS)(SCALES, X).flatten().tolist() == [2.0, -4.0, -3.0, -4.0]


def test_the_activation_comes_last() -> None:
    module = sections.spec("scale_channels", {"from": 1, "activation": "relu"}).build(INPUTS)
    assert module(SCALES, X).flatten().tolist() == [2.0, 0.0, 0.0, 0.0]


def test_the_gradient_of_a_scale_is_the_sum_over_its_channel() -> None:
    x, scales = X.clone().requires_grad_(), SCALES.clone().requires_grad_()
    sections.spec("scale_channels", {"from": 1}).build(INPUTS)(scales, x).sum().backward()
    assert scales.grad is not None
    assert x.grad is not None
    assert scales.grad.flatten().tolist() == [-1.0, 7.0]
    assert x.grad.flatten().tolist() == [2.0, 2.0, -1.0, -1.0]


def test_the_row_of_the_table() -> None:
    assert sections.spec("scale_channels", {"from": 2}).row(INPUTS, INPUTS[1]) == "scale Layer: 2"


def test_only_one_layer_can_be_scaled() -> None:
    line = r"x\.cfg:11: \[scale_channels\] from=1,2: names 2 layers, but \[scale_channels\] scales one\. Keep one\."
    with pytest.raises(CfgError, match=line):
        sections.spec("scale_channels", {"from": "1,2"})


def test_the_layer_must_be_named() -> None:
    line = r"x\.cfg:10: \[scale_channels\] must name its source layers\. Add from=-1"
    with pytest.raises(CfgError, match=line):
        sections.spec("scale_channels", {})


def test_scale_wh_scales_each_pixel() -> None:
    spec = sections.spec("scale_channels", {"from": 1, "scale_wh": 1})
    shapes = [Shape(1, 1, 2), Shape(2, 1, 2)]
    assert spec.output_shape(shapes) == Shape(2, 1, 2)
    x, scales = X.clone().requires_grad_(), torch.tensor([[[[2.0, -1.0]]]], requires_grad=True)
    output = spec.build(shapes)(scales, x)
    assert output.flatten().tolist() == [2.0, 2.0, 6.0, -4.0]
    output.sum().backward()
    assert scales.grad is not None
    assert x.grad is not None
    assert scales.grad.flatten().tolist() == [4.0, 2.0]  # not divided by width times height
    assert x.grad.flatten().tolist() == [2.0, -1.0, 2.0, -1.0]


@pytest.mark.parametrize("scales", [Shape(2, 4, 7), Shape(1, 1, 1)])
def test_scale_wh_needs_one_scale_for_each_pixel(scales: Shape) -> None:
    line = (
        r"x\.cfg:10: \[scale_channels\] scale_wh=1 needs a previous layer of 7x4x1 to scale layer 1, "
        rf"but it is {scales.width}x{scales.height}x{scales.channels}\. Set filters=1 before\."
    )
    with pytest.raises(CfgError, match=line):
        sections.spec("scale_channels", {"from": 1, "scale_wh": 1}).output_shape([scales, Shape(2, 4, 7)])


@pytest.mark.parametrize("scales", [Shape(2, 1, 3), Shape(3, 1, 1)])
def test_scales_must_be_one_for_each_channel(scales: Shape) -> None:
    line = (
        r"x\.cfg:10: \[scale_channels\] needs a previous layer of 1x1x2 to scale layer 1 \(7x4x2\), "
        rf"but it is {scales.width}x{scales.height}x{scales.channels}\. Put an \[avgpool\] before"
    )
    with pytest.raises(CfgError, match=line):
        sections.spec("scale_channels", {"from": 1}).output_shape([scales, Shape(2, 4, 7)])
