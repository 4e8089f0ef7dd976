"""The table printed at load, and the line for filters that do not fit (darkpy/blueprint.py)."""

from pathlib import Path

import pytest
import sections
from sections import conv, lines, network

from darkpy.blueprint import Blueprint, plan_network, read_blueprint
from darkpy.cfg.shipped import shipped_folder
from darkpy.cfg.text import parse_sections
from darkpy.errors import CfgError

HEAD = "   layer   filters  size/strd(dil)      input                output"
MSE = (
    "[yolo] params: iou loss: mse (2), iou_norm: 0.75, obj_norm: 1.00, cls_norm: 1.00, delta_norm: 1.00, "
    "scale_x_y: 1.00"
)
# What the C darknet prints for its yolov3-tiny.cfg. A route's row has tabs, and a blank at its end.
TINY = [
    HEAD,
    "   0 conv     16       3 x 3/ 1    416 x 416 x   3 ->  416 x 416 x  16 0.150 BF",
    "   1 max                2x 2/ 2    416 x 416 x  16 ->  208 x 208 x  16 0.003 BF",
    "   2 conv     32       3 x 3/ 1    208 x 208 x  16 ->  208 x 208 x  32 0.399 BF",
    "   3 max                2x 2/ 2    208 x 208 x  32 ->  104 x 104 x  32 0.001 BF",
    "   4 conv     64       3 x 3/ 1    104 x 104 x  32 ->  104 x 104 x  64 0.399 BF",
    "   5 max                2x 2/ 2    104 x 104 x  64 ->   52 x  52 x  64 0.001 BF",
    "   6 conv    128       3 x 3/ 1     52 x  52 x  64 ->   52 x  52 x 128 0.399 BF",
    "   7 max                2x 2/ 2     52 x  52 x 128 ->   26 x  26 x 128 0.000 BF",
    "   8 conv    256       3 x 3/ 1     26 x  26 x 128 ->   26 x  26 x 256 0.399 BF",
    "   9 max                2x 2/ 2     26 x  26 x 256 ->   13 x  13 x 256 0.000 BF",
    "  10 conv    512       3 x 3/ 1     13 x  13 x 256 ->   13 x  13 x 512 0.399 BF",
    "  11 max                2x 2/ 1     13 x  13 x 512 ->   13 x  13 x 512 0.000 BF",
    "  12 conv   1024       3 x 3/ 1     13 x  13 x 512 ->   13 x  13 x1024 1.595 BF",
    "  13 conv    256       1 x 1/ 1     13 x  13 x1024 ->   13 x  13 x 256 0.089 BF",
    "  14 conv    512       3 x 3/ 1     13 x  13 x 256 ->   13 x  13 x 512 0.399 BF",
    "  15 conv    255       1 x 1/ 1     13 x  13 x 512 ->   13 x  13 x 255 0.044 BF",
    "  16 yolo",
    MSE,
    "  17 route  13 \t\t                           ->   13 x  13 x 256 ",
    "  18 conv    128       1 x 1/ 1     13 x  13 x 256 ->   13 x  13 x 128 0.011 BF",
    "  19 upsample                 2x    13 x  13 x 128 ->   26 x  26 x 128",
    "  20 route  19 8 \t                           ->   26 x  26 x 384 ",
    "  21 conv    256       3 x 3/ 1     26 x  26 x 384 ->   26 x  26 x 256 1.196 BF",
    "  22 conv    255       1 x 1/ 1     26 x  26 x 256 ->   26 x  26 x 255 0.088 BF",
    "  23 yolo",
    MSE,
    "Total BFLOPS 5.571 ",
    "avg_outputs = 341534 ",
]


def blueprint(text: str, *, size: int = 64) -> Blueprint:
    whole = sections.NET.format(width=size, height=size) + text
    return plan_network(parse_sections(whole.split("\n"), str(sections.PATH)), sections.PATH)


def test_the_table_of_yolov3_tiny() -> None:
    assert "\n".join(read_blueprint(shipped_folder("cfg") / "yolov3-tiny.cfg").table()).split("\n") == TINY


# A network with a row of each kind.
MIXED = (
    conv(filters=32, size=3, stride=2, pad=1, batch_normalize=1, activation="mish")
    + conv(filters=32, size=3, pad=1, groups=4, batch_normalize=1, activation="leaky")
    + lines("shortcut", {"from": -2, "activation": "linear"})
    + lines("avgpool", {})
    + conv(filters=32, activation="logistic")
    + lines("scale_channels", {"from": 2})
    + lines("dropout", {"probability": 0.3})
    + conv(filters=32, activation="logistic")
    + lines("shortcut", {"from": -3, "activation": "linear"})
    + lines("upsample", {"stride": 2})
    + lines("maxpool", {"size": 2, "stride": 2})
    + lines("route", {"layers": "-1,0"})
    + lines("route", {"layers": -1, "groups": 2, "group_id": 1})
    + lines("route", {"layers": "0,2,-1,-2"})
    + conv(filters=21)
    + lines("yolo", {"classes": 2, "num": 3, "anchors": "1,2,3,4,5,6"})
)


def test_the_rows_of_mixed_layers() -> None:
    """As the C darknet prints them; a default that is used is told below its row."""
    rows = "\n".join(blueprint(MIXED).table()).split("\n")
    assert rows[:9] == [
        HEAD,
        "   0 conv     32       3 x 3/ 2     64 x  64 x   3 ->   32 x  32 x  32 0.002 BF",
        "   1 conv     32/   4  3 x 3/ 1     32 x  32 x  32 ->   32 x  32 x  32 0.005 BF",
        "   2 Shortcut Layer: 0,  wt = 0, wn = 0, outputs:  32 x  32 x  32 0.000 BF",
        "   3 avg                            32 x  32 x  32 ->     32",
        "   4 conv     32       1 x 1/ 1      1 x   1 x  32 ->    1 x   1 x  32 0.000 BF",
        "   5 scale Layer: 2",
        "   6 dropout    p = 0.300        32768  ->   32768",
        "   7 conv     32       1 x 1/ 1     32 x  32 x  32 ->   32 x  32 x  32 0.002 BF",
    ]
    assert rows[10:15] == [
        "   9 upsample                 2x    32 x  32 x  32 ->   64 x  64 x  32",
        "  10 max                2x 2/ 2     64 x  64 x  32 ->   32 x  32 x  32 0.000 BF",
        "  11 route  10 0 \t                           ->   32 x  32 x  64 ",
        "  12 route  11 \t\t                       1/2 ->   32 x  32 x  32 ",
        "  13 route  0 2 12 11 \t                   ->   32 x  32 x 160 ",
    ]
    assert rows[16:21] == [
        "  15 yolo",
        MSE,
        "jitter: Using default '0.200000'",
        "ignore_thresh: Using default '0.500000'",
        "truth_thresh: Using default '1.000000'",
    ]


def test_the_average_counts_layers_whose_input_is_an_image() -> None:
    """Not the convolution behind [avgpool], [scale_channels] and [dropout]; routes count as their first source."""
    text = conv(filters=4) + lines("avgpool", {}) + conv(filters=4) + lines("scale_channels", {"from": 0})
    text += lines("dropout", {"probability": 0.5})
    assert list(blueprint(text, size=8).table())[-1] == f"avg_outputs = {(256 + 4) // 2} "
    text += lines("route", {"layers": 1}) + lines("route", {"layers": 5}) + lines("route", {"layers": 2})
    assert list(blueprint(text, size=8).table())[-1] == f"avg_outputs = {(256 + 4 + 4 + 4) // 4} "


def test_without_an_image_there_is_no_average() -> None:
    """darknet divides by zero."""
    assert list(blueprint(conv(filters=4), size=1).table())[-1] == "avg_outputs = 0 "


def test_operations_are_added_up_in_single_precision() -> None:
    made = network(conv(filters=7, size=3) * 3).blueprint
    assert made.bflops == pytest.approx(sum(layer.bflops for layer in made.layers), rel=1e-6)


YOLO = lines("yolo", {"classes": 1, "num": 1, "anchors": "4,4", "jitter": 0.1})


def test_a_head_on_the_picture() -> None:
    line = r"x\.cfg:9: \[yolo\] reads the picture, but needs 6 channels = 1 mask x \(1 class \+ 5\)\. Put a \[convol"
    with pytest.raises(CfgError, match=line):
        blueprint(YOLO)


def test_a_head_on_a_layer_without_filters() -> None:
    line = (
        r"x\.cfg:14: \[route\] gives 4 channels, but \[yolo\] at line 16 needs 6 = 1 mask x \(1 class \+ 5\)\. "
        r"Put a \[convolutional\] between them, with filters=6\."
    )
    with pytest.raises(CfgError, match=line):
        blueprint(conv(filters=4) + lines("route", {"layers": 0}) + YOLO)


@pytest.mark.parametrize(
    "between", [lines("upsample", {"stride": 2}), lines("dropout", {}), lines("shortcut", {"from": 0})]
)
def test_layers_that_keep_the_channels_are_passed_over(between: str) -> None:
    """The line names the convolution, whose filters are to be changed."""
    with pytest.raises(CfgError, match=r"x\.cfg:15: \[convolutional\] filters=4, but \[yolo\] at line 2\d needs 6 = "):
        blueprint(conv(filters=4) + conv(filters=4) + between + YOLO)


def test_one_option_of_net_in_a_layer_is_only_unknown() -> None:
    """Two and more mean that a second [net] line was lost."""
    (layer,) = blueprint(conv(filters=4, batch=64)).layers
    assert layer.notes == ("x.cfg:14: Unused field: 'batch = 64'.",)
    with pytest.raises(CfgError, match=r"x\.cfg:14: 'batch' and 'decay' belong to \[net\] but stand in the \[conv"):
        blueprint(conv(filters=4, batch=64, decay=1))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"Couldn't open file: .*x\.cfg: not found"):
        read_blueprint(tmp_path / "x.cfg")


def test_the_mean_of_outputs_leaves_out_layers_whose_input_size_darknet_does_not_note() -> None:
    """[connected], [cost], [activation] and plain [dropout]; that with blocks counts."""
    made = sections.network(
        sections.conv(filters=2) + "[activation]\n[dropout]\n[dropout]\ndropblock=1\n[connected]\noutput=100\n", width=8
    )
    assert list(made.blueprint.table())[-1] == "avg_outputs = 128 "
