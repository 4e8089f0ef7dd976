"""Rules about boxes (darkpy/checks/data_boxes.py)."""

from pathlib import Path

import numpy as np
import pytest
from clean_data import add, checked, message, write_clean_set

from darkpy.checks.data_boxes import Grid, thin_boxes, tiny_boxes
from darkpy.checks.data_set import Boxes


def boxes(*sides: tuple[float, float], picture: tuple[int, int] = (1000, 500)) -> Boxes:
    truths = np.array([(0.5, 0.5, *pair, 0) for pair in sides], np.float32)
    numbers = np.arange(len(sides))
    return Boxes(truths, numbers, numbers + 1, np.tile(np.array(picture), (len(sides), 1)))


def test_thin_is_below_one_percent_or_two_pixels() -> None:
    assert thin_boxes(boxes((0.009, 0.5), (0.5, 0.009), (0.011, 0.011))).tolist() == [True, True, False]
    assert thin_boxes(boxes((0.03, 0.5), (0.5, 0.03), picture=(100, 50))).tolist() == [False, True]
    assert thin_boxes(boxes((0.03, 0.5), picture=(0, 0))).tolist() == [False]  # of a picture that cannot be read


def test_tiny_is_less_than_a_cell() -> None:
    grid = Grid(320, 160, 16)
    assert tiny_boxes(boxes((0.05, 0.11), (0.05, 0.09), (0.3, 0.01)), grid).tolist() == [False, True, True]


def test_letter_box_keeps_the_aspect() -> None:
    square = Grid(400, 400, 8, letter_box=True)
    np.testing.assert_allclose(square.sides(boxes((0.1, 0.1))), [[40, 20]], rtol=1e-6)
    assert not tiny_boxes(boxes((0.1, 0.1), picture=(0, 0)), square).any()  # of a picture that cannot be read
    np.testing.assert_allclose(Grid(400, 400, 8).sides(boxes((0.1, 0.1))), [[40, 40]], rtol=1e-6)


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_clean_set()


def test_d16_names_the_first_line(clean: None) -> None:
    add("obj/t4.png", "0 .5 .5 .3 .4\n1 .2 .2 .3 .3\n0 .5 .5 .3 .4\n0 .5 .5 .3 .4\n")
    texts = [(one.line, one.message) for one in checked().diagnostics]
    assert [line for line, _ in texts] == [3, 4]
    assert texts[0][1] == "the box of line 1 again: one object would count twice. Remove a line."


def test_many_findings_take_no_time_that_grows_with_their_square(clean: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    whole = Boxes.sides_px.fget
    assert whole is not None
    monkeypatch.setattr(Boxes, "sides_px", property(lambda self: asked.append(1) or whole(self)))
    Path("obj/t2.txt").write_text("".join(f"0 .5 .{number} .001 .5\n" for number in range(100, 200)))
    assert len(checked().diagnostics) > 100
    assert len(asked) < 10  # a table of all boxes is not made anew for each


def test_equal_boxes_of_two_pictures_are_no_repetition(clean: None) -> None:
    add("obj/t4.png", "0 .5 .5 .3 .4\n")
    add("obj/t5.png", "0 .5 .5 .3 .4\n")
    assert checked().diagnostics == ()


def test_messages_name_sizes(clean: None) -> None:
    add("obj/t4.png", "0 .9 .5 .3 .4\n")
    assert message("overhang") == "a box of 19.2 x 25.6 pixels reaches 3 pixels beyond the picture's edge."
    Path("obj/t4.txt").write_text("0 .5 .5 .009 .4\n")
    assert message("thin-box").startswith("a box of 0.6 x 25.6 pixels: thinner than 1 %")
    Path("obj/t4.png").write_bytes(b"")
    assert message("thin-box").startswith("a box of 0.90% x 40.00%: thinner than 1 %")
