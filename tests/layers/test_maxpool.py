"""[maxpool]."""

import pytest
import sections
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from darkpy.errors import CfgError
from darkpy.layers._base import Shape

EXAMPLE = ({"size": 3, "stride_x": 2, "stride_y": 1, "padding": 3}, (Shape(2, 5, 7),))
NOTHING = torch.finfo(torch.float32).min


def pooled(x: torch.Tensor, **values: int) -> torch.Tensor:
    return sections.spec("maxpool", values).build([Shape(*x.shape[1:])])(x)


def test_a34_what_lies_outside_the_picture_never_wins() -> None:
    """A34: size 2, stride 1: [-3, -1] gives [-1, -1], not [-1, 0]."""
    assert pooled(torch.tensor([[[[-3.0, -1.0]]]]), size=2, stride=1).flatten().tolist() == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ({"size": 2, "stride": 2}, Shape(4, 7, 7)),  # padding 1: the last window reaches over the edge
        ({"size": 2, "stride": 1}, Shape(4, 13, 13)),
        ({"size": 5, "stride": 1}, Shape(4, 13, 13)),
        ({"size": 2, "stride": 2, "padding": 0}, Shape(4, 6, 6)),
        ({"size": 3, "stride": 2, "stride_x": 1}, Shape(4, 7, 13)),
        ({"stride": 3}, Shape(4, 5, 5)),  # size is the stride
        ({"maxpool_depth": 1, "out_channels": 2}, Shape(2, 13, 13)),
        ({"maxpool_depth": 1}, Shape(1, 13, 13)),
    ],
)
def test_output_shapes(values: dict[str, object], shape: Shape) -> None:
    assert sections.spec("maxpool", values).output_shape([Shape(4, 13, 13)]) == shape


def test_out_channels_alone_have_no_effect() -> None:
    assert sections.spec("maxpool", {"size": 1, "out_channels": 2}).output_shape([Shape(4, 3, 3)]) == Shape(4, 3, 3)


def _loops(x: torch.Tensor, spec: object) -> torch.Tensor:
    """The windows one by one, as darknet's text says: the top left one begins at minus half the padding."""
    shape = spec.output_shape([Shape(*x.shape[1:])])  # type: ignore[attr-defined]
    output = torch.full((1, *shape), NOTHING)
    start = spec.padding // 2  # type: ignore[attr-defined]
    for row in range(shape.height):
        for column in range(shape.width):
            top = row * spec.stride_y - start  # type: ignore[attr-defined]
            left = column * spec.stride_x - start  # type: ignore[attr-defined]
            rows = slice(max(top, 0), max(top + spec.size, 0))  # type: ignore[attr-defined]
            columns = slice(max(left, 0), max(left + spec.size, 0))  # type: ignore[attr-defined]
            window = x[0, :, rows, columns].flatten(1)
            if window.numel():
                output[0, :, row, column] = window.amax(1)
    return output


@settings(max_examples=60)
@given(
    size=st.integers(1, 5),
    stride_x=st.integers(1, 4),
    stride_y=st.integers(1, 4),
    padding=st.integers(0, 9),
    height=st.integers(1, 9),
    width=st.integers(1, 9),
)
def test_windows_are_those_of_darknet(
    size: int, stride_x: int, stride_y: int, padding: int, height: int, width: int
) -> None:
    assume(size <= min(height, width) + padding)
    values = {"size": size, "stride_x": stride_x, "stride_y": stride_y, "padding": padding}
    x = sections.images(1, 2, height, width) - 2
    spec = sections.spec("maxpool", values)
    assert torch.equal(spec.build([Shape(2, height, width)])(x), _loops(x, spec))


def test_depth_takes_every_nth_channel() -> None:
    x = torch.tensor([1.0, 9.0, 5.0, 2.0, 7.0]).view(1, 5, 1, 1)
    assert pooled(x, maxpool_depth=1, out_channels=2).flatten().tolist() == [7.0, 9.0]  # {1, 5, 7} and {9, 2}


def test_depth_of_negative_values() -> None:
    x = torch.tensor([-4.0, -9.0, -5.0]).view(1, 3, 1, 1)
    assert pooled(x, maxpool_depth=1, out_channels=2).flatten().tolist() == [-4.0, -9.0]


def test_the_gradient_goes_to_the_maximum() -> None:
    x = torch.tensor([[[[1.0, 4.0], [3.0, 2.0]]]], requires_grad=True)
    pooled(x, size=2, stride=2).sum().backward()
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "row", "flops"),
    [
        (
            {"size": 2, "stride": 2},
            "max                2x 2/ 2     64 x  64 x  32 ->   32 x  32 x  32 0.000 BF",
            131072,
        ),
        (
            {"size": 2, "stride": 1},
            "max                2x 2/ 1     64 x  64 x  32 ->   64 x  64 x  32 0.001 BF",
            524288,
        ),
        (
            {"size": 2, "stride": 2, "stride_y": 1},
            "max               2x 2/ 2x 1   64 x  64 x  32 ->   32 x  64 x  32 0.000 BF",
            262144,
        ),
        (
            {"size": 2, "stride": 2, "maxpool_depth": 1, "out_channels": 8},
            "max-depth          2x 2/ 2     64 x  64 x  32 ->   64 x  64 x   8 0.001 BF",
            524288,
        ),
    ],
)
def test_the_row_of_the_table(values: dict[str, object], row: str, flops: int) -> None:
    spec, source = sections.spec("maxpool", values), (Shape(32, 64, 64),)
    assert spec.row(source, spec.output_shape(source)) == row
    assert spec.bflops(source, spec.output_shape(source)) == flops / 1e9


def test_defaults_are_told() -> None:
    options = sections.options("maxpool", {})
    type(sections.spec("maxpool", {})).parse(options)
    assert options.notes == ["stride: Using default '1'", "size: Using default '1'"]


@pytest.mark.parametrize(("kind", "shape"), [(1, Shape(3, 4, 5)), (2, Shape(3, 3, 4))])
def test_antialiasing_pools_at_stride_1_and_blurs_at_the_stride(kind: int, shape: Shape) -> None:
    source = Shape(3, 7, 9)
    spec = sections.spec("maxpool", {"size": 2, "stride": 2, "antialiasing": kind})
    assert spec.output_shape([source]) == shape
    x = sections.images(2, *source).requires_grad_()
    output = spec.build([source])(x)
    pooled = sections.spec("maxpool", {"size": 2, "stride": 1}).build([source])(x).detach()
    kernel = torch.tensor([1.0, 2.0, 1.0]) / 4 if kind == 1 else torch.tensor([0.5, 0.5])
    around = 1 if kind == 1 else 0
    padded = torch.nn.functional.pad(pooled, (around,) * 4)
    for i in range(shape.height):
        for j in range(shape.width):
            window = padded[:, :, 2 * i : 2 * i + len(kernel), 2 * j : 2 * j + len(kernel)]
            expected = (window * kernel.unsqueeze(1) * kernel).sum((2, 3))
            assert torch.allclose(output[:, :, i, j], expected, atol=1e-6)
    output.sum().backward()
    assert x.grad is not None
    assert x.grad.sum().item() > 0


def test_the_rows_of_antialiasing() -> None:
    source = Shape(32, 64, 64)
    spec = sections.spec("maxpool", {"size": 2, "stride": 2, "antialiasing": 1})
    assert spec.row([source], spec.output_shape([source])).split("\n") == [
        "max                2x 2/ 1     64 x  64 x  32 ->   64 x  64 x  32 0.001 BF",
        "conv     32/  32  3 x 3/ 2     64 x  64 x  32 ->   32 x  32 x  32 0.001 BF",
    ]
    assert spec.bflops([source], spec.output_shape([source])) == 4 * 32 * 64 * 64 / 1e9


def test_a_variant_of_a_later_version_is_refused() -> None:
    line = r"x\.cfg:11: \[maxpool\] maxpool_zero_nonmax=1: not supported in this version of darkpy\. Set maxpool_zero"
    with pytest.raises(CfgError, match=line):
        sections.spec("maxpool", {"maxpool_zero_nonmax": 1})


def test_a_window_must_fit() -> None:
    line = r"x\.cfg:10: \[maxpool\] size=6 does not fit an input of 5x9\. Use a smaller window, or"
    with pytest.raises(CfgError, match=line):
        sections.spec("maxpool", {"size": 6, "padding": 0}).output_shape([Shape(1, 9, 5)])


def test_depth_needs_enough_channels() -> None:
    line = r"x\.cfg:10: \[maxpool\] out_channels=5 is more than the 4 input channels\. Set it to a divisor of them"
    with pytest.raises(CfgError, match=line):
        sections.spec("maxpool", {"maxpool_depth": 1, "out_channels": 5}).output_shape([Shape(4, 9, 9)])
