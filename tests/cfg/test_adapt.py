"""What adapting a cfg does to its text, and the laws it keeps."""

import difflib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.cfg.text import Section, parse_sections
from darkpy.errors import CfgError

CFG = """\
# a detector of two heads
[net]
batch=64        # images
subdivisions = 8
width=416
height=416
channels=3
max_batches = 500200
policy=steps
steps=400000,450000
scales=.1,.1

[convolutional]
filters=32
size=3
stride=32

[convolutional]
filters = 255   # 3 * (80 + 5)
size=1
activation=linear

[yolo]
mask = 3,4,5
anchors = 10,14,  23,27,  37,58,  81,82,  135,169,  344,319
classes=80
num=6

[route]
layers=0

[convolutional]
size=1
filters=255
activation=linear

[yolo]
mask = 0,1,2
anchors = 10,14,  23,27,  37,58,  81,82,  135,169,  344,319
classes = 80 ; of COCO
num=6
"""
ANCHORS = ((10.0, 14.0), (23.0, 27.0), (37.0, 58.0), (81.0, 82.0), (135.0, 169.0), (344.0, 319.0))
PRESENT = Wishes(
    classes=80, width=416, height=416, channels=3, anchors=ANCHORS, max_batches=500200, batch=64, subdivisions=8
)


def changed(text: str, wishes: Wishes) -> list[str]:
    """The lines that a wish takes away and adds, with their signs."""
    lines = difflib.unified_diff(text.split("\n"), adapt(text, wishes, path="x.cfg").text.split("\n"), n=0, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@")]


def sections(text: str) -> list[Section]:
    """The sections of a text."""
    return parse_sections(re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")), "x.cfg")


def test_classes_change_heads_and_the_filters_before_them_and_nothing_else() -> None:
    assert changed(CFG, Wishes(classes=3)) == [
        "-filters = 255   # 3 * (80 + 5)",
        "+filters = 24   # 3 * (80 + 5)",
        "-classes=80",
        "+classes=3",
        "-filters=255",
        "+filters=24",
        "-classes = 80 ; of COCO",
        "+classes = 3 ; of COCO",
    ]


def test_a_training_of_another_length_has_its_steps_at_80_and_90_percent() -> None:
    assert changed(CFG, Wishes(max_batches=6000)) == [
        "-max_batches = 500200",
        "+max_batches = 6000",
        "-steps=400000,450000",
        "+steps=4800,5400",
    ]


def test_size_and_batch_are_written_into_net() -> None:
    wishes = Wishes(width=320, height=256, channels=1, batch=32, subdivisions=4)
    assert changed(CFG, wishes) == [
        "-batch=64        # images",
        "-subdivisions = 8",
        "-width=416",
        "-height=416",
        "-channels=3",
        "+batch=32        # images",
        "+subdivisions = 4",
        "+width=320",
        "+height=256",
        "+channels=1",
    ]


def test_as_many_anchors_as_before_keep_masks_and_filters() -> None:
    other = tuple((width + 1, height) for width, height in ANCHORS)
    line = "anchors = 11,14,  24,27,  38,58,  82,82,  136,169,  345,319"
    assert [new for new in changed(CFG, Wishes(anchors=other)) if new[0] == "+"] == ["+" + line] * 2


def test_more_anchors_are_shared_out_and_num_mask_and_filters_follow() -> None:
    new = [line for line in changed(CFG, Wishes(anchors=(*ANCHORS, (400, 400), (401, 401)))) if line[0] == "+"]
    anchors = "+anchors = 10,14,  23,27,  37,58,  81,82,  135,169,  344,319,  400,400,  401,401"
    assert new == [
        "+filters = 340   # 3 * (80 + 5)",
        "+mask = 4,5,6,7",
        anchors,
        "+num=8",
        "+filters=340",
        "+mask = 0,1,2,3",
        anchors,
        "+num=8",
    ]


def test_the_present_values_change_nothing() -> None:
    adapted = adapt(CFG, PRESENT, path="x.cfg")
    assert (adapted.text, adapted.notes) == (CFG, ())


def test_wrong_filters_are_mended_though_the_classes_stay() -> None:
    wrong = CFG.replace("filters=255", "filters=18")
    assert adapt(wrong, Wishes(classes=80), path="x.cfg").text == CFG


def test_no_wish_is_no_change() -> None:
    assert adapt(CFG, Wishes(), path="x.cfg").text == CFG


@pytest.mark.parametrize(
    "wishes",
    [
        Wishes(classes=0),
        Wishes(width=-32),
        Wishes(anchors=()),
        Wishes(anchors=((1, 0),)),
        Wishes(anchors=((1, 1e999),)),
    ],
)
def test_a_wish_that_is_no_size_is_the_callers_mistake(wishes: Wishes) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        adapt(CFG, wishes, path="x.cfg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width=3\n[net]\n", "stands before the first section"),
        ("", "no sections"),
        ("[yolo]\nclasses=3\n", r"x.cfg:1: First section must be \[net\]"),
        ("[net]\nwidth=3\n", r"\[net\] alone is no network"),
        ("[net]\0\n[yolo]\n", "it is no text"),
    ],
)
def test_what_is_no_cfg_is_refused(text: str, message: str) -> None:
    with pytest.raises(CfgError, match=message):
        adapt(text, Wishes(classes=3), path="x.cfg")


HEADS = ("yolo", "Gaussian_yolo", "region")
NUMBERS = {"yolo": 5, "Gaussian_yolo": 9, "region": 5}  # of a box beside its classes
EQUALS = st.sampled_from(["=", " = ", "= ", "\t=\t"])
ENDS = st.sampled_from(["", " ", "  # a note", "\t#32", " ; x"])
FILLERS = st.sampled_from([[], [""], ["# a comment, = and [yolo]"], ["; another", ""]])


@st.composite
def cfgs(draw: st.DrawFn) -> tuple[str, int]:
    """A detector in any layout, and its number of classes."""
    classes = draw(st.integers(1, 90))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines = [*draw(FILLERS), "[net]", "width=64", "height=64", "channels=3"]
    for kind in draw(st.lists(st.sampled_from(HEADS), min_size=1, max_size=3)):
        num = draw(st.integers(1, 4))
        options = {"filters": str(num * (classes + NUMBERS[kind])), "size": "1", "activation": "linear"}
        head = {"classes": str(classes), "num": str(num), "anchors": ",".join(["8,9"] * num), "coords": "4"}
        for name, values in (("convolutional", options), (kind, head)):
            lines += [*draw(FILLERS), f"[{name}]"]
            for key in draw(st.permutations(sorted(values))):
                lines += [key + draw(EQUALS) + values[key] + draw(ENDS), *draw(FILLERS)]
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    return draw(st.sampled_from(["", "\ufeff"])) + text, classes


@settings(max_examples=60)
@given(cfgs(), st.integers(1, 90))
def test_adapting_twice_is_adapting_once(cfg: tuple[str, int], classes: int) -> None:
    once = adapt(cfg[0], Wishes(classes=classes), path="x.cfg").text
    assert adapt(once, Wishes(classes=classes), path="x.cfg").text == once


@settings(max_examples=60)
@given(cfgs())
def test_adapting_to_the_present_classes_changes_nothing(cfg: tuple[str, int]) -> None:
    assert adapt(cfg[0], Wishes(classes=cfg[1]), path="x.cfg").text == cfg[0]


@settings(max_examples=60)
@given(cfgs(), st.integers(1, 90))
def test_adapting_there_and_back_gives_every_character_back(cfg: tuple[str, int], classes: int) -> None:
    there = adapt(cfg[0], Wishes(classes=classes), path="x.cfg").text
    assert adapt(there, Wishes(classes=cfg[1]), path="x.cfg").text == cfg[0]


@settings(max_examples=60)
@given(cfgs(), st.integers(1, 90))
def test_only_the_values_of_filters_and_classes_change(cfg: tuple[str, int], classes: int) -> None:
    text, _ = cfg
    new = adapt(text, Wishes(classes=classes), path="x.cfg").text
    option = re.compile(r"((?:filters|classes)[ \t]*=[ \t]*)\d+")
    assert option.sub(r"\1N", new) == option.sub(r"\1N", text)


@settings(max_examples=60)
@given(cfgs(), st.integers(1, 90))
def test_each_head_gets_the_channels_it_needs(cfg: tuple[str, int], classes: int) -> None:
    made = sections(adapt(cfg[0], Wishes(classes=classes), path="x.cfg").text)
    for feeding, head in zip(made[1::2], made[2::2], strict=True):
        values = {entry.key: entry.value for entry in (*feeding.entries, *head.entries)}
        filters, num = (int(re.match(r"\d+", values[key] or "")[0]) for key in ("filters", "num"))  # type: ignore[index]
        assert filters == num * (classes + NUMBERS[head.kind])


@settings(max_examples=60)
@given(cfgs(), st.integers(1, 40))
def test_new_anchors_leave_a_cfg_that_agrees_with_itself(cfg: tuple[str, int], count: int) -> None:
    anchors = tuple((float(8 + size), float(8 + size)) for size in range(count + 2))
    new = adapt(cfg[0], Wishes(anchors=anchors), path="x.cfg").text
    assert adapt(new, Wishes(anchors=anchors), path="x.cfg").text == new
    masks = []
    for feeding, head in zip(sections(new)[1::2], sections(new)[2::2], strict=True):
        values = {entry.key: (entry.value or "").partition("#")[0] for entry in (*feeding.entries, *head.entries)}
        mask = [int(place) for place in values["mask"].split(",")] if "mask" in values else list(range(len(anchors)))
        number = int(values["num"].partition(";")[0])
        boxes = len(mask)
        assert number == len(anchors)
        assert values["anchors"].partition(";")[0].count(",") == 2 * number - 1
        assert int(values["filters"].partition(";")[0]) == boxes * (cfg[1] + NUMBERS[head.kind])
        masks += mask if head.kind != "region" else []
    assert not masks or sorted(set(masks)) == list(range(len(anchors)))
