"""The grammar, on a small command of its own."""

from collections import deque
from typing import Any

import click
import pytest

from darkpy.cli._darknet import DarknetGroup, darknet_settings, nearest, without_control_characters


class Outer(DarknetGroup):
    absent = ("later",)
    elsewhere = {"verb": "group verb"}  # noqa: RUF012 - never written to


@click.group(cls=Outer, context_settings=darknet_settings())
def program() -> None:
    pass


@program.group(cls=DarknetGroup)
def group() -> None:
    pass


@group.command()
@click.argument("files", nargs=-1)
@click.option("-map", "--map", "measure_map", is_flag=True)
@click.option("-clear", "--clear", is_flag=True)
@click.option("-iou_thresh", "--iou_thresh", type=float, default=0.5)
@click.option("-mjpeg_port", "--mjpeg_port", type=int, default=-1)
@click.option("-c", "--c", type=int, default=0)
@click.option("-s", "--s", type=int, default=0)
def verb(**given: Any) -> dict[str, Any]:
    return given


def call(line: str) -> dict[str, Any]:
    return program.main(line.split(" "), "program", standalone_mode=False)


PLAIN = {"files": ("a", "b"), "measure_map": False, "clear": False, "iou_thresh": 0.5, "mjpeg_port": -1, "c": 0, "s": 0}


@pytest.mark.parametrize(
    "line",
    [
        "group verb a b -map -iou_thresh 0.7",
        "group verb -map a -iou_thresh 0.7 b",
        "group verb --map a b --iou_thresh=0.7",
        "group verb a b --map -iou_thresh=0.7",
        "group verb a b --map --iou-thresh 0.7",
        "group -map verb a b -iou_thresh 0.7",
        "group -map -iou_thresh 0.7 verb a b",
        "group -iou_thresh=0.7 verb -map a b",
        "-map -iou_thresh 0.7 group verb a b",
        "-iou_thresh 0.7 group -map verb a b",
    ],
)
def test_options_stand_anywhere(line: str) -> None:
    assert call(line) == {**PLAIN, "measure_map": True, "iou_thresh": 0.7}


def test_a_value_may_be_negative() -> None:
    assert call("group -mjpeg_port -1 verb a b -c 3") == {**PLAIN, "c": 3}


def test_after_two_dashes_all_is_positional() -> None:
    assert call("group verb -map -- a -map")["files"] == ("a", "-map")


def test_whole_words_are_not_read_letter_by_letter() -> None:
    assert call("group verb a b -clear") == {**PLAIN, "clear": True}


@pytest.mark.parametrize("line", ["group verb a b -claer", "group -claer verb a b", "-claer group verb a b"])
def test_an_unknown_option_is_refused_with_the_likely_one(line: str) -> None:
    with pytest.raises(click.NoSuchOption, match=r"^No such option '-claer'\. Did you mean '-clear'\?$"):
        call(line)


def test_an_unlikely_option_gets_no_suggestion() -> None:
    with pytest.raises(click.NoSuchOption, match=r"^No such option '-zzzzzz'\.$"):
        call("group verb a -zzzzzz b")


def test_the_first_of_equal_options_counts_and_a_different_one_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("group -iou_thresh 0.9 verb a b -iou_thresh 0.1")["iou_thresh"] == 0.9
    assert capsys.readouterr().err == (
        "Note: -iou_thresh 0.1 has no effect after -iou_thresh 0.9: the first counts, as in darknet.\n"
    )


def test_equal_options_of_equal_value_are_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("group verb a b -iou_thresh 0.9 --iou_thresh=0.9 -map --map")["iou_thresh"] == 0.9
    assert capsys.readouterr().err == ""


def test_a_missing_value_is_refused() -> None:
    with pytest.raises(click.BadOptionUsage, match=r"^Option '-iou_thresh' needs a value\.$"):
        call("group verb a b -iou_thresh")


def test_an_option_is_no_value() -> None:
    with pytest.raises(click.BadOptionUsage, match=r"^Option '-iou_thresh' needs a value, but '-map' follows\.$"):
        call("group verb a b -iou_thresh -map")


def test_control_characters_vanish_from_words() -> None:
    assert call("group verb a\r b\t -map\r\n \r") == {**PLAIN, "measure_map": True}
    assert without_control_characters(["a\tb\r\n", "\r", "", "c d"]) == ["ab", "", "c d"]


def test_an_unknown_command_is_refused_with_the_likely_one() -> None:
    with pytest.raises(click.UsageError, match=r"^No such command 'vreb'\. Did you mean 'verb'\?$"):
        call("group vreb a b")
    with pytest.raises(click.UsageError, match=r"^No such command 'zzzzz'\. There is: group\.$"):
        call("zzzzz a b")


def test_a_command_of_a_deeper_level_is_pointed_to() -> None:
    with pytest.raises(click.UsageError, match=r"Did you mean 'group verb'\?$"):
        call("verb a b")


def test_a_command_of_darknet_that_is_not_there_yet_is_said() -> None:
    with pytest.raises(
        click.UsageError, match=r"^'program later' is not in this version of darkpy\. There is: group\.$"
    ):
        call("later a b")


@pytest.mark.parametrize("line", ["-map", "-iou_thresh 0.5"])
def test_options_without_a_command_are_refused(line: str) -> None:
    with pytest.raises(click.UsageError, match=r"is there, but no command\. There is: group\.$"):
        call(line)


@pytest.mark.parametrize("name", ["--help", "-help", "-h"])
@pytest.mark.parametrize("before", ["", "group ", "group verb "])
def test_help_has_three_names(name: str, before: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(before + name) == 0
    assert capsys.readouterr().out.startswith(f"Usage: program {before}")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("-mAP", "-map"), ("-Dont-Show", "-dont_show"), ("-iou_tresh", "-iou_thresh"), ("-xyz", None)],
)
def test_nearest_looks_past_case_dashes_and_underscores(word: str, expected: str | None) -> None:
    assert nearest(word, deque(["-map", "-mAP_epochs", "-dont_show", "-iou_thresh", "-thresh"])) == expected
