"""[yolo]: what is read, the head's output and its boxes. The loss is in test_yolo_loss.py."""

import math
from pathlib import Path

import pytest
import sections
import torch

from darkpy.errors import CfgError
from darkpy.layers._base import Shape, WrongChannels
from darkpy.layers._head import DataRule
from darkpy.layers.yolo import Yolo, YoloSpec
from darkpy.structures import NmsRule

VALUES: dict[str, object] = {
    "classes": 2,
    "num": 3,
    "mask": "1,2",
    "anchors": "10,14, 23,27, 37,58",
    "jitter": 0.1,
    "ignore_thresh": 0.7,
    "truth_thresh": 1,
}
EXAMPLE = (VALUES, (Shape(14, 2, 3),))


def spec(**changes: object) -> YoloSpec:
    made = sections.spec("yolo", {**VALUES, **changes})
    assert isinstance(made, YoloSpec)
    return made


def notes(**changes: object) -> list[str]:
    options = sections.options("yolo", {**VALUES, **changes})
    YoloSpec.parse(options)
    return options.notes


def head(**changes: object) -> Yolo:
    module = spec(**changes).build([Shape(14, 2, 3)])
    assert isinstance(module, Yolo)
    return module.eval()


def test_defaults() -> None:
    """As darknet's; the ones that it tells are told."""
    options = sections.options("yolo", {"anchors": "1,2"})
    made = YoloSpec.parse(options)
    rules = made.rules
    assert (rules.classes, rules.mask, rules.anchors) == (20, (0,), ((1.0, 2.0),))
    assert (rules.ignore_thresh, rules.truth_thresh, rules.iou_thresh, rules.iou_thresh_kind) == (0.5, 1.0, 1.0, "iou")
    assert (rules.iou_loss, rules.iou_normalizer, rules.obj_normalizer, rules.cls_normalizer) == ("mse", 0.75, 1.0, 1.0)
    assert (rules.delta_normalizer, rules.max_delta, rules.scale_x_y, rules.label_smooth_eps) == (1.0, None, 1.0, 0.0)
    assert (rules.new_coords, rules.objectness_smooth, rules.focal_loss) == (False, False, False)
    assert (rules.class_multipliers, rules.class_map, rules.show_details) == (None, None, True)
    assert made.nms_rule == NmsRule("default", 0.6)
    assert made.data_rule == DataRule(classes=20, jitter=0.2, resize=1.0, random=0.0, max_boxes=200)
    assert options.notes == [
        "classes: Using default '20'",
        "num: Using default '1'",
        "jitter: Using default '0.200000'",
        "ignore_thresh: Using default '0.500000'",
        "truth_thresh: Using default '1.000000'",
    ]


def test_what_the_loader_needs_is_read() -> None:
    assert spec(max=90, resize=1.5, random=1).data_rule == DataRule(2, 0.1, 1.5, 1.0, 90)


def test_missing_anchors_count_as_a_half_and_that_is_said() -> None:
    made = spec(anchors="10,14,23")
    assert made.rules.anchors == ((10.0, 14.0), (23.0, 0.5), (0.5, 0.5))
    line = "x.cfg:14: [yolo] anchors has 3 numbers, but num=3 needs 6: the missing ones count as 0.5."
    assert notes(anchors="10,14,23") == [line]


def test_anchors_beyond_num_are_not_read() -> None:
    assert spec(anchors="1,2,3,4,5,6,7,8").rules.anchors == ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))


def test_an_unknown_loss_is_iou_and_that_is_said() -> None:
    assert spec(iou_loss="eiou").rules.iou_loss == "iou"
    assert notes(iou_loss="eiou") == [
        "x.cfg:18: [yolo] iou_loss=eiou is unknown: iou is used, as in darknet. Did you mean iou?"
    ]


def test_an_unknown_nms_is_the_default_and_that_is_said() -> None:
    assert spec(nms_kind="softnms", beta_nms=0.3).nms_rule == NmsRule("default", 0.3)
    assert notes(nms_kind="softnms") == [
        "x.cfg:18: [yolo] nms_kind=softnms is unknown: default is used, as in darknet."
    ]


@pytest.mark.parametrize("key", ["embedding_layer", "track_history_size", "sim_thresh", "track_ciou_norm"])
def test_keys_of_tracking_have_no_effect_and_that_is_said(key: str) -> None:
    assert notes(**{key: 1}) == [f"x.cfg:18: [yolo] {key} has no effect in this version of darkpy."]


def test_rare_classes_count_more() -> None:
    """The largest counter over each one, at least 1, at most max_delta."""
    assert spec(counters_per_class="50, 200").rules.class_multipliers == (4.0, 1.0)
    assert spec(counters_per_class="0, 200", max_delta=30).rules.class_multipliers == (30.0, 1.0)


def test_announcements_are_darknets_lines() -> None:
    assert spec().announcements() == ()
    assert spec(counters_per_class="50,200", nms_kind="greedynms", beta_nms=0.6).announcements() == (
        " classes_multipliers: 4.0, 1.0",
        "nms_kind: greedynms (1), beta = 0.600000 ",
    )


def test_a_map_file_joins_classes(tmp_path: Path) -> None:
    path = tmp_path / "two.map"
    path.write_text("1\r\n\r\n1\r\n", encoding="utf-8")
    assert spec(map=path).rules.class_map == (1, 1)


@pytest.mark.parametrize("word", ["2", "-1", "one", "\u00b2"])
def test_a_map_holds_classes_only(tmp_path: Path, word: str) -> None:
    path = tmp_path / "two.map"
    path.write_text(f"0\n{word}\n", encoding="utf-8")
    with pytest.raises(
        CfgError, match=rf"two\.map: '{word}' is no class of 0 to 1\. Write one class number on each line"
    ):
        spec(map=path)


def test_a_map_names_every_class(tmp_path: Path) -> None:
    path = tmp_path / "two.map"
    path.write_text("0\n", encoding="utf-8")
    with pytest.raises(CfgError, match=r"two\.map: 1 lines for 2 classes\. Write one class number on each line"):
        spec(map=path)


def test_a_missing_map_names_the_line_that_asks_for_it(tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:18: map: Couldn't open file: .*two\.map: not found"):
        spec(map=tmp_path / "two.map")


@pytest.mark.parametrize(("mask", "number"), [("1,3", 3), ("-1,0", -1)])
def test_a_mask_names_anchors_that_exist(mask: str, number: int) -> None:
    what = rf"x\.cfg:13: \[yolo\] mask={mask}: names anchor {number}, but num=3 has anchors 0 to 2\."
    line = rf"{what} Use masks of these, or raise num"
    with pytest.raises(CfgError, match=line):
        spec(mask=mask)


def test_one_counter_for_each_class() -> None:
    line = (
        r"x\.cfg:18: \[yolo\] counters_per_class=1,2,3: number of values in counters_per_class = 3 doesn't match "
        r"with classes = 2\. Give one counter"
    )
    with pytest.raises(CfgError, match=line):
        spec(counters_per_class="1,2,3")


def test_an_unknown_iou_thresh_kind_is_refused() -> None:
    with pytest.raises(CfgError, match=r"x\.cfg:18: \[yolo\] iou_thresh_kind=eiou: unknown value\. Use one of: iou, g"):
        spec(iou_thresh_kind="eiou")


def test_channels_must_fit_masks_and_classes() -> None:
    with pytest.raises(WrongChannels, match=r"needs 14 = 2 masks x \(2 classes \+ 5\)") as caught:
        spec().output_shape([Shape(13, 2, 3)])
    assert caught.value.needed == 14
    with pytest.raises(WrongChannels, match=r"needs 6 = 1 mask x \(1 class \+ 5\)"):
        spec(classes=1, mask=0).output_shape([Shape(13, 2, 3)])


def test_the_row_of_the_table() -> None:
    source = (Shape(14, 2, 3),)
    row = spec(iou_loss="ciou", iou_normalizer=0.07, scale_x_y=1.05).row(source, source[0])
    assert row == (
        "yolo\n[yolo] params: iou loss: ciou (4), iou_norm: 0.07, obj_norm: 1.00, cls_norm: 1.00, delta_norm: 1.00, "
        "scale_x_y: 1.05"
    )
    assert "iou loss: eiou (0)," in spec(iou_loss="eiou").row(source, source[0])


@pytest.mark.parametrize(
    ("loss", "printed"), [("mse", "mse"), ("giou", "giou"), ("iou", "iou"), ("diou", "iou"), ("ciou", "iou")]
)
def test_the_word_of_the_printed_loss(loss: str, printed: str) -> None:
    assert head(iou_loss=loss).loss_name == printed


def test_in_training_the_input_is_passed_on() -> None:
    x = sections.images(1, 14, 2, 3)
    assert head().train()(x) is x


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_what_is_activated(memory_format: torch.memory_format) -> None:
    """All entries but width and height; x and y are spread around their middle."""
    x = (sections.images(1, 14, 2, 3) - 0.5).to(memory_format=memory_format)
    output = head(scale_x_y=1.2)(x).view(2, 7, 6)
    raw = x.reshape(2, 7, 6)
    assert torch.allclose(output[:, :2], torch.sigmoid(raw[:, :2]) * 1.2 - 0.1)
    assert torch.equal(output[:, 2:4], raw[:, 2:4])
    assert torch.allclose(output[:, 4:], torch.sigmoid(raw[:, 4:]))


def test_new_coords_are_activated_already() -> None:
    x = sections.images(1, 14, 2, 3)
    output = head(scale_x_y=2, new_coords=1)(x).view(2, 7, 6)
    assert torch.allclose(output[:, :2], x.view(2, 7, 6)[:, :2] * 2 - 0.5)
    assert torch.equal(output[:, 2:], x.view(2, 7, 6)[:, 2:])


@pytest.mark.parametrize("new_coords", [0, 1])
def test_boxes_stand_cell_by_cell_then_by_mask(new_coords: int) -> None:
    output = sections.images(2, 14, 2, 3)
    boxes, objectness, scores = head(new_coords=new_coords).boxes(output, (96, 64))
    assert (boxes.shape, objectness.shape, scores.shape) == ((2, 12, 4), (2, 12), (2, 12, 2))
    for image, row, column, mask in ((0, 0, 0, 0), (0, 1, 2, 0), (1, 1, 0, 1), (1, 0, 1, 1)):
        x, y, w, h, o, *classes = output[image, 7 * mask : 7 * mask + 7, row, column].tolist()
        place = (row * 3 + column) * 2 + mask
        anchor = ((23, 27), (37, 58))[mask]
        size = (4 * w * w, 4 * h * h) if new_coords else (math.exp(w), math.exp(h))
        expected = ((column + x) / 3, (row + y) / 2, size[0] * anchor[0] / 96, size[1] * anchor[1] / 64)
        assert boxes[image, place].tolist() == pytest.approx(expected, rel=1e-5)
        assert objectness[image, place].item() == o
        assert scores[image, place].tolist() == classes


def test_the_loss_follows_the_network_size() -> None:
    """Anchors are pixels of the current input, so a larger network makes them relatively smaller."""
    module = head().train()
    x, truths = torch.zeros(1, 14, 2, 3), torch.tensor([[[0.5, 0.5, 0.2, 0.3, 0.0]]])
    small, large = (module.loss(x, truths, size) for size in ((96, 64), (192, 128)))
    assert small.average_iou != large.average_iou
    assert small.delta.shape == large.delta.shape == x.shape


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"jitter": 30}, r"jitter=30: must be at most 0.99"),
        ({"resize": 0.0001}, r"resize=0.0001: must be at least 0.1"),
        ({"resize": 20}, r"resize=20: must be at most 10"),
        ({"random": 30}, r"random=30: must be at most 10"),
        ({"max": 100000000}, r"max=100000000: must be at most 100000"),
        ({"num": 2000000000}, r"num=2000000000: must be at most 10000"),
        ({"anchors": "10,14, 23,-27, 37,58"}, r"-27 is no size. Write widths and heights above 0"),
    ],
)
def test_values_that_cannot_train_are_refused(changes: dict[str, object], match: str) -> None:
    with pytest.raises(CfgError, match=match):
        spec(**changes)
