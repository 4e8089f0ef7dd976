"""Another number of classes, for every head and for classifiers."""

import pytest

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.errors import CfgError

NET = "[net]\nwidth=64\nheight=64\nchannels=3\n"
CONV = "[convolutional]\nfilters={}\nsize=1\n"


def adapted(layers: str, classes: int, *, net: str = NET) -> str:
    """The layers for another number of classes."""
    return adapt(net + layers, Wishes(classes=classes), path="x.cfg").text.removeprefix(net)


def notes(layers: str, classes: int) -> tuple[str, ...]:
    """What is said about the change."""
    return adapt(NET + layers, Wishes(classes=classes), path="x.cfg").notes


@pytest.mark.parametrize(
    ("head", "before", "after"),
    [
        ("[yolo]\nnum=3\nclasses={}\n", 255, 24),  # 3 (classes + 5)
        ("[yolo]\nmask=1,2\nnum=3\nclasses={}\n", 170, 16),
        ("[Gaussian_yolo]\nnum=3\nclasses={}\n", 267, 36),  # 3 (classes + 9)
        ("[region]\nnum=5\ncoords=4\nclasses={}\n", 425, 40),  # 5 (classes + 4 + 1)
        ("[region]\nclasses={}\n", 85, 8),
    ],
)
def test_each_head_has_its_own_formula(head: str, before: int, after: int) -> None:
    layers = CONV.format(before) + head.format(80)
    assert adapted(layers, 3) == CONV.format(after) + head.format(3)
    assert adapted(adapted(layers, 3), 80) == layers


def test_detection_needs_the_numbers_of_all_its_cells() -> None:
    head = "[detection]\nclasses={}\ncoords=4\nside=7\nnum=2\nsqrt=1\n"
    layers = "[connected]\noutput= {}\n[dropout]\n"
    text = layers.format(1470) + head.format(20)  # 49 (20 + 2 x 5)
    assert adapted(text, 3) == layers.format(637) + head.format(3)


def test_detection_on_a_convolution_needs_the_numbers_of_one_cell() -> None:
    head = "[detection]\nclasses={}\ncoords=4\nside=7\nnum=2\n"
    assert adapted(CONV.format(30) + head.format(20), 3) == CONV.format(13) + head.format(3)
    pooled = CONV.format(1470) + "[avgpool]\n" + head.format(20)
    assert adapted(pooled, 3) == CONV.format(637) + "[avgpool]\n" + head.format(3)


def test_missing_classes_are_added_beside_the_anchors() -> None:
    layers = CONV.format(25) + "[yolo]\nanchors = 1,2\nmax=9\n"
    assert adapted(layers, 20) == layers  # the default
    assert adapted(layers, 3) == CONV.format(8) + "[yolo]\nanchors = 1,2\nclasses = 3\nmax=9\n"


def test_classes_that_are_no_number_are_replaced() -> None:
    assert adapted(CONV.format(25) + "[yolo]\nclasses=many\n", 3) == CONV.format(8) + "[yolo]\nclasses=3\n"


def test_heads_that_disagree_agree_afterwards() -> None:
    layers = CONV.format(85) + "[yolo]\nclasses=80\n" + CONV.format(7) + "[yolo]\nclasses=2\n"
    assert adapted(layers, 3) == (CONV.format(8) + "[yolo]\nclasses=3\n") * 2


def test_counters_for_other_classes_become_a_comment_and_come_back() -> None:
    layers = CONV.format(8) + "[yolo]\nclasses=3\ncounters_per_class = 5, 6,7\nmax=9\n"
    there = adapted(layers, 2)
    assert there == CONV.format(7) + "[yolo]\nclasses=2\n# of 3 classes: counters_per_class = 5, 6,7\nmax=9\n"
    assert notes(layers, 2) == ("x.cfg:10: [yolo] counters_per_class belongs to 3 classes: the line is a comment now.",)
    assert adapted(there, 3) == layers
    assert notes(there, 3) == ("x.cfg:10: fits 3 classes, and counts again.",)


def test_counters_that_fit_the_new_classes_stay() -> None:
    layers = CONV.format(7) + "[yolo]\nclasses=2\ncounters_per_class=5,6,7\n"
    assert adapted(layers, 3) == CONV.format(8) + "[yolo]\nclasses=3\ncounters_per_class=5,6,7\n"


def test_a_class_tree_and_a_class_map_become_comments_and_come_back() -> None:
    layers = CONV.format(14) + "[region]\nclasses=9\ntree=9.tree\nmap = 9.map\n"
    there = adapted(layers, 2)
    assert there == CONV.format(7) + "[region]\nclasses=2\n# of 9 classes: tree=9.tree\n# of 9 classes: map = 9.map\n"
    assert adapted(there, 9) == layers
    assert adapted(layers, 9) == layers


def test_classes_of_a_contrastive_layer_stay_and_that_is_said() -> None:
    layers = CONV.format(8) + "[yolo]\nclasses=3\n[contrastive]\nclasses=1\nyolo_layer=-1\n"
    assert "[contrastive]\nclasses=1\n" in adapted(layers, 2)
    assert notes(layers, 2) == ("x.cfg:11: [contrastive] classes=1 has no effect in a detector, and stays.",)


@pytest.mark.parametrize(
    ("layers", "new"),
    [
        ("[convolutional]\nfilters=10\n[avgpool]\n[softmax]\n[cost]\n", "[convolutional]\nfilters=3\n"),
        ("[avgpool]\n[convolutional]\nfilters=10\n[dropout]\n[soft]\n", "[avgpool]\n[convolutional]\nfilters=3\n"),
        ("[connected]\noutput=10\n[softmax]\ngroups=1\n", "[connected]\noutput=3\n"),
        ("[convolutional]\nfilters=10\n[avgpool]\n[cost]\ntype=sse\n", "[convolutional]\nfilters=3\n"),
    ],
)
def test_a_classifier_has_one_channel_for_each_class(layers: str, new: str) -> None:
    assert adapted(layers, 3) == new + layers[len(new) + 1 :]
    assert adapted(adapted(layers, 3), 10) == layers


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (CONV.format(8) + "[maxpool]\n", r"x.cfg:8: the network ends in \[maxpool\] and has no head"),
        ("[connected]\n[softmax]\ntree=x.tree\n", r"x.cfg:7: \[softmax\] tree=x.tree fixes the classes"),
        ("[connected]\n[softmax]\ngroups=2\n", r"x.cfg:7: \[softmax\] groups=2 fixes the classes"),
        (
            CONV.format(8) + "[softmax]\n",
            r"reads \[convolutional\] of line 5, .*filters=3 and an \[avgpool\] before it",
        ),
        ("[softmax]\n", r"\[softmax\] needs 3 channels = 3 classes, but reads the picture"),
    ],
)
def test_a_network_without_classes_of_its_own_is_refused(layers: str, message: str) -> None:
    with pytest.raises(CfgError, match=message):
        adapted(layers, 3)


def test_a_network_that_reads_no_pictures_is_refused() -> None:
    with pytest.raises(CfgError, match=r"x.cfg:1: \[net\] reads inputs= and no pictures"):
        adapted("[connected]\noutput=256\n[softmax]\n", 3, net="[net]\ninputs=256\n")
