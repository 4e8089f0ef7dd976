"""Every cfg of the reference that has heads or classes, for other classes and back."""

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.cfg.adapt_feed import Layers
from darkpy.cfg.adapt_lines import Sheet
from darkpy.cfg.options import Options
from darkpy.cfg.text import Section, parse_sections
from darkpy.errors import CfgError
from darkpy.network import Blueprint, plan_network

pytestmark = pytest.mark.reference

HEADS = ("yolo", "Gaussian_yolo", "region", "detection")
DETECTORS = 84  # cfg files with heads among the reference's, the models' and the data sets'
CLASSES = (1, 3, 80)
WITHOUT_CLASSES = {
    *("crnn.train.cfg", "gru.cfg", "lstm.train.cfg", "rnn.cfg", "rnn.train.cfg"),  # they read no pictures
    *("go.test.cfg", "writing.cfg"),  # one answer for each cell
    *("jnet-conv.cfg", "vgg-conv.cfg"),  # no end
}
MASKS_BEYOND_NUM = "cspx-p7-mish.cfg"  # num=16, masks up to 19, 20 anchors
COMMA_MISSING = "cspx-p7-mish_hp.cfg"  # "61,45    61,45": without blanks that is an anchor of 61 x 4561, and 31 numbers


def texts(shared: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each cfg."""
    for folder in ("cfg-reference", "models", "data"):
        for path in sorted((shared / folder).rglob("*.cfg")):
            yield str(path.relative_to(shared)), os.fsdecode(path.read_bytes())


def sections(text: str) -> list[Section]:
    """The sections of a text."""
    return parse_sections(text.replace("\r\n", "\n").split("\n"), "x.cfg")


def content(text: str) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Kinds, keys and values."""
    return [(section.kind, [(entry.key, entry.value) for entry in section.entries]) for section in sections(text)]


def loaded(text: str) -> Blueprint | str:
    """The network, or what is said of it where it does not load."""
    try:
        return plan_network(sections(text), Path("x.cfg"))
    except CfgError as complaint:
        return str(complaint)


def number(section: Section, key: str, default: int) -> int:
    """A whole number of a section."""
    entry = section.find(key)
    return default if entry is None or entry.value is None else int(entry.value.partition("#")[0])


def needed(head: Section) -> int:
    """The width that the layer before a head must have, by the formulas of the format's description."""
    classes, num = number(head, "classes", 20), number(head, "num", 1)
    mask = head.find("mask")
    boxes = mask.value.count(",") + 1 if mask and mask.value else num
    if head.kind == "detection":
        return number(head, "side", 7) ** 2 * (classes + num * (1 + number(head, "coords", 1)))
    beside = {"yolo": 5, "Gaussian_yolo": 9, "region": number(head, "coords", 4) + 1}[head.kind]
    return boxes * (classes + beside)


def heads_with_feeds(text: str) -> list[tuple[Section, Section]]:
    """Each head with the layer before it, which is a convolution or a connected layer in all these files."""
    found = sections(text)
    return [(head, feed) for feed, head in pairwise(found) if head.kind in HEADS]


def test_every_detector_is_among_them(shared: Path) -> None:
    assert sum(bool(heads_with_feeds(text)) for _, text in texts(shared)) == DETECTORS


@pytest.mark.slow
@pytest.mark.parametrize("classes", CLASSES)
def test_heads_of_every_detector_are_as_wide_as_they_need(shared: Path, classes: int) -> None:
    for name, text in texts(shared):
        pairs = heads_with_feeds(adapt(text, Wishes(classes=classes), path=name).text) if heads_with_feeds(text) else []
        for head, feed in pairs:
            assert number(head, "classes", 0) == classes, name
            width = number(feed, {"convolutional": "filters", "connected": "output"}[feed.kind], 1)
            assert width == needed(head), name


@pytest.mark.slow
@pytest.mark.parametrize("classes", CLASSES)
def test_what_loaded_loads_and_what_did_not_has_the_same_complaint(shared: Path, classes: int) -> None:
    for name, text in texts(shared):
        if not heads_with_feeds(text):
            continue
        before, after = loaded(text), loaded(adapt(text, Wishes(classes=classes), path=name).text)
        if isinstance(before, str):
            assert after == before, name
            continue
        assert isinstance(after, Blueprint), f"{name}: {after}"
        for old, new in zip(before.layers, after.layers, strict=True):
            assert new.kind == old.kind, name
            assert new.output[1:] == old.output[1:], name
            if new.kind == "yolo":
                assert new.inputs[0].channels == len(new.spec.rules.mask) * (classes + 5), name  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("classes", CLASSES)
def test_back_to_the_original_classes_is_the_original_text(shared: Path, classes: int) -> None:
    for name, text in texts(shared):
        heads = [head for head, _ in heads_with_feeds(text)]
        if not heads:
            continue
        there = adapt(text, Wishes(classes=classes), path=name).text
        back = adapt(there, Wishes(classes=number(heads[0], "classes", 20)), path=name).text
        assert content(back) == content(text), name
        assert back == text, name


@pytest.mark.slow
def test_the_present_classes_and_anchors_change_nothing(shared: Path) -> None:
    for name, text in texts(shared):
        heads = [head for head, _ in heads_with_feeds(text)]
        if not heads or name.endswith((MASKS_BEYOND_NUM, COMMA_MISSING)):
            continue
        if len({entry.value for head in heads if (entry := head.find("anchors"))}) > 1:
            continue  # no list of anchors is that of all heads
        classes = number(heads[0], "classes", 20)
        wishes = Wishes(classes=classes, anchors=None if heads[0].kind == "detection" else present(heads[0], text))
        assert adapt(text, wishes, path=name).text == text, name


def present(head: Section, text: str) -> tuple[tuple[float, float], ...]:
    """The anchors of a head in pixels."""
    entry = head.find("anchors")
    layers = Layers.of(Sheet(text, "x.cfg"))
    stride = layers.strides[[section.kind for section in layers.sections].index(head.kind)] or 1
    unit = float(stride) if head.kind == "region" else 1.0
    words = (entry.value if entry and entry.value else "").split(",")[: 2 * number(head, "num", 1)]
    values = [float(word) * unit for word in words]
    return tuple(zip(values[0::2], values[1::2], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 5, 6, 9, 20])
def test_other_anchors_leave_heads_as_wide_as_they_need(shared: Path, count: int) -> None:
    anchors = tuple((10.0 + size, 12.0 + size) for size in range(count))
    for name, text in texts(shared):
        heads = [head for head, _ in heads_with_feeds(text) if head.kind != "detection"]
        if not heads or (count < len(heads)):
            continue
        new = adapt(text, Wishes(anchors=anchors), path=name).text
        for head, feed in heads_with_feeds(new):
            assert number(head, "num", 1) == count, name
            assert number(feed, "filters", 1) == needed(head), name
        before, after = loaded(text), loaded(new)
        assert isinstance(after, Blueprint) or after == before, f"{name}: {after}"


def test_masks_beyond_num_are_mended_by_anchors(shared: Path) -> None:
    text = (shared / "cfg-reference" / MASKS_BEYOND_NUM).read_text(encoding="utf-8")
    anchors = tuple((10.0 + size, 12.0 + size) for size in range(20))
    heads = heads_with_feeds(adapt(text, Wishes(anchors=anchors), path="x.cfg").text)
    masks = [tuple(range(first, first + 4)) for first in range(0, 20, 4)]
    assert [Options(head).integers("mask") for head, _ in heads] == masks
    assert {number(head, "num", 1) for head, _ in heads} == {20}


@pytest.mark.slow
def test_strides_are_those_of_the_network(shared: Path) -> None:
    checked = 0
    for _name, text in texts(shared):
        network = loaded(text)
        if isinstance(network, str) or network.net.width % 64 or not heads_with_feeds(text):
            continue  # strides are asked for where there are anchors
        strides = Layers.of(Sheet(text, "x.cfg")).strides
        for layer, stride in zip(network.layers, strides, strict=True):
            assert layer.output.width == (1 if stride is None else network.net.width / stride)
            checked += 1
    assert checked > 1000


@pytest.mark.parametrize("classes", CLASSES)
def test_classifiers_change_their_last_layer_or_say_why_not(shared: Path, classes: int) -> None:
    for name, text in texts(shared):
        if heads_with_feeds(text):
            continue
        if Path(name).name in WITHOUT_CLASSES:
            with pytest.raises(CfgError, match=f"^{re.escape(name)}:"):
                adapt(text, Wishes(classes=classes), path=name)
            continue
        new = adapt(text, Wishes(classes=classes), path=name).text
        values = [dict(entries) for _, entries in content(new)]
        last = [found for found in values if "filters" in found or "output" in found][-1]
        assert last.get("output", last.get("filters")) == str(classes), name
