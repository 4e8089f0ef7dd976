"""[dropout]."""

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, StepKey
from darkpy.layers.dropout import Dropout

EXAMPLE = ({"probability": 0.3}, (Shape(3, 4, 5),))
KEY = StepKey(seed=3, iteration=7, first_row=4)


def dropped(x: torch.Tensor, key: StepKey = KEY, *, probability: float = 0.3, index: int = 5) -> torch.Tensor:
    module = Dropout(probability, index)
    module.begin(key)
    return module(x)


def test_outside_training_nothing_happens() -> None:
    x = sections.images(1, 3, 4, 5)
    assert Dropout(0.9, 0).eval()(x) is x


def test_kept_values_are_scaled_up() -> None:
    values = dropped(torch.full((1, 100, 10, 10), 2.0)).unique().tolist()
    assert values == pytest.approx([0.0, 2 / 0.7])


def test_the_share_of_zeros_is_the_probability() -> None:
    """10,000 draws: 4 standard deviations are 0.018."""
    zeros = (dropped(torch.ones(1, 100, 10, 10)) == 0).float().mean().item()
    assert zeros == pytest.approx(0.3, abs=0.018)


def test_probability_0_changes_nothing() -> None:
    x = sections.images(1, 3, 4, 5)
    assert torch.equal(dropped(x, probability=0.0), x)


def test_gradients_have_the_same_mask_and_factor() -> None:
    x = torch.ones(1, 3, 4, 5, requires_grad=True)
    output = dropped(x)
    output.sum().backward()
    assert torch.equal(x.grad, output)  # type: ignore[arg-type]


def test_the_mask_of_an_image_does_not_depend_on_how_a_batch_is_cut() -> None:
    x = torch.ones(4, 3, 4, 5)
    halves = [dropped(x[:2]), dropped(x[2:], StepKey(seed=3, iteration=7, first_row=6))]
    assert torch.equal(dropped(x), torch.cat(halves))


@pytest.mark.parametrize(
    "other", [StepKey(4, 7, 4), StepKey(3, 8, 4), StepKey(3, 7, 5)], ids=["seed", "iteration", "row"]
)
def test_other_keys_draw_other_masks(other: StepKey) -> None:
    x = torch.ones(1, 3, 8, 8)
    assert torch.equal(dropped(x), dropped(x))
    assert not torch.equal(dropped(x), dropped(x, other))


def test_two_layers_draw_different_masks() -> None:
    x = torch.ones(1, 3, 8, 8)
    assert not torch.equal(dropped(x, index=5), dropped(x, index=6))


def test_nothing_else_random_is_touched() -> None:
    state = torch.get_rng_state()
    dropped(torch.ones(1, 3, 8, 8))
    assert torch.equal(state, torch.get_rng_state())


def test_the_row_of_the_table() -> None:
    source = (Shape(32, 32, 32),)
    row = sections.spec("dropout", {"probability": 0.3}).row(source, source[0])
    assert row == "dropout    p = 0.300        32768  ->   32768"


def test_dropblock_is_said_to_be_plain() -> None:
    options = sections.options("dropout", {"dropblock": 1, "dropblock_size_abs": 7})
    type(sections.spec("dropout", {})).parse(options)
    assert options.notes == [
        "probability: Using default '0.200000'",
        "x.cfg:11: [dropout] dropblock acts as plain dropout in this version of darkpy.",
        "x.cfg:12: [dropout] dropblock_size_abs acts as plain dropout in this version of darkpy.",
    ]


def test_something_must_be_kept() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[dropout\] probability=1: must be below 1\. Set 0\.5 or the like"):
        sections.spec("dropout", {"probability": 1})


def test_a_probability_is_not_negative() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:11: \[dropout\] probability=-1: must be at least 0\."):
        sections.spec("dropout", {"probability": -1})
