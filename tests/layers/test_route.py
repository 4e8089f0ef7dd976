"""[route]."""

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"layers": "-1, 0, 2", "groups": 2, "group_id": 1}, (Shape(4, 3, 5), Shape(2, 3, 5), Shape(6, 3, 5)))


def test_inputs_stand_side_by_side_in_the_order_written() -> None:
    spec = sections.spec("route", {"layers": "-2,1"})
    assert spec.sources(sections.INDEX) == (3, 1)
    a, b = torch.full((1, 2, 1, 1), 7.0), torch.arange(3.0).view(1, 3, 1, 1)
    assert spec.build([Shape(2, 1, 1), Shape(3, 1, 1)])(a, b).flatten().tolist() == [7.0, 7.0, 0.0, 1.0, 2.0]


def test_each_input_is_split_not_their_row() -> None:
    a, b = torch.arange(4.0).view(1, 4, 1, 1), torch.arange(10.0, 12.0).view(1, 2, 1, 1)
    shapes = [Shape(4, 1, 1), Shape(2, 1, 1)]
    for group, expected in enumerate(([0.0, 1.0, 10.0], [2.0, 3.0, 11.0])):
        spec = sections.spec("route", {"layers": "0,1", "groups": 2, "group_id": group})
        assert spec.output_shape(shapes) == Shape(3, 1, 1)
        assert spec.build(shapes)(a, b).flatten().tolist() == expected


def test_gradients_go_back_to_their_own_slice() -> None:
    x = torch.zeros(1, 4, 1, 1, requires_grad=True)
    sections.spec("route", {"layers": "0", "groups": 2, "group_id": 1}).build([Shape(4, 1, 1)])(x).sum().backward()
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("layers", "more", "row"),
    [
        ("13", {}, "route  13 \t\t                           ->   26 x  26 x 128 "),
        ("19, 8", {}, "route  19 8 \t                           ->   26 x  26 x 256 "),
        ("11", {"groups": 2, "group_id": 1}, "route  11 \t\t                       1/2 ->   26 x  26 x  64 "),
        ("0,2,12,11", {}, "route  0 2 12 11 \t                   ->   26 x  26 x 512 "),
    ],
)
def test_the_row_of_the_table(layers: str, more: dict[str, object], row: str) -> None:
    spec = sections.spec("route", {"layers": layers, **more}, index=20)
    source = (Shape(128, 26, 26),) * len(spec.sources(20))
    assert spec.row(source, spec.output_shape(source)) == row


def test_numbers_of_streams_are_read_in_silence() -> None:
    options = sections.options("route", {"layers": -1, "stream": 1, "wait_stream": 2})
    type(sections.spec("route", {"layers": -1})).parse(options)
    assert options.leftovers() == options.notes == []


def test_layers_must_be_named() -> None:
    line = r"x\.cfg:10: \[route\] Route Layer must specify input layers\. Add layers=-1"
    with pytest.raises(CfgError, match=line):
        sections.spec("route", {})


def test_only_earlier_layers_can_be_routed() -> None:
    line = r"x\.cfg:11: \[route\] layers=5: 5 means layer 5, but only layers 0 to 4 come before layer 5\."
    with pytest.raises(CfgError, match=line):
        sections.spec("route", {"layers": 5})


def test_a_group_must_exist() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:13: \[route\] group_id=2: must be at most 1\."):
        sections.spec("route", {"layers": -1, "groups": 2, "group_id": 2})


def test_a28_sizes_must_agree() -> None:
    """A28: the line names both layers and both sizes."""
    line = (
        r"x\.cfg:10: \[route\] The width and height of the input layers are different: layer 4 is 26x20, "
        r"layer 2 is 13x10\. Route layers of one size"
    )
    with pytest.raises(CfgError, match=line):
        sections.spec("route", {"layers": "-1,2"}).output_shape([Shape(1, 20, 26), Shape(1, 10, 13)])


def test_groups_must_divide_the_channels() -> None:
    line = r"x\.cfg:10: \[route\] groups=2 does not divide the 3 channels of layer 2\. Change groups or"
    with pytest.raises(CfgError, match=line):
        sections.spec("route", {"layers": "-1,2", "groups": 2}).output_shape([Shape(4, 1, 1), Shape(3, 1, 1)])
