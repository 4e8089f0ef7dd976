import pytest
from sections import INDEX, spec

from darkpy.blueprint import LayerPlan
from darkpy.layers._base import Shape
from darkpy.layers._common import CommonOptions
from darkpy.report.graph_words import family, head_details, printable, row_text, text_width, tooltip

YOLO = {"mask": "1,2", "anchors": "4,5, 6.5,7, 8,9", "num": 3, "classes": 1, "jitter": 0.1, "random": 0}


def plan(kind: str, *, inputs: Shape | None = None, **values: object) -> LayerPlan:
    made = spec(kind, values)
    shapes = (inputs or Shape(8, 16, 16),)
    return LayerPlan(
        index=INDEX,
        kind=made.kind,  # type: ignore[attr-defined]
        where=f"x.cfg:10: [{kind}]",
        spec=made,
        common=CommonOptions(learning_rate=1.0, stopbackward=0),
        sources=made.sources(INDEX),
        inputs=shapes,
        output=shapes[0],
        notes=(),
    )


def conv(**values: object) -> LayerPlan:
    return plan("convolutional", **{"filters": 8, "size": 3, "stride": 1, "pad": 1, "activation": "linear", **values})


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (conv(), "conv 3x3"),
        (conv(stride=2, activation="mish"), "conv 3x3 /2 mish"),
        (conv(stride_x=2, stride_y=1), "conv 3x3 /2x1"),
        (conv(groups=4), "conv 3x3 groups 4"),
        (conv(groups=8), "conv 3x3 depthwise"),
        (conv(dilation=2), "conv 3x3 dilated 2"),
        (plan("maxpool", size=2, stride=2), "max 2x2 /2"),
        (plan("maxpool", maxpool_depth=1, out_channels=4, stride=1), "max over channels"),
        (plan("avgpool"), "avgpool"),
        (plan("route", layers="-1,2"), "route 4, 2"),
        (plan("route", layers=-1, groups=2, group_id=1), "route 4 part 2 of 2"),
        (plan("shortcut", **{"from": -3, "activation": "leaky"}), "shortcut 2 leaky"),
        (plan("scale_channels", **{"from": 1}), "scale_channels 1"),
        (plan("upsample", stride=2), "upsample 2x"),
        (plan("upsample", stride=-2), "upsample 1/2x"),
        (plan("dropout", probability=0.5), "dropout 0.5"),
        (plan("yolo", **YOLO), "yolo 1 class"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_row_says_what_the_layer_does(layer: LayerPlan, text: str) -> None:
    assert row_text(layer) == text


def test_a_repeated_row_does_not_name_its_sources() -> None:
    assert row_text(plan("shortcut", **{"from": -3, "activation": "linear"}), names_sources=False) == "shortcut"


def test_a_long_row_is_shortened() -> None:
    text = row_text(plan("route", layers=",".join("01234" * 4)))
    assert (len(text), text[-1]) == (34, "…")


@pytest.mark.parametrize(
    ("kind", "values", "name"),
    [
        ("convolutional", {}, "conv"),
        ("maxpool", {"size": 2, "stride": 2}, "pool"),
        ("route", {"layers": 0}, "route"),
        ("shortcut", {"from": 0}, "shortcut"),
        ("upsample", {"stride": 2}, "upsample"),
        ("yolo", YOLO, "head"),
        ("dropout", {}, "other"),
    ],
)
def test_family_is_the_colour(kind: str, values: dict[str, object], name: str) -> None:
    assert family(plan(kind, **values)) == name


def test_head_shows_its_masks_and_their_anchors() -> None:
    assert head_details(plan("yolo", **YOLO)) == ("mask 1, 2 of 3 anchors:", "6.5x7, 8x9")


def test_many_anchors_take_several_lines() -> None:
    values = {**YOLO, "mask": "0,1,2,3", "num": 4, "anchors": "1,2,3,4,5,6,7,8"}
    assert head_details(plan("yolo", **values)) == ("mask 0, 1, 2, 3 of 4 anchors:", "1x2, 3x4, 5x6", "7x8")


def test_a_head_without_anchors_shows_none() -> None:
    assert head_details(conv()) == ()


def test_tooltip_names_each_place_in_the_cfg_and_the_table_row() -> None:
    text = tooltip([conv(), conv()])
    assert text.splitlines() == [
        "5  x.cfg:10: [convolutional]",
        "5  x.cfg:10: [convolutional]",
        "conv 8 3 x 3/ 1 16 x 16 x 8 -> 16 x 16 x 8 0.000 BF",
    ]


def test_what_xml_cannot_hold_becomes_a_question_mark() -> None:
    assert printable("a\x00\x1b\udcffä<&\nb\t") == "a???ä<&\nb?"


@pytest.mark.parametrize(
    ("text", "width_em"),
    [  # as DejaVu Sans draws them, the widest of the fonts: its advance widths
        ("conv 3x3 /2 mish", 8.586),
        ("shortcut: adds; scale_channels: multiplies", 20.951),
        ("1234567890", 6.363),
        ("WWW mmm @@@", 9.525),
        ("608 x 608", 5.046),
        ("路径", 2.0),
    ],
)
def test_a_text_is_never_wider_than_said(text: str, width_em: float) -> None:
    assert width_em * 10 <= text_width(text, 10) < width_em * 10 * 1.3
