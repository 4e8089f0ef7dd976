"""What the conversions share (darkpy/tasks/_conversion.py)."""

import threading
from pathlib import Path

import numpy as np
import pytest
from data_sets import picture

from darkpy.conversion.picture_files import DARKNET_EXTENSIONS
from darkpy.conversion.sample import Tally, make_sample
from darkpy.errors import DataError
from darkpy.tasks._conversion import (
    in_threads,
    labelled,
    shown_names,
    size_or_error,
    tell,
    tell_copies,
    tell_odd_extensions,
)


def test_results_come_in_order() -> None:
    items = list(range(500))
    threads = set()

    def double(item: int) -> int:
        threads.add(threading.get_ident())
        return 2 * item

    assert list(in_threads(double, items, what="doubling")) == [2 * item for item in items]
    assert threading.get_ident() not in threads
    assert list(in_threads(double, [], what="doubling")) == []


def test_an_error_ends_the_work() -> None:
    done = []

    def work(item: int) -> int:
        done.append(item)
        if item == 3:
            raise DataError("three")
        return item

    with pytest.raises(DataError, match="three"):
        list(in_threads(work, range(10_000), what="working"))
    assert len(done) < 1000


def test_a_size_or_what_is_wrong(tmp_path: Path) -> None:
    size = size_or_error(picture(tmp_path / "a.jpg"))
    assert not isinstance(size, DataError)
    assert (size.width, size.height) == (40, 30)
    assert isinstance(size_or_error(tmp_path / "b.jpg"), DataError)


def test_labels_of_objects_that_are_apart(tmp_path: Path) -> None:
    boxes = [(0, (0, 0, 20, 15), False), (1, (0, 0, 40, 30), True), (2, (5, 5, 5, 9), True)]
    tally = Tally()
    (made,) = labelled([make_sample(picture(tmp_path / "a.jpg"), (40, 30), boxes)], clip=False, tally=tally)
    assert made.label == "0 0.25 0.25 0.5 0.5\n"
    assert made.apart == "1 0.5 0.5 1 1\n"
    assert tally["boxes without size, left out"] == 1


def test_names_are_shown_up_to_the_tenth() -> None:
    assert shown_names(["cat", "dog"]) == "0 cat, 1 dog"
    assert shown_names([f"c{number}" for number in range(11)]).endswith(", 9 c9, ...")


def test_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    tally.add("dogs", "a.xml")
    tell(tally)
    tell_odd_extensions([Path("a.jpg"), Path("b.WEBP"), Path("c.webp"), Path("d.JPG")], DARKNET_EXTENSIONS)
    tell_odd_extensions([Path("a.jpg")], DARKNET_EXTENSIONS)
    tell_copies([True, False], Path("out"), link=True)
    tell_copies([False, False], Path("out"), link=False)
    tell_copies([True, True], Path("out"), link=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "dogs: 1 (first: a.xml)\n"
        "Pictures of .webp: darkpy reads their labels, but C darknet knows .jpg .jpeg .png .bmp .ppm .tiff only.\n"
        "-link: 1 of 2 pictures are copies: out is on another disk, or that has no links.\n"
    )


def test_many_boxes_of_one_picture(tmp_path: Path) -> None:
    edges = np.random.default_rng(0).uniform(0, 30, (1000, 2))
    objects = [(0, (0, 0, x + 1, y + 1), False) for x, y in edges.tolist()]
    (made,) = labelled([make_sample(picture(tmp_path / "a.png"), (40, 30), objects)], clip=True, tally=Tally())
    assert made.label.count("\n") == 1000
