"""Boxes that no head learns (darkpy/checks/data_masks.py)."""

from pathlib import Path

import numpy as np
import pytest
from clean_data import add, checked, found, message, write_clean_set

from darkpy.checks.data_advice import quick_anchor_diagnostics
from darkpy.checks.data_masks import HeadAnchors, new_masks, unlearnt_boxes, unlearnt_diagnostics
from darkpy.checks.data_network import read_network

ANCHORS = np.array([(4.0, 4.0), (16.0, 22.0), (19.0, 26.0), (40.0, 40.0)])
SMALL, LARGE = "0 .5 .5 .07 .07\n", "1 .5 .5 .3 .4\n"
CFG_HEAD = """
[yolo]
mask={mask}
anchors=4,4, 16,22, 19,26, 40,40
classes=2
num=4
iou_thresh={iou_thresh}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_clean_set()
    return tmp_path


def write_net(mask: str, *, iou_thresh: float = 1) -> None:
    """Write a cfg with one head of two of four anchors."""
    before = Path("net.cfg").read_text().partition("[yolo]")[0]
    Path("net.cfg").write_text(before + CFG_HEAD.format(mask=mask, iou_thresh=iou_thresh))


def heads(*masks: tuple[int, ...], iou_thresh: float = 1) -> list[HeadAnchors]:
    return [HeadAnchors(ANCHORS, mask, iou_thresh) for mask in masks]


def test_a_box_whose_best_anchor_has_no_head_is_not_learnt() -> None:
    sides = np.array([(4.0, 5.0), (17.0, 21.0), (50.0, 50.0)])
    assert unlearnt_boxes(sides, heads((1, 2), (3,))).tolist() == [True, False, False]
    assert unlearnt_boxes(sides, heads((0,))).tolist() == [False, True, True]
    assert unlearnt_boxes(np.zeros((0, 2)), heads((0,))).tolist() == []


def test_a_lower_iou_thresh_gives_a_box_to_other_anchors_too() -> None:
    sides = np.array([(18.9, 25.9), (4.0, 4.0)])  # IoU of the first with 16 x 22 is 0.72
    assert unlearnt_boxes(sides, heads((1,))).tolist() == [True, True]
    assert unlearnt_boxes(sides, heads((1,), iou_thresh=0.7)).tolist() == [False, True]
    assert unlearnt_boxes(sides, heads((1,), iou_thresh=0.73)).tolist() == [True, True]


def test_new_masks_follow_the_size_of_the_heads_anchors_and_the_order_of_the_list() -> None:
    areas = ANCHORS.prod(axis=1).tolist()
    assert new_masks(heads((2, 3), (1, 2)), areas) == ("2,3", "0,1")
    assert new_masks(heads((1, 2), (2, 3)), areas) == ("0,1", "2,3")
    assert new_masks(heads((2, 3), (1, 2)), areas[::-1]) == ("0,1", "2,3")
    assert new_masks(heads((1, 2, 3)), areas) == ()  # a fourth anchor needs other filters
    assert new_masks(heads((2, 3), (1, 2)), areas[:3]) == ()


@pytest.mark.parametrize(("lost", "others", "is_said"), [(5, 0, True), (4, 0, False), (5, 495, False), (6, 494, True)])
def test_few_boxes_are_not_worth_a_word(lost: int, others: int, is_said: bool) -> None:
    sides = np.array([(4.0, 4.0)] * lost + [(16.0, 22.0)] * others)
    classes = np.zeros(len(sides), np.int64)
    assert len(list(unlearnt_diagnostics(sides, classes, heads((1, 2)), path="net.cfg"))) == is_said


def test_most_of_a_rare_class_is_worth_one() -> None:
    sides = np.array([(4.0, 4.0)] * 5 + [(16.0, 22.0)] * 995)
    classes = np.array([1] * 5 + [0] * 995)
    (one,) = unlearnt_diagnostics(sides, classes, heads((1, 2)), path="net.cfg", names=["a", "b"])
    assert "5 of 1000 boxes to train on (0.5%)" in one.message
    assert "of class 1 ('b') 5 of 5" in one.message


@pytest.mark.usefixtures("folder")
def test_the_whole_check_names_numbers_class_and_mend() -> None:
    write_net("1,2")
    add("obj/t4.png", SMALL * 2)
    add("obj/t5.png", SMALL * 4 + LARGE)
    add("obj/v3.png", SMALL * 9, to="valid.txt")  # nobody trains on it
    text = message("unlearnt")
    assert text.startswith(
        "6 of 13 boxes to train on (46.2%) fit best an anchor that no head's mask names (0, 3), so no head learns "
        "them; of class 0 ('cat') 6 of 9. Write masks so that every anchor has a head"
    )
    assert text.endswith("; or run darkpy detector calc_anchors OBJ.data -cfg net.cfg.")


@pytest.mark.usefixtures("folder")
def test_anchors_are_suggested_with_masks_that_name_all_of_them() -> None:
    head = CFG_HEAD.format(mask="{}", iou_thresh=1)
    before = Path("net.cfg").read_text().partition("[yolo]")[0]
    second = before[before.rindex("[convolutional]") :]
    Path("net.cfg").write_text(before + head.format("2,3") + "[route]\nlayers=-3\n" + second + head.format("1,2"))
    add("obj/t4.png", "0 .5 .5 .1 .15\n0 .4 .4 .9 .9\n1 .5 .5 .2 .7\n1 .5 .5 .9 .2\n" * 9)
    advice = checked().summary.advice  # type: ignore[union-attr]
    assert advice is not None
    assert (len(advice.anchors), advice.masks) == (4, ("2,3", "0,1"))


@pytest.mark.usefixtures("folder")
def test_masks_that_name_every_anchor_are_right() -> None:
    add("obj/t4.png", SMALL * 9)
    assert "unlearnt" not in [code for _, code, _, _ in found()]
    assert checked().summary.advice.masks == ()  # type: ignore[union-attr]


def test_the_start_of_a_run_says_it_too(folder: Path) -> None:
    write_net("1,2")
    labels = [folder / f"obj/q{number}.png" for number in range(50)]
    for path in labels:
        path.with_suffix(".txt").write_text(SMALL + LARGE)
    facts, _ = read_network(Path("net.cfg"))
    assert facts is not None
    (one,) = [one for one in quick_anchor_diagnostics([str(path) for path in labels], facts) if one.code == "unlearnt"]
    assert one.message.startswith("50 of 100 boxes to train on (50.0%) fit best an anchor")
