"""Shapes, keys and the registry of section types."""

import pytest
import sections
from hypothesis import given
from hypothesis import strategies as st

from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, WrongChannels, layer, registered, spec_class, total_stride


def test_a_shape_counts_and_prints_itself() -> None:
    shape = Shape(255, 13, 19)
    assert shape.size == 255 * 13 * 19
    assert str(shape) == "  19 x  13 x 255"  # width, height, channels, as in the table


def test_previous_is_the_layer_before() -> None:
    assert PlainSpec().sources(0) == (-1,)
    assert PlainSpec().sources(7) == (6,)


@given(st.integers(1, 50), st.integers(0, 10), st.integers(1, 60), st.integers(1, 7))
def test_windows_are_counted_with_a_division_towards_zero(length: int, padding: int, size: int, stride: int) -> None:
    free = length + padding - size
    quotient = abs(free) // stride
    assert total_stride(length, padding, size, stride) == (quotient if free >= 0 else -quotient) + 1


def test_wrong_channels_carry_number_and_reason() -> None:
    misfit = WrongChannels(18, "3 masks x (1 class + 5)", found=255)
    assert (misfit.needed, misfit.reason, str(misfit)) == (
        18,
        "3 masks x (1 class + 5)",
        "needs 18 = 3 masks x (1 class + 5)",
    )


def test_a_second_claim_on_a_name_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"two section types claim the name \[maxpool\]: .*MaxpoolSpec.*int"):
        layer("maxpool")(int)
    assert registered()["maxpool"] is not int


def test_the_registry_is_handed_out_as_a_copy() -> None:
    registered().clear()
    assert "yolo" in registered()


@pytest.mark.parametrize("kind", ["contrastive", "Gaussian_yolo", "conv_lstm"])
def test_sections_of_later_versions_are_named(kind: str) -> None:
    line = rf"x\.cfg:10: \[{kind}\] is not supported in this version of darkpy\. Supported: .*upsample, yolo\.$"
    with pytest.raises(CfgError, match=line):
        spec_class(sections.section(kind, {}))


@pytest.mark.parametrize("kind", ["net", "network"])
def test_a_second_net_is_no_layer(kind: str) -> None:
    with pytest.raises(
        CfgError, match=rf"x\.cfg:10: a second \[{kind}\]: two cfg files in one\? Keep one \[net\], at the"
    ):
        spec_class(sections.section(kind, {}))


@pytest.mark.parametrize(
    ("kind", "mend"),
    [
        ("convolutionl", r"Did you mean \[convolutional\]\?"),
        ("regoin", r"Did you mean \[region\]\?"),
        ("zzz", "Use one of: activation, avg, "),
    ],
)
def test_an_unknown_section_offers_the_nearest(kind: str, mend: str) -> None:
    with pytest.raises(CfgError, match=rf"x\.cfg:10: Type not recognized: \[{kind}\]\. {mend}"):
        spec_class(sections.section(kind, {}))
