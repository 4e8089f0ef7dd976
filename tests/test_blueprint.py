"""cfg text -> blueprint: what is read as darknet reads it, and the one line for what does not fit together."""

from collections.abc import Callable
from pathlib import Path

import pytest

from darkpy.cfg.shipped import shipped_folder
from darkpy.errors import CfgError
from darkpy.layers._base import Shape
from darkpy.network import Blueprint, read_blueprint

NET = (
    "[net]\nbatch=8\nwidth=32\nheight=32\nchannels=3\n"
    "max_batches=10\nlearning_rate=.001\nmomentum=.9\ndecay=0\npolicy=constant\n"
)
CONV = "[convolutional]\nfilters={}\nsize=1\nstride=1\npad=1\nactivation=linear\n"
YOLO = "[yolo]\nclasses={}\nmask={}\nnum=9\nanchors=1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,9,9\njitter=.1\n"
Read = Callable[[str], Blueprint]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def from_text(text: str) -> Blueprint:
        path = tmp_path / "x.cfg"
        path.write_text(text, encoding="utf-8")
        return read_blueprint(path)

    return from_text


def test_a13_a_convolution_needs_only_filters_and_size(read: Read) -> None:
    """A13: stride 1, pad 0, logistic, no batch norm: 8x8 gives 6x6."""
    (conv,) = read(NET.replace("32", "8") + "[convolutional]\nfilters=8\nsize=3\n").layers
    assert conv.output == Shape(8, 6, 6)
    spec = conv.spec
    assert (spec.stride_x, spec.stride_y, spec.pad, spec.activation, spec.batch_normalize) == (
        1,
        1,
        0,
        "logistic",
        False,
    )
    assert conv.notes == ("stride: Using default '1'", "activation: Using default 'logistic'")


@pytest.mark.parametrize(
    ("short", "long"),
    [("[conv]", "[convolutional]"), ("[max]", "[maxpool]"), ("[avg]", "[avgpool]"), ("[network]", "[net]")],
)
def test_a14_short_section_names_are_the_long_ones(read: Read, short: str, long: str) -> None:
    """A14: other spellings of section names."""
    text = NET + CONV.format(4) + "[maxpool]\nsize=2\nstride=2\n[avgpool]\n"
    given, same = read(text.replace(long, short)), read(text)
    assert [layer.kind for layer in given.layers] == [layer.kind for layer in same.layers]
    assert [layer.output for layer in given.layers] == [layer.output for layer in same.layers]


def test_a15_a_cost_at_the_end_stays_one(read: Read) -> None:
    """A15."""
    last = read(NET + CONV.format(4) + "[cost]\ntype=sse\n").layers[-1]
    assert last.kind == "cost"
    assert last.spec.type == "sse"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("short", "line"), [("[gru]", r"\[gru\]"), ("[contrastive]", r"\[contrastive\]"), ("[history]", r"\[history\]")]
)
def test_sections_of_later_versions_are_refused_by_name(read: Read, short: str, line: str) -> None:
    with pytest.raises(
        CfgError, match=rf"x\.cfg:17: {line} is not supported in this version of darkpy\. Supported: .*conv"
    ):
        read(NET + CONV.format(4) + short + "\n")


def test_unknown_sections_offer_the_nearest(read: Read) -> None:
    with pytest.raises(
        CfgError, match=r"x\.cfg:11: Type not recognized: \[Convolutional\]\. Did you mean \[convolutional\]\?$"
    ):
        read(NET + "[Convolutional]\nfilters=1\n")
    with pytest.raises(CfgError, match=r"x\.cfg:11: Type not recognized: \[zzzz\]\. Use one of: .*yolo\.$"):
        read(NET + "[zzzz]\n")


def test_the_first_section_must_be_net(read: Read) -> None:
    with pytest.raises(
        CfgError, match=r"x\.cfg:1: First section must be \[net\] or \[network\], but it is \[conv\]\. Put"
    ):
        read("[conv]\nfilters=1\n" + NET)


def test_net_alone_is_no_network(read: Read) -> None:
    with pytest.raises(CfgError, match=r"x\.cfg: \[net\] alone is no network\. Add layer sections"):
        read(NET)


def test_a27_a_second_net_section_is_an_error(read: Read) -> None:
    with pytest.raises(
        CfgError, match=r"x\.cfg:17: a second \[net\]: two cfg files in one\? Keep one \[net\], at the top\.$"
    ):
        read(NET + CONV.format(4) + NET)


def test_a27_two_files_glued_together_are_noticed_at_the_seam(read: Read) -> None:
    """A27: the second file's [net] line is lost, so its options stand in the last [yolo]."""
    text = NET + CONV.format(21) + YOLO.format(2, "0,1,2") + NET.removeprefix("[net]\n") + CONV.format(4)
    with pytest.raises(
        CfgError, match=r"x\.cfg:23: 'batch' and 'width' belong to \[net\] but stand in the \[yolo\] of line 17"
    ):
        read(text)


def test_a18_route_0_is_the_first_layer(read: Read) -> None:
    """A18: layers=0 at layer 5 reads layer 0, not the picture and not layer 5."""
    route = read(NET + "".join(CONV.format(n) for n in range(1, 6)) + "[route]\nlayers=0\n").layers[5]
    assert route.sources == (0,)
    assert route.output == Shape(1, 32, 32)


def test_a04_comments_behind_route_sources(read: Read) -> None:
    """A04: ``3 ###P6`` and ``-1, 2 ###S4`` at layer 10."""
    convs = "".join(CONV.format(n) for n in range(1, 11))
    assert read(NET + convs + "[route]\nlayers = 3 ###P6\n").layers[10].sources == (3,)
    assert read(NET + convs + "[route]\nlayers = -1, 2 ###S4\n").layers[10].sources == (9, 2)


def test_a28_route_of_two_sizes_names_layers_and_sizes(read: Read) -> None:
    """A28: 26x26 and 13x13 cannot be joined."""
    text = NET.replace("32", "26") + CONV.format(4) + "[maxpool]\nsize=2\nstride=2\n[route]\nlayers=0,1\n"
    with pytest.raises(CfgError, match=r"x\.cfg:20: .*layer 0\b.*26x26.*layer 1\b.*13x13"):
        read(text)


@pytest.mark.parametrize(
    ("case", "filters", "classes", "mask", "needed"),
    [
        ("A22", 13, 5, "0,1,2", "30 = 3 masks x (5 classes + 5)"),
        ("A23", 60, 7, "3,4,5", "36 = 3 masks x (7 classes + 5)"),
    ],
)
def test_a22_a23_filters_must_fit_the_head(
    read: Read, case: str, filters: int, classes: int, mask: str, needed: str
) -> None:
    with pytest.raises(CfgError) as caught:
        read(NET + CONV.format(filters) + YOLO.format(classes, mask))
    line = str(caught.value)
    assert line.endswith(
        f"x.cfg:12: [convolutional] filters={filters}, but [yolo] at line 17 needs {needed}. Set filters={needed[:2]}."
    ), case
    assert "\n" not in line


def test_a26_without_mask_all_anchors_count(read: Read) -> None:
    """A26: num=3, classes=2 needs 21 filters."""
    head = "[yolo]\nclasses=2\nnum=3\nanchors=1,1,2,2,3,3\njitter=.1\n"
    assert read(NET + CONV.format(21) + head).layers[1].spec.rules.mask == (0, 1, 2)
    with pytest.raises(CfgError, match=r"needs 21 = 3 masks"):
        read(NET + CONV.format(18) + head)


def test_a29_anchors_keep_their_fractions(read: Read) -> None:
    """A29: anchors need not be whole numbers."""
    head = "[yolo]\nclasses=1\nnum=1\nanchors=1.3221, 1.73145\njitter=.1\n"
    assert read(NET + CONV.format(6) + head).layers[1].spec.rules.anchors == ((1.3221, 1.73145),)


def test_a36_unknown_keys_warn_with_line_and_hint(read: Read) -> None:
    """A36: an unknown key never stops."""
    (conv,) = read(NET + CONV.format(4) + "foo=1\nfilter=5\n").layers
    assert [note.partition("x.cfg")[2] for note in conv.notes] == [
        ":17: Unused field: 'foo = 1'.",
        ":18: Unused field: 'filter = 5'. Did you mean 'filters'?",
    ]


def test_a36_keys_of_yolov4_are_obeyed(read: Read) -> None:
    """A36: max_delta, resize, objectness_smooth, obj_normalizer, new_coords, stopbackward, group_id."""
    head = YOLO.format(2, "0,1,2") + "max_delta=2\nresize=1.5\nobjectness_smooth=1\nobj_normalizer=0.4\nnew_coords=1\n"
    convs = CONV.format(4) + "stopbackward=800\n[route]\nlayers=-1\ngroups=2\ngroup_id=1\n" + CONV.format(21)
    layers = read(NET + convs + head).layers
    assert layers[0].common.stopbackward == 800
    assert layers[1].output == Shape(2, 32, 32)
    rules = layers[3].spec.rules
    assert (rules.max_delta, rules.objectness_smooth, rules.obj_normalizer, rules.new_coords) == (2.0, True, 0.4, True)
    assert layers[3].spec.data_rule.resize == 1.5
    assert all(not layer.notes for layer in layers if layer.index != 3)


def test_e14_a_size_that_is_no_multiple_of_32_is_noted(read: Read) -> None:
    """E14: width=410."""
    blueprint = read(NET.replace("width=32", "width=410") + CONV.format(21) + YOLO.format(2, "0,1,2"))
    assert "width=410 and height=32" in blueprint.notes[-1]
    assert "divisible by 32" in blueprint.notes[-1]


def test_a37_nothing_depends_on_the_file_name(tmp_path: Path) -> None:
    """A37: yolov4-tiny.cfg saved as a.cfg and as yolov3-x.cfg."""
    text = (shipped_folder("cfg") / "yolov4-tiny.cfg").read_bytes()
    tables = []
    for name in ("a.cfg", "yolov3-x.cfg"):
        (tmp_path / name).write_bytes(text)
        tables.append(list(read_blueprint(tmp_path / name).table()))
    assert tables[0] == tables[1]
