"""Anchors as words of a command line, and as a file."""

from pathlib import Path

import pytest

from darkpy.cfg.adapt_anchors import read_anchors
from darkpy.errors import CfgError


@pytest.mark.parametrize(
    ("word", "anchors"),
    [
        ("10,13", ((10, 13),)),
        (" 10, 13,  16.5,30 ,", ((10, 13), (16.5, 30))),
        ("1e1,2", ((10, 2),)),
    ],
)
def test_numbers_are_read(word: str, anchors: object) -> None:
    assert read_anchors(word) == anchors


@pytest.mark.parametrize(
    "text",
    [
        "  10, 13,  16,130\n",  # as calc_anchors writes it: blanks fill up to three digits
        "10,13,16,130",
        "anchors = 10,13,  16,130\r\n",
        "\ufeff# of 416x416\n10,13,\n16,130\n\n",
        "10,13\n16,130\n",
    ],
)
def test_a_file_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "anchors.txt"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_anchors(str(path)) == ((10, 13), (16, 130))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("10,13,16", "-anchors: 3 numbers make no pairs"),
        (",", "-anchors: 0 numbers make no pairs"),
        ("10 13", "-anchors: '10 13' is no number"),
        ("10,,13", "-anchors: '' is no number"),
        ("10,-13", "-anchors: -13 is no size of an anchor: it must be above 0"),
        ("0,3", "-anchors: 0 is no size"),
        ("1e999,3", "1e999 is no size of an anchor: it must be above 0 and at most 1000000 pixels"),
        ("none.txt", "-anchors: Couldn't open file: none.txt: not found"),
    ],
)
def test_what_is_no_anchor_is_named(word: str, message: str) -> None:
    with pytest.raises(CfgError, match=message):
        read_anchors(word)


def test_a_file_that_holds_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(CfgError, match=r"a.txt: 0 numbers make no pairs"):
        read_anchors(str(path))
    path.write_bytes(b"\x00\xff,2\n")
    with pytest.raises(CfgError, match=r"a.txt: '.*' is no number"):
        read_anchors(str(path))
    with pytest.raises(CfgError, match=r"-anchors: Couldn't open file: .*: it is a folder"):
        read_anchors(str(tmp_path))
