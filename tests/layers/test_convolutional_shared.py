"""[convolutional] with antialiasing, and with the weights of another layer."""

import numpy as np
import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape
from darkpy.layers.convolutional import Convolution, ConvolutionalSpec


def conv(values: dict[str, object], shape: Shape) -> tuple[ConvolutionalSpec, Convolution]:
    spec = sections.spec("convolutional", {"activation": "linear", **values})
    module = spec.build([shape])
    assert isinstance(spec, ConvolutionalSpec)
    assert isinstance(module, Convolution)
    return spec, module


# --- antialiasing -----------------------------------------------------------------------------------------------------


def binomial(x: np.ndarray, kernel: np.ndarray, pad: int, stride: tuple[int, int]) -> np.ndarray:
    size = len(kernel)
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    rows, columns = ((length + 2 * pad - size) // step + 1 for length, step in zip(x.shape[2:], stride, strict=True))
    output = np.zeros((*x.shape[:2], rows, columns))
    for i in range(rows):
        for j in range(columns):
            top, left = i * stride[0], j * stride[1]
            output[:, :, i, j] = (padded[:, :, top : top + size, left : left + size] * kernel).sum((2, 3))
    return output


@pytest.mark.parametrize(
    ("kind", "kernel", "pad"),
    [
        (1, [[1 / 16, 2 / 16, 1 / 16], [2 / 16, 4 / 16, 2 / 16], [1 / 16, 2 / 16, 1 / 16]], 1),
        (2, [[0.25, 0.25], [0.25, 0.25]], 0),
        (5, [[1 / 16, 2 / 16, 1 / 16], [2 / 16, 4 / 16, 2 / 16], [1 / 16, 2 / 16, 1 / 16]], 1),
    ],
)
@pytest.mark.parametrize(("stride_y", "stride_x"), [(2, 2), (1, 3)])
def test_antialiasing_takes_the_stride_behind_the_activation(
    kind: int, kernel: list[list[float]], pad: int, stride_y: int, stride_x: int
) -> None:
    shape = Shape(3, 7, 9)
    values = {"filters": 4, "size": 3, "pad": 1, "activation": "leaky", "batch_normalize": 1}
    steps = {"stride_x": stride_x, "stride_y": stride_y}
    spec, module = conv(values | steps | {"antialiasing": kind}, shape)
    plain_spec, plain = conv(values, shape)
    for to, of in zip(plain_spec.blobs(plain), spec.blobs(module), strict=True):
        to.data.copy_(of)
    x = sections.images(2, *shape)
    output = module(x)
    assert output.shape[1:] == spec.output_shape([shape])
    expected = binomial(plain(x).detach().numpy().astype(np.float64), np.array(kernel), pad, (stride_y, stride_x))
    np.testing.assert_allclose(output.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_the_gradient_through_antialiasing_is_the_true_one() -> None:
    values = {"filters": 2, "size": 3, "pad": 1, "stride": 2, "activation": "swish", "antialiasing": 1}
    _, module = conv(values, Shape(1, 5, 5))
    x = sections.images(1, 1, 5, 5).double().requires_grad_()
    assert torch.autograd.gradcheck(module.double(), (x,))


def test_the_rows_of_antialiasing() -> None:
    """The convolution at stride 1, and the blur in a line of its own, whose operations do not count."""
    spec, _ = conv({"filters": 8, "size": 3, "pad": 1, "stride": 2, "antialiasing": 1}, Shape(3, 16, 32))
    output = spec.output_shape([Shape(3, 16, 32)])
    assert output == Shape(8, 8, 16)
    assert spec.row([Shape(3, 16, 32)], output).split("\n") == [
        "conv      8       3 x 3/ 1     32 x  16 x   3 ->   32 x  16 x   8 0.000 BF",
        "conv      8/   8  3 x 3/ 2     32 x  16 x   8 ->   16 x   8 x   8 0.000 BF",
    ]
    assert spec.bflops([Shape(3, 16, 32)], output) == 2 * 27 * 8 * 16 * 32 / 1e9
    assert spec.announcements() == ("AA:  ",)


# --- share_index ------------------------------------------------------------------------------------------------------

NORMAL: dict[str, object] = {"filters": 3, "size": 3, "pad": 1, "batch_normalize": 1}
SHARING = sections.conv(**NORMAL) + sections.conv(**NORMAL, share_index=-1) + sections.conv(**NORMAL, share_index=1)


def test_layers_that_share_have_the_weights_and_statistics_of_the_first() -> None:
    network = sections.network(SHARING)
    first, second, third = network.layers
    assert isinstance(first, Convolution)
    for module in (second, third):
        assert isinstance(module, Convolution)
        assert module.owner is first
        assert module.weight is first.weight
        assert module.rolling_mean is first.rolling_mean
        assert list(module.parameters()) == []
    blobs = [plan.spec.blobs(module) for plan, module in zip(network.blueprint.layers, network.layers, strict=True)]
    assert [len(part) for part in blobs] == [5, 0, 0]
    x = sections.images(2, 3, 8, 8)
    expected = first.eval()(first(first(x)))
    assert torch.equal(network.eval()(x)[2], expected)
    network.double()  # what replaces tensors keeps them shared
    assert second.rolling_mean is first.rolling_mean


def test_layers_that_share_are_fused_once() -> None:
    network, x = sections.network(SHARING).eval(), sections.images(2, 3, 8, 8)
    before = network(x)[2]
    network.fuse()
    assert torch.allclose(network(x)[2], before, rtol=1e-4, atol=1e-5)


def test_gradients_of_layers_that_share_add_up() -> None:
    network, x = sections.network(SHARING).eval().double(), sections.images(1, 3, 4, 4).double()
    network(x)[2].sum().backward()
    weight, step = network.layers[0].weight, 1e-6
    with torch.no_grad():
        weight[1, 2, 0, 1] += step
        above = network(x)[2].sum()
        weight[1, 2, 0, 1] -= 2 * step
        slope = (above - network(x)[2].sum()) / (2 * step)
    assert weight.grad[1, 2, 0, 1].item() == pytest.approx(slope.item(), rel=1e-4)  # type: ignore[index]


def test_the_row_of_a_layer_that_shares() -> None:
    plan = sections.network(SHARING).blueprint.layers[1]
    assert plan.spec.row(plan.inputs, plan.output).startswith("convS     3       3 x 3/ 1      8 x   8 x   3 ->")


@pytest.mark.parametrize("change", [{"filters": 4}, {"size": 1}, {"batch_normalize": 0}, {"groups": 3}])
def test_layers_that_share_have_one_shape(change: dict[str, object]) -> None:
    line = (
        r"x\.cfg:\d+: \[convolutional\] Layer size, nweights, channels or filters don't match for the share_layer 0\."
    )
    with pytest.raises(CfgError, match=line):
        sections.network(sections.conv(**NORMAL) + sections.conv(**NORMAL | change, share_index=0))


def test_only_convolutions_share() -> None:
    with pytest.raises(
        CfgError, match=r"don't match for the share_layer 0\. Name a \[convolutional\] of the same size"
    ):
        sections.network("[maxpool]\n" + sections.conv(**NORMAL, share_index=0))


def test_one_layer_owns_the_weights() -> None:
    with pytest.raises(CfgError, match=r"share_index=0,1: names 2 layers, but one owns the weights\. Keep one\."):
        sections.spec("convolutional", {"share_index": "0,1"})
