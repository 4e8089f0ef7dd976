"""[local]."""

import math

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import ParameterRule, Shape
from darkpy.layers.local import Local

EXAMPLE = ({"filters": 4, "size": 3, "stride": 2, "pad": 1, "activation": "leaky"}, (Shape(3, 5, 7),))
SOURCE = Shape(3, 5, 7)


@pytest.mark.parametrize(("size", "stride", "pad"), [(3, 2, 1), (3, 1, 1), (2, 2, 0), (5, 1, 2), (1, 3, 0)])
def test_every_place_has_its_own_filters(size: int, stride: int, pad: int) -> None:
    values = {"filters": 2, "size": size, "stride": stride, "pad": pad, "activation": "linear"}
    spec = sections.spec("local", values)
    module, shape = spec.build([SOURCE]), spec.output_shape([SOURCE])
    assert isinstance(module, Local)
    with torch.no_grad():
        module.bias.copy_(sections.images(*module.bias.shape, seed=3))
    x = sections.images(2, *SOURCE) - 0.5
    padded = np.pad(x.numpy().astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    bank = module.weight.detach().numpy().reshape(shape.height, shape.width, 2, 3, size, size)  # as in the file
    expected = np.zeros((2, *shape))
    for row in range(shape.height):
        for column in range(shape.width):
            top, left = row * stride, column * stride
            window = padded[:, :, top : top + size, left : left + size]
            expected[:, :, row, column] = np.einsum("bcij,ncij->bn", window, bank[row, column])
    expected += module.bias.detach().numpy().reshape(1, *shape)
    np.testing.assert_allclose(module(x).detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_its_gradients_are_the_true_ones() -> None:
    module = sections.spec("local", {"filters": 2, "size": 3, "stride": 1, "pad": 1}).build([Shape(1, 3, 3)]).double()
    x = sections.images(1, 1, 3, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(module, (x,))
    weights = tuple(value.detach().requires_grad_() for value in module.parameters())

    def by_weights(weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, {"weight": weight, "bias": bias}, (x.detach(),))

    assert torch.autograd.gradcheck(by_weights, weights)


def test_places_all_begin_at_random() -> None:
    """The C program leaves all but the first at 0."""
    module = sections.spec("local", {"filters": 8, "size": 3, "pad": 1}).build([SOURCE])
    assert isinstance(module, Local)
    bound = math.sqrt(2 / 27)
    assert (module.weight.abs().amax((1, 2)) > 0.8 * bound).all()
    assert module.weight.abs().max() <= bound


def test_blobs_and_rules() -> None:
    spec = sections.spec("local", EXAMPLE[0])
    module = spec.build([SOURCE])
    assert isinstance(module, Local)
    assert [blob.numel() for blob in spec.blobs(module)] == [4 * 3 * 4, 3 * 4 * 4 * 27]  # bias, weights
    assert [rule for _, rule in spec.parameter_rules(module)] == [ParameterRule(decay=True), ParameterRule()]


def test_the_row_of_the_table() -> None:
    spec = sections.spec("local", EXAMPLE[0])
    row = "Local Layer: 5 x 7 x 3 image, 4 filters -> 3 x 4 x 4 image"
    assert spec.row([SOURCE], spec.output_shape([SOURCE])) == row


def test_a_pad_fits_one_size() -> None:
    line = r"x\.cfg:12: \[local\] pad=1: is a number of pixels here, and fits size=3 alone\. Set size=3\."
    with pytest.raises(CfgError, match=line):
        sections.spec("local", {"size": 5, "pad": 1})


def test_the_window_fits() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:10: \[local\] size=6 does not fit an input of 7x5\. Use a smaller"):
        sections.spec("local", {"size": 6}).output_shape([SOURCE])
