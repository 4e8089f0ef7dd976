"""[shortcut]."""

import math

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import ParameterRule, Shape
from darkpy.layers.shortcut import Shortcut, normalized

WEIGHTED = {"weights_type": "per_channel", "weights_normalization": "softmax"}
EXAMPLE = (
    {"from": "-3, 0", "activation": "leaky", **WEIGHTED},
    (Shape(4, 3, 5), Shape(2, 3, 5), Shape(6, 3, 5)),
)


def column(*values: float) -> torch.Tensor:
    """One pixel with these channels."""
    return torch.tensor(values).view(1, -1, 1, 1)


def added(*inputs: torch.Tensor, **values: object) -> torch.Tensor:
    spec = sections.spec("shortcut", {"activation": "linear", **values})
    return spec.build([Shape(*x.shape[1:]) for x in inputs])(*inputs)


def test_the_previous_layer_comes_first() -> None:
    assert sections.spec("shortcut", {"from": "-3,0"}).sources(sections.INDEX) == (4, 2, 0)


def test_several_sources_are_summed() -> None:
    assert added(column(1, 2), column(10, 20), column(100, 200), **{"from": "0,1"}).flatten().tolist() == [111, 222]


def test_channels_beyond_the_first_input_are_ignored_and_missing_ones_count_as_0() -> None:
    assert added(column(1, 2), column(10, 20, 30), **{"from": 0}).flatten().tolist() == [11, 22]
    assert added(column(1, 2, 3), column(10), **{"from": 0}).flatten().tolist() == [11, 2, 3]


def test_the_activation_comes_last() -> None:
    assert added(column(1, -2), column(-2, 1), **{"from": 0, "activation": "relu"}).flatten().tolist() == [0, 0]


def test_weights_are_fitted_to_other_channels_too() -> None:
    values = {"from": "0,1", "weights_type": "per_layer", "weights_normalization": "relu"}
    third = 1 / 3.0001
    output = added(column(1, 2), column(10, 20, 30), column(100), **values)
    assert output.flatten().tolist() == pytest.approx([111 * third, 22 * third])


@pytest.mark.parametrize(("kind", "rows"), [("per_feature", (3, 1)), ("per_layer", (3, 1)), ("per_channel", (3, 4))])
def test_one_weight_for_each_input_or_channel(kind: str, rows: tuple[int, int]) -> None:
    spec = sections.spec("shortcut", {"from": "0,1", "weights_type": kind, "weights_normalization": "relu"})
    module = spec.build([Shape(4, 1, 1)] * 3)
    (weight,) = spec.blobs(module)
    assert weight.shape == rows
    assert weight.unique().tolist() == [1.0]
    assert spec.parameter_rules(module) == ((weight, ParameterRule(decay=False, clamp_update=1.0)),)


def test_normalisation_by_relu_never_falls_below_a_thousandth() -> None:
    gates = normalized(torch.tensor([[3.0], [-1.0]]), 1)
    assert gates.flatten().tolist() == pytest.approx([3 / 3.0011, 0.001 / 3.0011])


def test_normalisation_by_softmax() -> None:
    gates = normalized(torch.tensor([[3.0, 0.0], [1.0, 0.0]]), 2)
    total = 1 + math.exp(-2) + 1e-4
    assert gates[:, 0].tolist() == pytest.approx([1 / total, math.exp(-2) / total])
    assert gates[:, 1].tolist() == pytest.approx([1 / 2.0001] * 2)


@pytest.mark.parametrize("normalization", ["relu", "softmax"])
@pytest.mark.parametrize("kind", ["per_layer", "per_channel"])
def test_the_gradient_of_weights_is_darknets(kind: str, normalization: str) -> None:
    """The sum of gradient times input, times n (relu) or n (1 - n) (softmax); inputs get n times the gradient."""
    spec = sections.spec("shortcut", {"from": 0, "weights_type": kind, "weights_normalization": normalization})
    module = spec.build([Shape(2, 2, 2)] * 2)
    assert isinstance(module, Shortcut)
    assert module.weight is not None
    with torch.no_grad():
        module.weight.copy_(sections.images(*module.weight.shape) + 0.2)
    inputs = [(sections.images(3, 2, 2, 2, seed=seed) - 0.5).requires_grad_() for seed in (2, 3)]
    gradient = sections.images(3, 2, 2, 2, seed=4)
    module(*inputs).backward(gradient)
    gates = normalized(module.weight.detach(), spec.normalization)  # type: ignore[attr-defined]
    for gate, x, weight_gradient in zip(gates, inputs, module.weight.grad, strict=True):  # type: ignore[arg-type]
        assert torch.allclose(x.grad, gradient * gate.view(1, -1, 1, 1))  # type: ignore[arg-type]
        by_channel = (gradient * x.detach()).sum((0, 2, 3))
        total = by_channel if kind == "per_channel" else by_channel.sum().view(1)
        assert torch.allclose(weight_gradient, total * (gate if normalization == "relu" else gate * (1 - gate)))


@pytest.mark.parametrize(
    ("values", "row", "flops"),
    [
        ({"from": -2}, "Shortcut Layer: 3,  wt = 0, wn = 0, outputs:  32 x  16 x   8 0.000 BF", 4096),
        (
            {"from": "1,0", "weights_type": "per_channel", "weights_normalization": "softmax"},
            "Shortcut Layer: 1, 0,  wt = 2, wn = 2, outputs:  32 x  16 x   8 0.000 BF",
            16384,
        ),
        (
            {"from": 1, "weights_type": "per_feature", "weights_normalization": "avg_relu"},
            "Shortcut Layer: 1,  wt = 1, wn = 1, outputs:  32 x  16 x   8 0.000 BF",
            8192,
        ),
    ],
)
def test_the_row_of_the_table(values: dict[str, object], row: str, flops: int) -> None:
    spec = sections.spec("shortcut", values)
    inputs = (Shape(8, 16, 32),) * (1 + len(spec.layers))  # type: ignore[attr-defined]
    assert spec.row(inputs, spec.output_shape(inputs)) == row
    assert spec.bflops(inputs, inputs[0]) == flops / 1e9


def test_without_weights_any_normalisation_is_passed_over() -> None:
    assert sections.spec("shortcut", {"from": 0, "weights_normalization": "zzz"}).normalization == 0  # type: ignore[attr-defined]


def test_weights_need_a_normalisation() -> None:
    line = (
        r"x\.cfg:10: \[shortcut\] weights_normalization: Incorrect weights_normalization = none\. Use one of: relu, s"
    )
    with pytest.raises(CfgError, match=line):
        sections.spec("shortcut", {"from": 0, "weights_type": "per_layer"})


def test_an_unknown_weights_type_is_refused() -> None:
    line = r"x\.cfg:12: \[shortcut\] weights_type=per_chanel: unknown value\. .* Did you mean per_channel\?"
    with pytest.raises(CfgError, match=line):
        sections.spec("shortcut", {"from": 0, "weights_type": "per_chanel"})


def test_sources_must_be_named() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:10: \[shortcut\] must name its source layers\. Add from=-1"):
        sections.spec("shortcut", {"activation": "linear"})


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ((3, 4, 6), (5, 8, 12)),
        ((5, 8, 12), (3, 4, 6)),
        ((4, 3, 3), (4, 7, 7)),
        ((4, 7, 7), (2, 2, 2)),
        ((2, 5, 5), (3, 7, 7)),
    ],
)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 2.0)])
def test_layers_of_other_sizes_meet_at_every_so_many_pixels(
    first: tuple[int, int, int], other: tuple[int, int, int], alpha: float, beta: float
) -> None:
    """As the original darknet adds them: out[k, j sample, i sample] = alpha out + beta from[k, j stride, i stride]."""
    x, y = sections.images(2, *first).requires_grad_(), sections.images(2, *other, seed=2).requires_grad_()
    spec = sections.spec("shortcut", {"from": 0, "activation": "linear", "alpha": alpha, "beta": beta})
    assert spec.output_shape([Shape(*first), Shape(*other)]) == Shape(*first)
    output = spec.build([Shape(*first), Shape(*other)])(x, y)
    gradient = sections.images(2, *first, seed=3)
    output.backward(gradient)
    expected, from_x, from_y = x.detach().clone(), gradient.clone(), torch.zeros_like(y)
    stride, sample = max(other[2] // first[2], 1), max(first[2] // other[2], 1)
    for k in range(min(first[0], other[0])):
        for j in range(min(first[1], other[1])):
            for i in range(min(first[2], other[2])):
                to, of = (slice(None), k, j * sample, i * sample), (slice(None), k, j * stride, i * stride)
                expected[to] = alpha * expected[to] + beta * y.detach()[of]
                from_x[to] = alpha * gradient[to]
                from_y[of] = beta * gradient[to]
    assert torch.allclose(output, expected)
    assert torch.allclose(x.grad, from_x)  # type: ignore[arg-type]
    assert torch.allclose(y.grad, from_y)  # type: ignore[arg-type]


def test_alpha_and_beta_act_on_equal_sizes_too() -> None:
    values = {"from": 0, "alpha": 0.5, "beta": 3}
    assert added(column(2.0, 4.0), column(10.0, 20.0), **values).flatten().tolist() == [31, 62]


def test_weights_need_one_size() -> None:
    with pytest.raises(
        CfgError, match=r"x\.cfg:10: \[shortcut\] adds layers of different sizes: .* Give both one size\."
    ):
        sections.spec("shortcut", {"from": 0, **WEIGHTED}).output_shape([Shape(1, 4, 4), Shape(1, 8, 8)])


def test_sizes_must_agree() -> None:
    line = (
        r"x\.cfg:10: \[shortcut\] adds layers of different sizes: the previous layer is 5x4, layer 1 is 9x8\. "
        "Give both one size, or one ratio of width and height"
    )
    with pytest.raises(CfgError, match=line):
        sections.spec("shortcut", {"from": "0,1"}).output_shape([Shape(1, 4, 5), Shape(1, 4, 5), Shape(1, 8, 9)])
