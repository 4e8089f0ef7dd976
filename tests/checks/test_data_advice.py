"""Suggested sizes and anchors (darkpy/checks/data_advice.py)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clean_data import add, checked, write_clean_set

from darkpy.blueprint import read_blueprint
from darkpy.checks.data_advice import NetworkFacts, advise, median_picture, suggested_size
from darkpy.checks.data_network import network_facts
from darkpy.checks.data_set import Boxes, DataSet
from darkpy.data.anchors import Clusters


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clean_set()


def read_set() -> DataSet:
    data = checked(None).data
    assert data is not None
    return data


def with_boxes(sides: list[tuple[float, float]], picture: tuple[int, int]) -> tuple[DataSet, Boxes]:
    """A set whose pictures all have one size and whose boxes have the given sides, relative."""
    data = read_set()
    samples = tuple(
        replace(one, picture=replace(one.picture, width=picture[0], height=picture[1])) for one in data.samples
    )
    truths = np.array([(0.5, 0.5, *pair, 0) for pair in sides], np.float32)
    numbers = np.zeros(len(sides), np.int64)
    boxes = Boxes(truths, numbers, numbers + 1, np.tile(np.array(picture), (len(sides), 1)))
    return replace(data, samples=samples, boxes=boxes), boxes


@pytest.mark.parametrize(
    ("picture", "side", "size"),
    [
        ((1280, 720), 0.3, (320, 192)),  # large boxes: the least
        ((720, 1280), 0.3, (192, 320)),
        ((1280, 960), 0.02, (480, 352)),  # 480 * .02 x 352 * .02 = 9.6 x 7 pixels cover 8 x 8
        ((4000, 3000), 0.001, (1024, 768)),  # too small for any: the most
        ((200, 100), 0.3, (224, 128)),  # no longer than the pictures
    ],
)
def test_the_size_follows_the_stated_rule(picture: tuple[int, int], side: float, size: tuple[int, int]) -> None:
    data, boxes = with_boxes([(side, side)], picture)
    assert suggested_size(data, boxes, 8) == size


def test_one_box_of_twenty_may_be_tiny() -> None:
    data, boxes = with_boxes([(0.3, 0.3)] * 19 + [(0.002, 0.002)], (640, 640))
    assert suggested_size(data, boxes, 8) == (320, 320)
    data, boxes = with_boxes([(0.3, 0.3)] * 18 + [(0.002, 0.002)] * 2, (640, 640))
    assert suggested_size(data, boxes, 8) == (640, 640)


def test_too_few_boxes_give_a_size_alone() -> None:
    data, _ = with_boxes([(0.3, 0.3)] * 5, (640, 480))
    advice = advise(data, None, generator=np.random.default_rng(0))
    assert advice is not None
    assert (advice.width, advice.height, advice.anchors, advice.average_iou) == (320, 256, (), None)


def test_as_many_anchors_as_different_boxes_at_most() -> None:
    data, _ = with_boxes([(0.3, 0.3), (0.2, 0.4), (0.5, 0.1)] * 5, (640, 480))
    advice = advise(data, None, generator=np.random.default_rng(0))
    assert advice is not None
    assert advice.anchors == ()


def test_anchors_that_are_worse_than_those_of_the_network_are_not_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_facts(read_blueprint(Path("net.cfg")), "net.cfg")
    worse = Clusters(np.array([[1.0, 1.0], [2.0, 2.0]]), np.zeros(10, np.int64), 0.1, 1)
    monkeypatch.setattr("darkpy.checks.data_advice.cluster", lambda *_, **__: worse)
    advice = advise(read_set(), network, generator=np.random.default_rng(0))
    assert advice is not None
    assert (advice.anchors, advice.average_iou) == ((), None)
    assert advice.own_average_iou == pytest.approx(1, abs=0.03)


def test_very_many_boxes_are_drawn_from() -> None:
    sides = np.random.default_rng(1).uniform(0.05, 0.5, (60_000, 2))
    data, _ = with_boxes([tuple(pair) for pair in sides.tolist()], (640, 480))
    advice = advise(data, None, generator=np.random.default_rng(0))
    assert advice is not None
    assert len(advice.anchors) == 6
    assert advice.average_iou == pytest.approx(0.65, abs=0.05)


def test_no_boxes_no_advice() -> None:
    data, _ = with_boxes([], (640, 480))
    assert advise(data, None, generator=np.random.default_rng(0)) is None
    assert median_picture(replace(data, samples=())) is None


def test_upright_pictures_and_a_square_network() -> None:
    for name in ("u1", "u2", "u3", "u4", "u5", "u6"):
        add(f"obj/{name}.png", width=60, height=90)
    (one,) = (one for one in checked().diagnostics if one.code == "aspect")
    assert one.message == (
        "the pictures are upright (median 60x90), the network is 64x64: they are squeezed. "
        "Of their form, with about as many pixels, is width=64 height=96."
    )


def test_a_network_gets_as_many_anchors_as_it_has() -> None:
    network = network_facts(read_blueprint(Path("net.cfg")), "net.cfg")
    assert isinstance(network, NetworkFacts)
    advice = advise(read_set(), network, generator=np.random.default_rng(0))
    assert advice is not None
    assert len(advice.anchors) == 2
    assert advice.own_average_iou == pytest.approx(1, abs=0.03)
    assert advice.anchors_for == (64, 64)
