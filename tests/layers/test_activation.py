"""Activations by darknet's names."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._activation import ACTIVATIONS, pure, read_activation
from darkpy.layers._base import Shape

POINTS = (-25.0, -5.5, -4.0, -2.5, -2.0, -1.25, -0.5, 0.0, 0.25, 0.75, 1.0, 1.5, 2.5, 3.5, 6.5, 25.0)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softplus(x: float) -> float:
    return x if x > 20 else math.exp(x) if x < -20 else math.log(math.exp(x) + 1)


def stair(x: float) -> float:
    floor = math.floor(x)
    return math.floor(x / 2) if math.fmod(floor, 2) == 0 else (x - floor) + math.floor(x / 2)


def plse(x: float) -> float:
    return 0.01 * (x + 4) if x < -4 else 0.01 * (x - 4) + 1 if x > 4 else 0.125 * x + 0.5


FORMULAS: dict[str, Callable[[float], float]] = {
    "linear": lambda x: x,
    "logistic": sigmoid,
    "loggy": lambda x: 2 / (1 + math.exp(-x)) - 1,
    "relu": lambda x: max(x, 0),
    "relu6": lambda x: min(max(x, 0), 6),
    "elu": lambda x: x if x >= 0 else math.exp(x) - 1,
    "selu": lambda x: 1.0507 * x if x >= 0 else 1.0507 * 1.6732 * (math.exp(x) - 1),
    "relie": lambda x: x if x > 0 else 0.01 * x,
    "ramp": lambda x: x * (x > 0) + 0.1 * x,
    "leaky": lambda x: x if x > 0 else 0.1 * x,
    "revleaky": lambda x: x if x > 0 else 0.1 * x,
    "tanh": lambda x: 2 / (1 + math.exp(-2 * x)) - 1,
    "plse": plse,
    "stair": stair,
    "hardtan": lambda x: min(max(x, -1), 1),
    "lhtan": lambda x: 0.001 * x if x < 0 else 0.001 * (x - 1) + 1 if x > 1 else x,
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * math.tanh(softplus(x)),
    "gelu": lambda x: 0.5 * x * (1 + math.tanh(0.797885 * x + 0.0356774 * x**3)),
    "hard_mish": lambda x: x if x > 0 else x * x / 2 + x if x > -2 else 0,
}


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_values(name: str) -> None:
    output = ACTIVATIONS[name](torch.tensor(POINTS)).tolist()
    assert output == pytest.approx([FORMULAS[name](x) for x in POINTS], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", sorted(set(FORMULAS) - {"stair"}))
def test_slopes_between_the_kinks(name: str) -> None:
    """The slope is that of the formula; darknet takes 1 for a stair's flat steps, which no cfg trains."""
    x = torch.tensor([point + 0.03 for point in POINTS], dtype=torch.float64, requires_grad=True)
    ACTIVATIONS[name](x.clone()).sum().backward()
    step = 1e-5
    slopes = [(FORMULAS[name](v + step) - FORMULAS[name](v - step)) / (2 * step) for v in x.tolist()]
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx(slopes, rel=1e-4, abs=1e-5)


OVER_CHANNELS = ("normalize_channels", "normalize_channels_softmax", "normalize_channels_softmax_maxval")


def test_every_activation_is_in_the_table() -> None:
    assert {*FORMULAS, *OVER_CHANNELS} == set(ACTIVATIONS)


@pytest.mark.parametrize("name", OVER_CHANNELS)
def test_shares_of_a_pixels_channels(name: str) -> None:
    """The gradient is the GPU build's: the share, or for a softmax share (1 - share), times the value's own."""
    x = (sections.images(2, 3, 2, 2) * 4 - 2).requires_grad_()
    gradient = sections.images(2, 3, 2, 2, seed=2)
    output = ACTIVATIONS[name](x)
    output.backward(gradient)
    values = x.detach().numpy().astype(np.float64)
    if name == "normalize_channels":
        part, least = np.maximum(values, 0), 1e-4
    elif name == "normalize_channels_softmax":
        part, least = np.exp(values), 1e-4
    else:
        part, least = np.exp(values - values.max(1, keepdims=True)), 1e-4
    share = part / (least + part.sum(1, keepdims=True))
    np.testing.assert_allclose(output.detach().numpy(), share, rtol=1e-5)
    assert x.grad is not None
    factor = share if name == "normalize_channels" else share * (1 - share)
    np.testing.assert_allclose(x.grad.numpy(), gradient.numpy() * factor, rtol=1e-5)


def test_large_values_have_shares_too() -> None:
    x = torch.tensor([500.0, 500.0]).view(1, 2, 1, 1)
    assert ACTIVATIONS["normalize_channels_softmax"](x).flatten().tolist() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_the_pure_form_leaves_its_input_alone(name: str) -> None:
    x = sections.images(1, 2, 2, 2) - 0.5
    before = x.clone()
    output = pure(name)(x)
    assert torch.equal(x, before)
    assert torch.equal(output, ACTIVATIONS[name](before))


def test_silu_is_swish_and_that_is_said() -> None:
    """Case A16."""
    options = sections.options("convolutional", {"activation": "silu"})
    assert read_activation(options, "logistic") == "swish"
    assert options.notes == ["x.cfg:11: [convolutional] activation=silu acts as swish, darknet's name."]


def test_the_default_is_told_where_darknet_tells_it() -> None:
    options = sections.options("convolutional", {})
    assert read_activation(options, "logistic", loud=True) == "logistic"
    assert options.notes == ["activation: Using default 'logistic'"]


@pytest.mark.parametrize(("word", "hint"), [("Leaky", "leaky"), ("sellu", "selu"), ("hardmish", "hard_mish")])
def test_an_unknown_name_is_never_relu_in_silence(word: str, hint: str) -> None:
    line = rf"x\.cfg:11: \[convolutional\] activation={word}: unknown value\. Use one of: .*Did you mean {hint}\?"
    with pytest.raises(CfgError, match=line):
        read_activation(sections.options("convolutional", {"activation": word}), "logistic")


# --- the section [activation] ---------------------------------------------------------------------------------------

EXAMPLE = ({"activation": "leaky"}, (Shape(3, 4, 5),))


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_the_section_applies_every_activation(name: str) -> None:
    """swish, mish and hard_mish among them, of which the C program makes zeros here."""
    x = torch.tensor(POINTS).view(1, 1, 4, 4)
    output = sections.spec("activation", {"activation": name}).build([Shape(1, 4, 4)])(x)
    assert output.flatten().tolist() == pytest.approx([FORMULAS[name](v) for v in POINTS], rel=1e-5, abs=1e-6)


def test_the_row_of_the_section() -> None:
    assert sections.spec("activation", {}).row([Shape(3, 4, 5)], Shape(3, 4, 5)) == "Activation Layer: 60 inputs"
