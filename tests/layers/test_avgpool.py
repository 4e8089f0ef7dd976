"""[avgpool]."""

import sections
import torch

from darkpy.layers._base import Shape

EXAMPLE: tuple[dict[str, object], tuple[Shape, ...]] = ({}, (Shape(3, 2, 5),))


def test_each_channel_becomes_its_mean() -> None:
    x = torch.tensor([[[[1.0, 2.0], [3.0, 6.0]], [[0.0, 0.0], [0.0, -2.0]]]])
    assert sections.spec("avgpool", {}).build([Shape(2, 2, 2)])(x).flatten().tolist() == [3.0, -0.5]


def test_another_network_size_changes_only_the_input() -> None:
    module = sections.spec("avgpool", {}).build([Shape(2, 2, 2)])
    assert module(torch.ones(1, 2, 7, 3)).shape == (1, 2, 1, 1)


def test_the_row_of_the_table() -> None:
    spec, source = sections.spec("avgpool", {}), (Shape(32, 32, 32),)
    assert spec.row(source, spec.output_shape(source)) == "avg                            32 x  32 x  32 ->     32"
