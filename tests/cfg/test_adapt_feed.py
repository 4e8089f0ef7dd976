"""Which layer's width serves a head, found from the text alone."""

from fractions import Fraction

import pytest

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.cfg.adapt_feed import Layers
from darkpy.cfg.adapt_lines import Sheet
from darkpy.errors import CfgError

NET = "[net]\nwidth=64\nheight=64\nchannels=3\n"
CONV = "[convolutional]\nfilters=18\n"
YOLO = "[yolo]\nclasses=1\nnum=3\nanchors=1,2,3,4,5,6\n"
WIDE = CONV.replace("18", "24")


def adapted(layers: str, classes: int = 3) -> str:
    """The layers for three classes."""
    return adapt(NET + layers, Wishes(classes=classes), path="x.cfg").text.removeprefix(NET)


@pytest.mark.parametrize(
    "between",
    [
        "",
        "[dropout]\n",
        "[upsample]\n[activation]\n[batchnorm]\n[lrn]\n[empty]\n[silence]\n[local_avg]\n",
        "[maxpool]\nsize=2\n",
        "[max]\nsize=2\n",
        "[avg]\n",
        "[route]\nlayers=-1\n",
        "[convolutional]\nfilters=7\n[route]\nlayers=0\n",
    ],
)
def test_layers_that_keep_the_channels_are_passed(between: str) -> None:
    assert adapted(CONV + between + YOLO) == WIDE + between + YOLO.replace("=1\n", "=3\n")


def test_shortcut_takes_the_channels_of_the_layer_before() -> None:
    first = "[convolutional]\nfilters=5\n"
    rest = "[shortcut]\nfrom=-2\n"
    assert adapted(first + CONV + rest + YOLO).startswith(first + WIDE + rest)


def test_a_part_of_a_route_needs_all_of_its_source() -> None:
    part = "[route]\nlayers=-1\ngroups=2\ngroup_id=1\n"
    assert adapted(CONV.replace("18", "36") + part + YOLO).startswith(CONV.replace("18", "48") + part)


def test_sam_and_scale_channels_need_both_their_sources() -> None:
    for join in ("[sam]\nfrom=0\n", "[avgpool]\n[scale_channels]\nfrom=0\n"):
        assert adapted(CONV + CONV + join + YOLO).startswith(WIDE + WIDE + join)
    spatial = "[convolutional]\nfilters=1\n[scale_channels]\nfrom=0\nscale_wh=1\n"
    assert adapted(CONV + spatial + YOLO).startswith(WIDE + spatial)


def test_thousands_of_layers_between_are_no_hurdle() -> None:
    between = "[dropout]\n" * 3000
    assert adapted(CONV + between + YOLO).startswith(WIDE + between)
    twice = "[sam]\nfrom=-1\n" * 100
    assert adapted(CONV + twice + YOLO).startswith(WIDE + twice)


def test_a_missing_filters_is_added() -> None:
    assert adapted("[convolutional]\nsize = 1\n" + YOLO).startswith("[convolutional]\nsize = 1\nfilters = 24\n")


def test_aliases_are_known() -> None:
    assert adapted(CONV.replace("convolutional", "conv") + YOLO).startswith("[conv]\nfilters=24\n")


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            YOLO,
            r"x.cfg:5: \[yolo\] needs 24 channels = 3 masks x \(3 classes \+ 5\), but reads the picture, .*filters=24",
        ),
        (CONV * 2 + "[route]\nlayers=-1,-2\n" + YOLO, r"x.cfg:11: \[yolo\] needs 24 .* reads \[route\] of line 9"),
        (CONV + "[reorg]\nstride=2\n" + YOLO, r"reads \[reorg\] of line 7, whose width no single filters= sets"),
        (CONV + "[maxpool]\nmaxpool_depth=1\n" + YOLO, r"reads \[maxpool\] of line 7"),
        (
            "[convolutional]\nfilters=18\ngroups=9\n" + YOLO,
            r"x.cfg:5: .* groups=9, but \[yolo\] at line 8 needs filters=24",
        ),
        (
            CONV + YOLO + "[route]\nlayers=0\n" + YOLO.replace("num=3", "num=2"),
            r"x.cfg:5: \[convolutional\] feeds \[yolo\] at line 7, which needs filters=24 = 3 masks .*, "
            r"and \[yolo\] at line 13, which needs filters=16 = 2 masks",
        ),
        (
            CONV + "[convolutional]\nfilters=18\nshare_index=0\n" + YOLO,
            r"x.cfg:7: \[convolutional\] shares the weights of layer 0, .* would have 24 and 18. Remove share_index=0",
        ),
        (
            CONV + YOLO + "[convolutional]\nfilters=18\nshare_index=-2\n",
            r"shares the weights of layer 0, .* would have 18 and 24",
        ),
    ],
)
def test_a_head_that_no_width_serves_is_refused(layers: str, message: str) -> None:
    with pytest.raises(CfgError, match=message):
        adapted(layers)


def test_a_head_that_no_width_serves_is_left_alone_where_nothing_changes() -> None:
    layers = CONV * 2 + "[route]\nlayers=-1,-2\n" + YOLO
    assert adapted(layers, classes=1) == layers


def test_two_convolutions_that_share_weights_change_together() -> None:
    shared = "[convolutional]\nfilters=18\nshare_index=0\n"
    new = YOLO.replace("=1\n", "=3\n")
    assert adapted(CONV + YOLO + shared + YOLO) == WIDE + new + shared.replace("18", "24") + new


def test_an_embedding_keeps_its_length_for_more_boxes() -> None:
    embedding = "[convolutional]\nfilters=384\n"  # 128 numbers for each of 3 boxes
    layers = embedding + CONV + YOLO + "embedding_layer=-2\n[route]\nlayers=0\n[contrastive]\nyolo_layer=-2\n"
    wishes = Wishes(anchors=((1, 2), (3, 4), (5, 6), (7, 8)))
    text = adapt(NET + layers, wishes, path="x.cfg").text
    assert "filters=512\n" in text
    assert "filters=24\n" in text
    assert adapted(layers, 1) == layers


def strides(layers: str) -> list[float | None]:
    """The stride of each layer's output."""
    return [None if stride is None else float(stride) for stride in Layers.of(Sheet(NET + layers, "x.cfg")).strides]


def test_strides_follow_the_layers() -> None:
    layers = (
        "[convolutional]\nstride=2\n[max]\nstride=2\nstride_x=4\n[upsample]\n[reorg3d]\nstride=2\n[reorg]\nstride=2\nreverse=1\n"
        "[upsample]\nstride=-2\n[route]\nlayers=0\n[avgpool]\n[convolutional]\n[scale_channels]\nfrom=1\n[yolo]\n[connected]\n"
    )
    assert strides(layers) == [2, 8, 4, 8, 4, 8, 2, None, None, 8, 8, None]


def test_strides_are_exact() -> None:
    assert Layers.of(Sheet(NET + "[upsample]\nstride=3\n", "x.cfg")).strides == (Fraction(1, 3),)


def test_a_stride_that_is_no_number_is_named() -> None:
    with pytest.raises(CfgError, match=r"x.cfg:6: \[convolutional\] stride=two: 'two' is no number"):
        strides("[convolutional]\nstride=two\n")
