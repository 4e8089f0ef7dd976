"""[convolutional]."""

import math

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import ParameterRule, Shape
from darkpy.layers.convolutional import Convolution, ConvolutionalSpec

EXAMPLE = (
    {"batch_normalize": 1, "filters": 6, "size": 3, "stride": 2, "pad": 1, "groups": 2, "activation": "leaky"},
    (Shape(4, 5, 8),),
)

PIXEL = Shape(1, 1, 1)


def conv(values: dict[str, object], shape: Shape = PIXEL) -> tuple[ConvolutionalSpec, Convolution]:
    spec = sections.spec("convolutional", {"activation": "linear", **values})
    module = spec.build([shape])
    assert isinstance(spec, ConvolutionalSpec)
    assert isinstance(module, Convolution)
    return spec, module


def set_to(module: Convolution, **values: list[float]) -> None:
    with torch.no_grad():
        for name, value in values.items():
            getattr(module, name).copy_(torch.tensor(value).view(getattr(module, name).shape))


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ({"size": 3}, Shape(1, 6, 11)),
        ({"size": 3, "pad": 1}, Shape(1, 8, 13)),
        ({"size": 3, "pad": 5}, Shape(1, 8, 13)),  # any number but 0: half the size
        ({"size": 3, "pad": 1, "padding": 3}, Shape(1, 8, 13)),
        ({"size": 3, "padding": 3}, Shape(1, 12, 17)),
        ({"size": 4, "pad": 1}, Shape(1, 9, 14)),
        ({"size": 3, "pad": 1, "stride": 2}, Shape(1, 4, 7)),
        ({"size": 3, "pad": 1, "stride": 2, "stride_x": 1}, Shape(1, 4, 13)),
        ({"size": 3, "pad": 1, "stride": 2, "stride_y": 3, "stride_x": 0}, Shape(1, 3, 7)),
        ({"size": 3, "pad": 1, "dilation": 2}, Shape(1, 8, 13)),
        ({"size": 1, "dilation": 2}, Shape(1, 8, 13)),
        ({"filters": 7}, Shape(7, 8, 13)),
    ],
)
def test_output_shapes_hold_for_the_module(values: dict[str, object], shape: Shape) -> None:
    source = Shape(2, 8, 13)
    spec, module = conv(values, source)
    assert spec.output_shape([source]) == shape
    assert module(torch.zeros(1, *source)).shape[1:] == shape


def test_stride_x_runs_along_the_rows() -> None:
    _, module = conv({"stride_x": 2, "stride_y": 1})
    set_to(module, weight=[1.0])
    x = torch.arange(8.0).view(1, 1, 2, 4)
    assert module(x)[0, 0].tolist() == [[0.0, 2.0], [4.0, 6.0]]


def test_groups_are_runs_of_channels() -> None:
    _, module = conv({"filters": 2, "groups": 2}, Shape(4, 1, 1))
    set_to(module, weight=[1.0, 10.0, 100.0, 1000.0], bias=[0.5, 0.25])
    assert module(torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 4, 1, 1)).flatten().tolist() == [21.5, 4300.25]


def test_the_kernel_is_not_flipped() -> None:
    _, module = conv({"size": 3, "pad": 1})
    set_to(module, weight=[float(number) for number in range(9)])
    x = torch.zeros(1, 1, 3, 3)
    x[0, 0, 1, 2] = 1.0  # right of the centre: meets kernel column 2, row 1
    assert module(x)[0, 0, 1, 1].item() == 5.0


def test_batch_norm_outside_training() -> None:
    """Epsilon 1e-5 stands inside the root."""
    _, module = conv({"batch_normalize": 1})
    set_to(module, weight=[2.0], bias=[0.5], scale=[3.0], rolling_mean=[1.0], rolling_variance=[4e-5])
    expected = 3 * (2 * 0.7 - 1) / math.sqrt(5e-5) + 0.5
    assert module.eval()(torch.full((1, 1, 1, 1), 0.7)).item() == pytest.approx(expected, rel=1e-6)


def test_batch_norm_in_training() -> None:
    """Normalises by the biased variance; 1 % of the unbiased one enters the rolling variance."""
    _, module = conv({"batch_normalize": 1})
    set_to(module, weight=[1.0], rolling_mean=[10.0], rolling_variance=[20.0])
    output = module.train()(torch.tensor([1.0, 2.0, 6.0]).view(3, 1, 1, 1)).flatten()  # mean 3, squares 4 + 1 + 9 = 14
    expected = [(x - 3) / math.sqrt(14 / 3 + 1e-5) for x in (1, 2, 6)]
    assert output.tolist() == pytest.approx(expected, rel=1e-6)
    assert module.rolling_mean.item() == pytest.approx(0.99 * 10 + 0.01 * 3)
    assert module.rolling_variance.item() == pytest.approx(0.99 * 20 + 0.01 * 14 / 2)


def test_a_fresh_convolution() -> None:
    """Weights within the root of 2 / fan-in; scales 1, everything else 0, the rolling variance too."""
    _, module = conv({"batch_normalize": 1, "filters": 50, "size": 3, "groups": 2}, Shape(8, 1, 1))
    bound = math.sqrt(2 / (3 * 3 * 4))
    assert 0.9 * bound < module.weight.abs().max().item() <= bound
    assert abs(module.weight.mean().item()) < 0.1 * bound
    assert [module.scale.unique().tolist(), module.bias.unique().tolist()] == [[1.0], [0.0]]
    assert [module.rolling_mean.unique().tolist(), module.rolling_variance.unique().tolist()] == [[0.0], [0.0]]


def test_fused_equals_unfused() -> None:
    _, module = conv({"batch_normalize": 1, "filters": 6, "size": 3, "pad": 1, "activation": "mish"}, Shape(4, 5, 5))
    with torch.no_grad():
        for number, blob in enumerate((module.bias, module.scale, module.rolling_mean, module.rolling_variance)):
            blob.copy_(sections.images(*blob.shape, seed=number) + 0.1)
    x = sections.images(2, 4, 5, 5)
    before = module.eval()(x)
    module.fuse()
    assert not module.is_normalized
    torch.testing.assert_close(module(x), before, rtol=1e-5, atol=1e-5)


def test_fusing_twice_or_without_batch_norm_changes_nothing() -> None:
    _, plain = conv({"filters": 2})
    weight = plain.weight.detach().clone()
    plain.fuse()
    assert torch.equal(plain.weight, weight)
    _, module = conv({"batch_normalize": 1})
    set_to(module, rolling_variance=[4.0])
    module.fuse()
    weight = module.weight.detach().clone()
    module.fuse()
    assert torch.equal(module.weight, weight)


def test_order_in_the_weights_file() -> None:
    spec, module = conv({"batch_normalize": 1, "filters": 2})
    names = ("bias", "scale", "rolling_mean", "rolling_variance", "weight")
    assert [id(blob) for blob in spec.blobs(module)] == [id(getattr(module, name)) for name in names]
    spec, module = conv({"filters": 2})
    assert [id(blob) for blob in spec.blobs(module)] == [id(module.bias), id(module.weight)]


def test_only_weights_decay() -> None:
    spec, module = conv({"batch_normalize": 1})
    rules = {id(parameter): rule for parameter, rule in spec.parameter_rules(module)}
    assert rules == {
        id(module.weight): ParameterRule(decay=True, of_convolution=True),
        id(module.bias): ParameterRule(of_convolution=True),
        id(module.scale): ParameterRule(of_convolution=True),
    }


@pytest.mark.parametrize(
    ("values", "source", "row", "operations"),
    [
        (
            {"filters": 16, "size": 3, "pad": 1},
            Shape(3, 416, 416),
            "conv     16       3 x 3/ 1    416 x 416 x   3 ->  416 x 416 x  16 0.150 BF",
            149520384,
        ),
        (
            {"filters": 32, "size": 3, "pad": 1, "groups": 4},
            Shape(32, 32, 32),
            "conv     32/   4  3 x 3/ 1     32 x  32 x  32 ->   32 x  32 x  32 0.005 BF",
            4718592,
        ),
        (
            {"filters": 8, "size": 3, "pad": 1, "dilation": 2},
            Shape(3, 16, 16),
            "conv      8       3 x 3/ 1(2)  16 x  16 x   3 ->   16 x  16 x   8 0.000 BF",
            110592,
        ),
        (
            {"filters": 8, "size": 3, "pad": 1, "stride_x": 1, "stride_y": 2},
            Shape(3, 16, 16),
            "conv      8       3x 3/ 1x 2   16 x  16 x   3 ->   16 x   8 x   8 0.000 BF",
            55296,
        ),
    ],
)
def test_the_row_of_the_table(values: dict[str, object], source: Shape, row: str, operations: int) -> None:
    spec, _ = conv(values, source)
    assert spec.row([source], spec.output_shape([source])) == row
    assert spec.bflops([source], spec.output_shape([source])) == operations / 1e9


def test_defaults_are_told() -> None:
    options = sections.options("convolutional", {"stride_x": 1, "stride_y": 2})
    spec = ConvolutionalSpec.parse(options)
    assert (spec.filters, spec.size, spec.pad, spec.groups, spec.activation) == (1, 1, 0, 1, "logistic")
    assert options.notes == [
        "filters: Using default '1'",
        "size: Using default '1'",
        "activation: Using default 'logistic'",
    ]


@pytest.mark.parametrize("values", [{"batch_normalize": 2}, {"cbn": 1}, {"cbn": 1, "batch_normalize": 1}])
def test_cross_iteration_batch_norm_is_plain_and_that_is_said(values: dict[str, object]) -> None:
    options = sections.options(
        "convolutional", {"filters": 1, "size": 1, "stride": 1, "activation": "linear", **values}
    )
    assert ConvolutionalSpec.parse(options).batch_normalize
    (note,) = options.notes
    assert note.startswith(f"{options.at(next(iter(values)))} cross-iteration batch norm acts as plain one in this ")


def test_groups_below_1_are_1() -> None:
    assert conv({"groups": 0})[0].groups == 1


def test_options_without_effect_are_named() -> None:
    options = sections.options(
        "convolutional", {"filters": 1, "size": 1, "stride": 1, "activation": "linear", "dot": 1}
    )
    ConvolutionalSpec.parse(options)
    assert options.notes == ["x.cfg:15: [convolutional] dot has no effect in this version of darkpy."]


@pytest.mark.parametrize("key", ["xnor", "binary", "assisted_excitation", "rotate"])
def test_variants_of_later_versions_are_refused(key: str) -> None:
    line = rf"x\.cfg:11: \[convolutional\] {key}=1: not supported in this version of darkpy\. Set {key}=0 for a plain"
    with pytest.raises(CfgError, match=line):
        sections.spec("convolutional", {key: 1})


@pytest.mark.parametrize(
    ("values", "count"), [({"filters": 6}, "4 input channels"), ({"filters": 4}, "3 input channels")]
)
def test_groups_must_divide_the_input(values: dict[str, object], count: str) -> None:
    groups = 3 if count.startswith("4") else 2
    line = rf"x\.cfg:10: \[convolutional\] groups={groups} does not divide {count}\. Change one of them"
    with pytest.raises(CfgError, match=line):
        sections.spec("convolutional", {**values, "groups": groups}).output_shape([Shape(int(count[0]), 8, 8)])


def test_groups_must_divide_the_filters() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:10: \[convolutional\] groups=2 does not divide 3 filters\. Change one"):
        sections.spec("convolutional", {"filters": 3, "groups": 2}).output_shape([Shape(4, 8, 8)])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"size": 5}, "size=5 with padding 0 and dilation 1 does not fit an input of 9x4"),
        ({"size": 5, "stride": 3}, "size=5 with padding 0 and dilation 1 does not fit an input of 9x4"),
        ({"size": 3, "dilation": 2}, "size=3 with padding 0 and dilation 2 does not fit an input of 9x4"),
    ],
)
def test_a_kernel_must_fit(values: dict[str, object], told: str) -> None:
    with pytest.raises(CfgError, match=rf"x\.cfg:10: \[convolutional\] {told}\. Set pad=1, or a larger network"):
        sections.spec("convolutional", values).output_shape([Shape(1, 4, 9)])


def test_one_value_a_channel_is_normalised_to_its_shift() -> None:
    """Squeeze-excite with a mini-batch of one: the value is its own mean, and torch's batch norm refuses it."""
    _, module = conv({"batch_normalize": 1, "filters": 2}, Shape(3, 1, 1))
    with torch.no_grad():
        module.bias.copy_(torch.tensor([0.5, -1.0]))
    before = torch.nn.functional.conv2d(torch.ones(1, 3, 1, 1), module.weight).detach().flatten()
    out = module(torch.ones(1, 3, 1, 1))
    assert out.flatten().tolist() == [0.5, -1.0]
    torch.testing.assert_close(module.rolling_mean, before * 0.01)
    out.sum().backward()
    assert module.weight.grad.abs().max() == 0
    assert module.bias.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("channels", [3, 32])
def test_a_1x1_convolution_with_a_stride_is_torchs(channels: int) -> None:
    """With few channels the pixels are picked first: torch's own way corrupts memory on a CPU in channels_last."""
    values = {"size": 1, "stride_x": 2, "stride_y": 3, "filters": 21, "activation": "linear", "batch_normalize": 0}
    spec = ConvolutionalSpec.parse(sections.options("convolutional", values))
    module = spec.build([Shape(channels, 13, 10)])
    x = torch.rand(2, channels, 13, 10, generator=torch.Generator().manual_seed(0))
    expected = torch.nn.functional.conv2d(x, module.weight, module.bias, (3, 2))
    found = module(x.contiguous(memory_format=torch.channels_last))
    assert found.shape[1:] == spec.output_shape([Shape(channels, 13, 10)])
    torch.testing.assert_close(found, expected)
    ours, theirs = (torch.autograd.grad(y.square().sum(), module.weight)[0] for y in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_what_an_update_does_to_the_weights_is_read_without_a_note() -> None:
    """A36: keys of stock cfgs are accepted and obeyed."""
    options = sections.options(
        "convolutional",
        {
            "clip": 0.5,
            "grad_centr": 1,
            "filters": 2,
            "size": 1,
            "stride": 1,
            "activation": "linear",
            "batch_normalize": 1,
        },
    )
    spec = ConvolutionalSpec.parse(options)
    assert options.notes == []
    assert (spec.clip, spec.grad_centr) == (0.5, True)
    for channels, is_centralized in ((32, True), (27, False)):
        module = spec.build([Shape(channels, 4, 4)])
        (_, rule), *others = spec.parameter_rules(module)
        assert (rule.clip, rule.centralize) == (0.5, is_centralized)
        assert all((other.clip, other.centralize) == (0, False) for _, other in others)


def test_a_bound_below_0_is_refused() -> None:
    with pytest.raises(CfgError, match=r"clip=-1: must be at least 0"):
        conv({"clip": -1})
