"""[sam]."""

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"from": 2, "activation": "leaky"}, (Shape(3, 2, 5), Shape(3, 2, 5)))


def test_each_value_times_its_own() -> None:
    spec = sections.spec("sam", {"from": -4})
    assert spec.sources(sections.INDEX) == (4, 1)
    attention, x = (
        torch.tensor([[[[1.0, -2.0]]]], requires_grad=True),
        torch.tensor([[[[3.0, 5.0]]]], requires_grad=True),
    )
    output = spec.build([Shape(1, 1, 2)] * 2)(attention, x)
    assert output.flatten().tolist() == [3.0, -10.0]
    output.sum().backward()
    assert torch.equal(attention.grad, x.detach())  # type: ignore[arg-type]
    assert torch.equal(x.grad, attention.detach())  # type: ignore[arg-type]


def test_the_activation_comes_last() -> None:
    module = sections.spec("sam", {"from": 1, "activation": "relu"}).build([Shape(1, 1, 2)] * 2)
    x = torch.tensor([[[[1.0, -2.0]]]])
    assert module(x, torch.ones(1, 1, 1, 2)).flatten().tolist() == [1.0, 0.0]


def test_the_row_of_the_table() -> None:
    assert sections.spec("sam", {"from": 2}).row([Shape(1, 1, 1)] * 2, Shape(1, 1, 1)) == "scale Layer: 2"


def test_only_one_layer_can_be_scaled() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[sam\] from=1,2: names 2 layers, but \[sam\] scales one\. Keep"):
        sections.spec("sam", {"from": "1,2"})


def test_both_have_one_shape() -> None:
    line = (
        r"x\.cfg:10: \[sam\] needs two layers of one shape: the previous layer is 7x4x2, layer 1 is 7x4x3\. "
        r"Set the filters before to 3, at the same size\."
    )
    with pytest.raises(CfgError, match=line):
        sections.spec("sam", {"from": 1}).output_shape([Shape(2, 4, 7), Shape(3, 4, 7)])
