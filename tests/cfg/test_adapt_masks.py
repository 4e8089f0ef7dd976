"""Other anchors: their place, their order, and what follows from their number."""

import pytest

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.errors import CfgError

NET = "[net]\nwidth=64\nheight=64\nchannels=3\n"
CONV = "[convolutional]\nfilters={}\nstride=32\n"
FOUR = "10,10, 20,20, 30,30, 40,40"
SIZES = tuple((float(size), float(size)) for size in (10, 20, 30, 40, 50, 60, 70))

Anchors = tuple[tuple[float, float], ...]


def head(mask: str, *, anchors: str = FOUR, num: int = 4, kind: str = "yolo") -> str:
    """A head of one class with its convolution."""
    boxes = mask.count(",") + 1 if mask else num
    line = f"mask={mask}\n" if mask else ""
    filters = boxes * (10 if kind == "Gaussian_yolo" else 6)
    return CONV.format(filters) + f"[{kind}]\n{line}anchors={anchors}\nclasses=1\nnum={num}\n"


def adapted(layers: str, anchors: Anchors) -> str:
    """The layers with other anchors."""
    return adapt(NET + layers, Wishes(anchors=anchors), path="x.cfg").text.removeprefix(NET)


def notes(layers: str, anchors: Anchors) -> tuple[str, ...]:
    """What is said about the change."""
    return adapt(NET + layers, Wishes(anchors=anchors), path="x.cfg").notes


def test_masks_stay_where_the_number_stays_and_each_anchor_has_a_head() -> None:
    other = ((1.0, 1.0), *SIZES[1:4])
    new = "1,1, 20,20, 30,30, 40,40"
    assert adapted(head("2,3") + head("0,1,2"), other) == head("2,3", anchors=new) + head("0,1,2", anchors=new)


def test_new_anchors_are_shared_out_anew_where_one_would_have_no_head() -> None:
    """As in yolov4-tiny, whose masks are 3,4,5 and 1,2,3: no head would learn what the first anchor fits best."""
    other = ((1.0, 1.0), *SIZES[1:4])
    new = "1,1, 20,20, 30,30, 40,40"
    layers = head("2,3") + head("1,2")
    assert adapted(layers, other) == head("2,3", anchors=new) + head("0,1", anchors=new)
    (note,) = notes(layers, other)
    assert "no head's mask named anchor 0" in note
    assert adapted(layers, SIZES[:4]) == layers  # the present ones


def test_anchors_are_put_into_the_order_of_the_present_ones() -> None:
    falling = "40,40, 30,30, 20,20, 10,10"
    other = ((5.0, 1.0), (1.0, 1.0), (3.0, 1.0), (2.0, 1.0))
    assert adapted(head("0,1,2,3", anchors=falling), other) == head("0,1,2,3", anchors="5,1, 3,1, 2,1, 1,1")
    assert notes(head("0,1,2,3"), other) == ("x.cfg:8: [yolo] the anchors are written in order of their size.",)
    assert notes(head("0,1,2,3"), ((1.0, 1.0), *SIZES[1:4])) == ()


@pytest.mark.parametrize("masks", [("2,3", "0,1"), ("0,1", "2,3")])
def test_the_head_of_the_larger_anchors_gets_the_larger_ones(masks: tuple[str, str]) -> None:
    shares = {"0,1": "0,1,2", "2,3": "3,4,5"}
    new = FOUR + ", 50,50, 60,60"
    wanted = "".join(head(shares[mask], anchors=new, num=6) for mask in masks)
    assert adapted("".join(map(head, masks)), SIZES[:6]) == wanted


def test_an_odd_anchor_goes_to_the_head_of_small_ones_and_that_is_said() -> None:
    layers = head("2,3") + head("0,1")
    new = FOUR + ", 50,50"
    assert adapted(layers, SIZES[:5]) == head("3,4", anchors=new, num=5) + head("0,1,2", anchors=new, num=5)
    assert notes(layers, SIZES[:5]) == (
        "x.cfg: 5 anchors do not share out evenly among 2 heads: "
        "1 of them, from the head of the smallest on, get 3, the others 2.",
    )


def test_heads_of_equal_anchors_share_by_their_stride() -> None:
    coarse, fine = head("0", anchors="9,9", num=1), head("0", anchors="9,9", num=1).replace("32", "8")
    text = adapted(coarse + "[route]\nlayers=0\n[upsample]\nstride=32\n" + fine, SIZES[:2])
    assert text.startswith(head("1", anchors="10,10, 20,20", num=2))


def test_one_head_without_a_mask_takes_all() -> None:
    assert adapted(head(""), SIZES[:3]) == head("", anchors="10,10, 20,20, 30,30", num=3)


def test_several_heads_without_masks_get_some() -> None:
    new = head("0", anchors="10,10, 20,20", num=2).replace("mask=0\n", "").replace("classes", "mask=0\nclasses")
    assert adapted(head("") + head(""), SIZES[:2]) == new + new.replace("mask=0", "mask=1")


def test_a_missing_num_and_missing_anchors_are_added() -> None:
    bare = CONV.format(6) + "[yolo]\nclasses=1\n"
    assert adapted(bare, SIZES[:2]) == CONV.format(12) + "[yolo]\nclasses=1\nanchors=10,10, 20,20\nnum=2\n"


def test_gaussian_heads_share_as_yolo_heads_do() -> None:
    made = adapted(head("2,3", kind="Gaussian_yolo") + head("0,1", kind="Gaussian_yolo"), SIZES[:2])
    new = {"anchors": "10,10, 20,20", "num": 2, "kind": "Gaussian_yolo"}
    assert made == head("1", **new) + head("0", **new)  # type: ignore[arg-type]


def test_region_has_all_anchors_in_cells_and_that_is_said() -> None:
    layers = CONV.format(12) + "[region]\nanchors = 1,2,  3,4.5\nclasses=1\nnum=2\n"
    assert adapted(layers, ((32, 64), (96, 144))) == layers
    assert notes(layers, ((32, 64), (96, 144))) == ()
    made = adapted(layers, ((16, 8), (32, 32), (100, 64)))
    assert made == CONV.format(18) + "[region]\nanchors = 0.5,0.25,  1,1,  3.125,2\nclasses=1\nnum=3\n"
    assert notes(layers, ((1, 1),)) == (
        "x.cfg:8: [region] counts anchors in grid cells: the pixels are divided by 32, the network's stride.",
    )


def test_region_takes_the_stride_of_its_own_network() -> None:
    layers = CONV.format(6).replace("32", "40") + "[region]\nanchors=1,2\nclasses=1\n"
    assert "anchors=2,1\n" in adapted(layers, ((80, 40),))


def test_anchors_beyond_num_stay_where_the_first_ones_are_wished() -> None:
    layers = head("0", anchors=FOUR, num=1)
    assert adapted(layers, SIZES[:1]) == layers


def test_a_slip_of_many_digits_is_named_before_memory_ends() -> None:
    with pytest.raises(CfgError, match=r"x.cfg:12: \[yolo\] num=2000000000: must be at most 100000"):
        adapted(head("0,1").replace("num=4", "num=2000000000"), SIZES)
    assert "num=7\n" in adapted(head("0,2000000000"), SIZES)


def test_fewer_anchors_than_heads_are_refused() -> None:
    with pytest.raises(CfgError, match=r"x.cfg:8: 1 anchor for 2 heads: each needs one. Give 2 or more"):
        adapted(head("2,3") + head("0,1"), SIZES[:1])


def test_a_network_without_anchors_is_refused() -> None:
    for layers in ("[connected]\n[detection]\nclasses=3\n", "[connected]\n[softmax]\n"):
        with pytest.raises(CfgError, match=r"x.cfg: no head of this network has anchors"):
            adapted(layers, SIZES)
