"""`cfg check`: a mistake is said once, and hides no other."""

from pathlib import Path

import pytest
from clean_cfg import CLEAN, line_of, planted, write_cfg

from darkpy.checks.cfg_check import check_cfg
from darkpy.checks.cfg_heads import usual_classes
from darkpy.checks.cfg_survey import survey_cfg
from darkpy.diagnostics import Severity

LAST_CLASSES = ("classes=2\nnum=6\njitter=.3\nrandom=1\n", "classes=80\nnum=6\njitter=.3\nrandom=1\n")


def found(folder: Path, text: str) -> list[tuple[str, int | None, str | None]]:
    return [(one.code, one.line, one.expected) for one in check_cfg(write_cfg(folder, text))]


def test_a_size_that_misfits_hides_no_value_that_is_refused(tmp_path: Path) -> None:
    text = CLEAN.replace("width=96", "width=100").replace("decay=0.0005", "decay=much").replace("mosaic=1", "foo=1")
    assert found(tmp_path, text) == [
        ("size", line_of(text, "width=100"), "width=128"),
        ("value", line_of(text, "decay=much"), None),
        ("unknown-key", line_of(text, "foo=1"), None),
    ]


def test_a_size_that_misfits_hides_no_second_net(tmp_path: Path) -> None:
    text = CLEAN.replace("width=96", "width=100") + "batch=1\nsubdivisions=1\n"
    codes = [code for code, _, _ in found(tmp_path, text)]
    assert codes == ["size", "lost-net"]


def test_a_repeated_size_is_said_as_it_stands(tmp_path: Path) -> None:
    diagnostics = check_cfg(write_cfg(tmp_path, CLEAN.replace("width=96\n", "width=100\nwidth=96\n")))
    assert [one.code for one in diagnostics] == ["size", "duplicate-key"]
    assert "the first counts (100), this one (96) is ignored" in diagnostics[1].message


def test_a_head_with_other_classes_is_judged_by_those_of_the_others(tmp_path: Path) -> None:
    """Of a cfg whose last head was forgotten, classes and filters are named at once."""
    three = CLEAN + CLEAN[CLEAN.rindex("[convolutional]") :].replace("mask=0,1,2", "mask=0,1,2").replace("21", "255")
    last = three.rindex("classes=2")
    text = three[:last] + "classes=80" + three[last + len("classes=2") :]
    named = [one for one in found(tmp_path, text) if one[0] in ("classes", "filters")]
    assert named == [
        ("filters", line_of(text, "filters=255"), "filters=21"),
        ("classes", line_of(text, "classes=80"), "classes=2"),
    ]


def test_a_head_without_a_first_net_is_told_the_classes_of_the_others(tmp_path: Path) -> None:
    text = planted("classes=2", "classes=3").replace("[net]\n", "[history]\n", 1)
    assert ("classes", line_of(text, "classes=3"), "classes=2") in found(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("batch=64", "batch=-1", "value"),
        ("subdivisions=16", "subdivisions=0", "value"),
        ("num=6", "num=0", "value"),
        ("stride=8\n", "stride=8\nactivation=0\n", "value"),
        ("mosaic=1\n", "mosaic=yes\nmosaic_bound=1\n", "value"),
        ("burn_in=100\n", "burn_in=soon\npower=3\n", "value"),
        ("mosaic=1\n", "mosaic=1\nadam=yes\nB1=0.8\n", "value"),
        ("[route]\nlayers=-3\n", "[route]\nlayers=-3\ngroups=two\ngroup_id=1\n", "value"),
    ],
)
def test_nothing_is_said_of_what_rests_on_a_refused_value(old: str, new: str, code: str, tmp_path: Path) -> None:
    text = CLEAN.replace("stride=8\npad=1\nactivation=leaky", "stride=8\npad=1") if "activation" in new else CLEAN
    assert [one[0] for one in found(tmp_path, text.replace(old, new, 1))] == [code]


def test_of_the_layer_before_a_head_a_refused_activation_is_said_once(tmp_path: Path) -> None:
    assert [one[0] for one in found(tmp_path, planted("activation=linear", "activation=liner"))] == ["value"]


def test_a_refused_random_of_the_last_head_makes_no_other_value_idle(tmp_path: Path) -> None:
    text = planted("random=1", "random=often", count=2).replace("mosaic=1", "resize_step=32")
    assert [one[0] for one in found(tmp_path, text)] == ["value"]


def test_classes_that_are_no_number_are_not_taken_for_the_default(tmp_path: Path) -> None:
    assert usual_classes(survey_cfg(write_cfg(tmp_path, planted("classes=2", "classes=two", count=0)))) is None


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("burn_in=100", "burn_in=1e2", "burn_in=100"),
        ("burn_in=100", "burn_in=-1e2", "burn_in=-100"),
        ("steps=3200,3600", "steps=3e3,3600", None),  # of the list only one number is said
        ("burn_in=100", "burn_in=soon", None),
    ],
)
def test_a_refusal_says_what_to_write_where_that_is_one_value(
    old: str, new: str, right: str | None, tmp_path: Path
) -> None:
    assert found(tmp_path, planted(old, new)) == [("value", line_of(CLEAN, old), right)]


def test_a_stride_too_many_is_offered_beside_the_size(tmp_path: Path) -> None:
    """A head of stride 64 needs other sizes; the cause may as well be one stride=2 that should be 1."""
    text = planted("stride=8\n", "stride=16\n")
    (one,) = [one for one in check_cfg(write_cfg(tmp_path, text)) if one.code == "size"]
    assert one.message.endswith("Set width=64 or 128, or mend a layer's stride.")


def test_a_size_says_where_layers_misfit(tmp_path: Path) -> None:
    text = planted("width=96", "width=100")
    (one,) = check_cfg(write_cfg(tmp_path, text))
    line = line_of(text, "[route]", count=2)
    assert one.message.endswith(
        f"the stride of the coarsest head, or layers misfit at line {line}. Set width=96 or 128."
    )


@pytest.mark.parametrize(
    ("anchors", "count", "advice"),
    [
        ("4,4, 8,8, 12,12, 20,20, 30,30", 1, "Give 12."),  # the head's masks go up to 5
        ("4,4, 8,8, 12,12, 20,20, 30,30", 2, "Give 12, or set num=5."),
        ("4,4, 8,8, 12,12, 20,20, 30", 2, "Give 12."),
        ("", 2, "Give 12."),
    ],
)
def test_fewer_anchors_are_advised_only_where_they_suffice(
    anchors: str, count: int, advice: str, tmp_path: Path
) -> None:
    text = planted("anchors=4,4, 8,8, 12,12, 20,20, 30,30, 50,40", f"anchors={anchors}", count=count)
    (one,) = [one for one in check_cfg(write_cfg(tmp_path, text)) if one.code == "anchors"]
    assert one.message.endswith(f" count as 0.5 pixels. {advice}")


def test_a_pool_before_a_head_is_not_told_to_set_filters(tmp_path: Path) -> None:
    text = planted("[yolo]", "[maxpool]\nsize=2\nstride=1\n\n[yolo]").replace("filters=21", "filters=8", 1)
    (one,) = check_cfg(write_cfg(tmp_path, text.replace("layers=-3", "layers=-4")))
    assert (one.code, one.line, one.expected) == ("filters", line_of(text, "[maxpool]"), None)
    assert one.message.endswith("Put a [convolutional] between them, with filters=21.")


@pytest.mark.parametrize(("option", "marker"), [("", "[net]"), ("resize_step=32\n", "resize_step")])
def test_the_step_of_random_sizes_is_the_stride_of_the_coarsest_head(option: str, marker: str, tmp_path: Path) -> None:
    """At stride 64 the usual step of 32 draws sizes that do not fit, also where [net] does not say it."""
    text = CLEAN.replace("stride=8\n", "stride=16\n").replace("width=96", "width=128")
    text = text.replace("mosaic=1\n", f"mosaic=1\n{option}")
    (one,) = check_cfg(write_cfg(tmp_path, text))
    assert (one.severity, one.code, one.line) == (Severity.ERROR, "size", line_of(text, marker))
    assert one.expected == "resize_step=64"
    assert f"misfit at line {line_of(text, '[route]', count=2)}: [route] The width and height" in one.message
    assert one.message.endswith("set resize_step to a multiple of the network's stride, such as 64.")
    assert check_cfg(write_cfg(tmp_path, text.replace("mosaic=1\n" + option, "mosaic=1\nresize_step=64\n"))) == []


def test_where_no_usual_step_fits_none_is_advised(tmp_path: Path) -> None:
    """A stride of 3 makes the network's stride a multiple of 3."""
    text = CLEAN.replace("stride=8\n", "stride=3\n").replace("width=96", "width=192").replace("height=64", "height=192")
    (one,) = check_cfg(write_cfg(tmp_path, text.replace("mosaic=1\n", "mosaic=1\nresize_step=16\n")))
    assert (one.code, one.expected) == ("size", None)
    assert one.message.endswith("set resize_step to a multiple of the network's stride, or random=0.")


def test_a_head_that_does_not_say_its_classes_counts_less(tmp_path: Path) -> None:
    """Of two heads the last decides, unless it has the default of 20."""
    text = planted("classes=2\n", "", count=2)
    line = line_of(text, "[yolo]", count=2)
    assert found(tmp_path, text) == [("classes", line, "classes=2")]
    assert usual_classes(survey_cfg(write_cfg(tmp_path, CLEAN.replace("classes=2\n", "")))) == 20


@pytest.mark.parametrize("name", ["Net", "nett", "ne"])
def test_a_mistyped_net_is_one_error_and_hides_no_other(name: str, tmp_path: Path) -> None:
    text = CLEAN.replace("[net]", f"[{name}]").replace("filters=21", "filters=13", 1)
    assert found(tmp_path, text) == [
        ("section", 1, "[net]"),
        ("filters", line_of(text, "filters=13"), "filters=21"),
    ]


def test_anchors_are_held_against_the_size_that_the_cfg_has(tmp_path: Path) -> None:
    """Not against the size at which the layers are judged."""
    text = CLEAN.replace("width=96", "width=90").replace("50,40", "500,400")
    (one,) = [one for one in check_cfg(write_cfg(tmp_path, text)) if one.line == line_of(text, "500,400", count=2)]
    assert "1 of 6 anchors are larger than the network (90x64 pixels)" in one.message


@pytest.mark.parametrize(("anchor", "is_large"), [("97,65", True), ("97,64", False), ("96,65", False)])
def test_an_anchor_is_too_large_beyond_both_sides_of_the_network(anchor: str, is_large: bool, tmp_path: Path) -> None:
    codes = [code for code, _, _ in found(tmp_path, CLEAN.replace("50,40", anchor))]
    assert codes == (["anchors"] if is_large else [])


@pytest.mark.parametrize(("iterations", "is_idle"), [(1, False), (3999, False), (4000, True)])
def test_stopbackward_up_to_the_end_is_said(iterations: int, is_idle: bool, tmp_path: Path) -> None:
    text = planted("stride=8\n", f"stride=8\nstopbackward={iterations}\n")
    assert [code for code, _, _ in found(tmp_path, text)] == (["no-effect"] if is_idle else [])


@pytest.mark.parametrize(
    ("layers", "words"), [(1, "no head. R"), (2, "with it, 1 before it does nothing"), (3, "2 before it do nothing")]
)
def test_layers_that_lead_nowhere_are_one_warning_with_their_number(layers: int, words: str, tmp_path: Path) -> None:
    more = "[convolutional]\nfilters=3\nsize=1\nactivation=leaky\n\n" * layers
    text = CLEAN.replace("[route]\nlayers=-3", f"{more}[route]\nlayers=2")
    (one,) = check_cfg(write_cfg(tmp_path, text))
    assert one.code == "unread-layer"
    assert words in one.message
    assert ("with it" in one.message) is (layers > 1)


def test_of_heads_with_a_smaller_stride_darknet_alone_asks_for_32(tmp_path: Path) -> None:
    text = CLEAN.replace("stride=8\n", "stride=2\n").replace("width=96", "width=88")
    (one,) = check_cfg(write_cfg(tmp_path, text.replace("random=1\n", "")))
    assert (one.severity, one.line, one.expected) == (Severity.WARNING, 4, "width=96")
    assert one.message == (
        "[net] width=88: must be a multiple of 32, as darknet asks of every detector. Set width=64 or 96."
    )


def test_a_size_that_misfits_and_other_classes_are_both_said_once(tmp_path: Path) -> None:
    text = planted("classes=2", "classes=3").replace("width=96", "width=100")
    assert found(tmp_path, text) == [
        ("size", line_of(text, "width=100"), "width=128"),
        ("classes", line_of(text, "classes=3"), "classes=2"),
    ]
