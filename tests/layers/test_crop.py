"""[crop]."""

import colorsys

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, StepKey
from darkpy.layers._colours import jitter_colours
from darkpy.layers.crop import Crop, _sample

EXAMPLE = ({"crop_height": 3, "crop_width": 4}, (Shape(3, 6, 9),))
SIZE = {"crop_height": 3, "crop_width": 4}
KEY = StepKey(seed=1, iteration=2, first_row=3)


def made(**values: object) -> Crop:
    module = sections.spec("crop", {**SIZE, **values}).build([Shape(3, 6, 9)])
    assert isinstance(module, Crop)
    module.begin(KEY)
    return module


def test_inference_cuts_the_centre_out() -> None:
    x = sections.images(2, 3, 6, 9)
    assert torch.equal(made().eval()(x), x[:, :, 1:4, 2:6] * 2 - 1)
    assert torch.equal(made(noadjust=1).eval()(x), x[:, :, 1:4, 2:6])


def test_at_another_size_both_axes_scale_by_the_height() -> None:
    assert made().eval()(sections.images(1, 3, 12, 21)).shape == (1, 3, 6, 10)


def test_training_cuts_at_random_places_between_pixels() -> None:
    """A picture whose values rise by row and column: a window does, from a place inside, in half of them mirrored."""
    rows, columns = torch.arange(6.0).view(1, 1, 6, 1), torch.arange(9.0).view(1, 1, 1, 9)
    x = (rows * 100 + columns).expand(40, 3, 6, 9)
    output = made(flip=1, noadjust=1).train()(x)
    across = output[:, 0, 0, 1] - output[:, 0, 0, 0]
    assert set(across.round(decimals=3).tolist()) == {1.0, -1.0}
    assert torch.allclose(output[:, :, 1:] - output[:, :, :-1], torch.tensor(100.0), atol=1e-2)
    top = (output[:, 0, 0].min(1).values / 100).floor()
    assert top.min() >= 0
    assert top.max() <= 3
    assert output[:, 0, 0, 0].unique().numel() == 40


def test_the_window_of_an_image_does_not_depend_on_how_a_batch_is_cut() -> None:
    x = sections.images(4, 3, 6, 9)
    values = {"flip": 1, "shift": 0.2, "angle": 0.1, "saturation": 1.5, "exposure": 1.5}
    whole, part = made(**values).train(), made(**values).train()
    part.begin(StepKey(seed=1, iteration=2, first_row=5))
    assert torch.allclose(whole(x)[2:], part(x[2:]), atol=1e-6)
    whole.begin(StepKey(seed=1, iteration=3, first_row=3))
    assert not torch.allclose(whole(x)[2:], part(x[2:]), atol=1e-2)


def test_the_angle_turns_about_the_centre() -> None:
    """A quarter turn, half of the largest angle of pi: columns become rows."""
    x = sections.images(1, 1, 5, 5)
    draws = torch.tensor([[0.5, 0.5, 0.0, 0.75]])  # the middle, no mirror, angle / 2
    output = _sample(x, (5, 5), draws, mirrors=False, angle=np.pi)
    picture = x[0, 0].numpy()
    for i in range(1, 5):
        for j in range(5):
            row, column = (j - 2.5) + 2.5, -(i - 2.5) + 2.5
            assert output[0, 0, i, j].item() == pytest.approx(picture[round(row), round(column)], abs=1e-5)


@pytest.mark.parametrize(("saturation", "exposure"), [(1.5, 1.0), (0.5, 1.0), (1.0, 0.7), (0.8, 1.3)])
def test_colours_are_those_of_hue_saturation_value(saturation: float, exposure: float) -> None:
    x = sections.images(2, 3, 2, 2) * 0.6
    x[0, :, 0, 0], x[0, :, 0, 1] = 0.0, 0.3  # black and grey
    output = jitter_colours(x, torch.full((2,), saturation), torch.full((2,), exposure))
    for pixel, ours in zip(
        x.permute(0, 2, 3, 1).reshape(-1, 3), output.permute(0, 2, 3, 1).reshape(-1, 3), strict=True
    ):
        hue, share, value = colorsys.rgb_to_hsv(*pixel.tolist())
        theirs = colorsys.hsv_to_rgb(hue, share * saturation, value * exposure)
        assert ours.tolist() == pytest.approx(list(theirs), abs=1e-5)


def test_the_shift_moves_each_channel() -> None:
    x = torch.full((1, 3, 6, 9), 0.5)
    output = made(shift=0.2).train()(x)
    moves = output.flatten(2)[0].unique(dim=1).flatten()  # 0.5 * 2 - 1 = 0, so what is left is the shift
    assert moves.numel() == 3
    assert moves.abs().max() <= 0.1 + 1e-6
    assert moves.unique().numel() == 3


def test_no_gradient_passes() -> None:
    x = sections.images(1, 3, 6, 9).requires_grad_()
    assert not made().train()(x).requires_grad


def test_the_row_of_the_table() -> None:
    spec = sections.spec("crop", SIZE)
    source = Shape(3, 6, 9)
    assert spec.row([source], spec.output_shape([source])) == "Crop Layer: 6 x 9 -> 3 x 4 x 3 image"


def test_the_window_fits() -> None:
    line = r"x\.cfg:10: \[crop\] crop_width=4 and crop_height=3 are more than its input of 3x6\. Set smaller ones"
    with pytest.raises(CfgError, match=line):
        sections.spec("crop", SIZE).output_shape([Shape(3, 6, 3)])
