"""[empty]."""

import sections
import torch

from darkpy.layers._base import Shape

EXAMPLE: tuple[dict[str, object], tuple[Shape, ...]] = ({}, (Shape(3, 4, 5),))


def test_the_input_is_passed_on() -> None:
    x = sections.images(1, 3, 4, 5)
    assert torch.equal(sections.spec("silence", {}).build([Shape(3, 4, 5)])(x), x)


def test_the_row_of_the_table() -> None:
    assert sections.spec("empty", {}).row([Shape(3, 4, 5)], Shape(3, 4, 5)) == "empty "
