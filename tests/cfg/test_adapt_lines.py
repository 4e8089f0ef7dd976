"""One value, one new line or one comment at a time; every other character stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.cfg.adapt_lines import Sheet, plain
from darkpy.errors import CfgError


def sheet(*options: str, newline: str = "\n") -> Sheet:
    """A cfg of [net] with these option lines, without an end to its last line."""
    return Sheet(newline.join(["[net]", *options]), "x.cfg")


def put(value: int, *options: str, key: str = "classes", beside: str = "") -> str:
    """The options after a whole number is written."""
    made = sheet(*options)
    made.put_whole(made.sections[0], key, value, beside=beside)
    return made.text().removeprefix("[net]\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("classes=80", "classes=3"),
        ("  classes =\t80  ", "  classes =\t3  "),
        ("classes = 80 # 80 of COCO", "classes = 3 # 80 of COCO"),
        ("classes=80;80", "classes=3;80"),
        ("clas ses = 8 0", "clas ses = 3"),
        ("classes=", "classes=3\nclasses="),  # darknet drops a line without a value
        ("classes= # none", "classes= 3# none"),
        ("classes=many", "classes=3"),
        ("classes", "classes=3"),  # it counts as absent, and hides a later line
        ("classes=+3", "classes=+3"),
        ("classes=3.0", "classes=3.0"),
    ],
)
def test_only_the_value_of_a_line_changes(before: str, after: str) -> None:
    assert put(3, before) == after


def test_first_of_equal_keys_is_changed_and_the_second_is_named() -> None:
    made = sheet("batch=1", "batch=64")
    made.put_whole(made.sections[0], "batch", 32)
    assert made.text() == "[net]\nbatch=32\nbatch=64"
    assert made.notes == ["x.cfg:3: a second 'batch' in [net] stays without effect, as before."]


def test_a_missing_key_is_added_after_the_last_option_in_its_style() -> None:
    assert put(3, "width = 64", " height = 32  # both", "", "# end") == (
        "width = 64\n height = 32  # both\n classes = 3\n\n# end"
    )


def test_a_missing_key_is_added_beside_the_key_it_belongs_to() -> None:
    assert put(3, "anchors=8,9", "max = 5", beside="anchors") == "anchors=8,9\nclasses=3\nmax = 5"


def test_a_missing_key_is_added_to_a_section_without_options() -> None:
    assert put(3) == "classes=3"


def test_several_missing_keys_stand_in_the_order_of_writing() -> None:
    made = sheet("width=1")
    for key in ("b", "a"):
        made.put_whole(made.sections[0], key, 7)
    assert made.text() == "[net]\nwidth=1\nb=7\na=7"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", [True, False])
def test_a_new_line_ends_as_the_others_do(newline: str, end: bool) -> None:
    last = newline if end else ""
    made = Sheet(newline.join(["[net]", "width=1"]) + last, "x.cfg")
    made.put_whole(made.sections[0], "height", 2)
    assert made.text() == newline.join(["[net]", "width=1", "height=2"]) + last


def test_a_default_is_not_written() -> None:
    made = sheet("width=1")
    assert not made.put_whole(made.sections[0], "classes", 20, default=20)
    assert made.text() == "[net]\nwidth=1"


def test_a_number_that_darknet_cannot_read_is_refused() -> None:
    made = sheet("width=1")
    with pytest.raises(CfgError, match=r"x.cfg:1: \[net\] width=2147483648 would be larger than 2147483647"):
        made.put_whole(made.sections[0], "width", 2**31)


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("anchors = 1,2,  3,4 # px", (5, 6, 7, 8), "anchors = 5,6,  7,8 # px"),
        ("anchors=1,2,  3,4", (5, 6, 7, 8, 9, 10.5), "anchors=5,6,  7,8,  9,10.5"),
        ("anchors=1,2,  3,4", (5, 6), "anchors=5,6"),
        ("anchors=1,2", (5, 6, 7, 8), "anchors=5,6, 7,8"),
        ("anchors=1 , 2,", (5, 6), "anchors=5 , 6"),
        ("anchors=1,2,", (1, 2), "anchors=1,2,"),
        ("anchors=1,2,3,4", (1, 2), "anchors=1,2,3,4"),
        ("anchors=1.23456789,2", (1.23456789, 2), "anchors=1.23456789,2"),
        ("anchors=what", (1, 2, 3, 4), "anchors=1,2, 3,4"),
        ("width=1", (1, 2), "width=1\nanchors=1,2"),
    ],
)
def test_a_list_keeps_the_blanks_around_its_commas(before: str, values: tuple[float, ...], after: str) -> None:
    made = sheet(before)
    made.put_list(made.sections[0], "anchors", values, more_may_follow=True)
    assert made.text() == f"[net]\n{after}"


def test_a_list_that_is_too_long_is_cut() -> None:
    made = sheet("mask = 0, 1, 2")
    assert made.put_list(made.sections[0], "mask", (0, 1))
    assert made.text() == "[net]\nmask = 0, 1"


def test_a_line_set_aside_comes_back_as_it_was() -> None:
    made = sheet("a=1", " map = x.map # note", "map=y.map", "b=2")
    assert made.set_aside(made.sections[0], "map", 80)
    text = made.text()
    assert text == "[net]\na=1\n# of 80 classes:  map = x.map # note\n# of 80 classes: map=y.map\nb=2"
    again = Sheet(text, "x.cfg")
    assert again.take_back(again.sections[0], 3) == []
    assert again.take_back(again.sections[0], 80) == [3, 4]
    assert again.text() == sheet("a=1", " map = x.map # note", "map=y.map", "b=2").text()


def test_a_comment_of_very_many_classes_is_left_alone() -> None:
    text = f"[net]\n# of {'9' * 5000} classes: map=x"
    made = Sheet(text, "x.cfg")
    assert (made.take_back(made.sections[0], 3), made.text()) == ([], text)


def test_lines_of_another_section_are_not_taken_back() -> None:
    made = Sheet("[net]\na=1\n[yolo]\n# of 3 classes: map=x\n[yolo]\n", "x.cfg")
    assert [made.take_back(section, 3) for section in made.sections] == [[], [4], []]


@pytest.mark.parametrize(
    ("number", "text"), [(10.0, "10"), (0.57273, "0.57273"), (1 / 3, "0.333333"), (1e6, "1000000")]
)
def test_numbers_are_written_plainly(number: float, text: str) -> None:
    assert plain(number) == text


@given(st.text(alphabet="a=#;, \t\r\n\ufeff\x0b\u2028é\udce9", max_size=40))
def test_a_text_without_a_change_comes_back_whole(text: str) -> None:
    whole = f"[net]\n{text}"
    try:
        made = Sheet(whole, "x.cfg")
    except CfgError:
        return
    assert made.text() == whole
