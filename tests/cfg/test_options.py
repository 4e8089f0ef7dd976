"""Typed reads of a section's options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.cfg.options import Options
from darkpy.cfg.text import parse_sections
from darkpy.errors import CfgError


def options(*lines: str, index: int | None = 10) -> Options:
    (section,) = parse_sections(["[conv]", *lines], "x.cfg")
    return Options(section, index=index)


@pytest.mark.parametrize(
    ("text", "number"),
    [("32", 32), ("-1", -1), ("+5", 5), ("3.9", 3), ("-3.9", -3), ("5.", 5), ("40#32", 40), ("7;x", 7)],
)
def test_integer_cuts_off_fractions_and_comments(text: str, number: int) -> None:
    assert options(f"filters={text}").integer("filters", 1) == number


@pytest.mark.parametrize(
    ("text", "number"), [("1e-4", 1e-4), (".1", 0.1), ("5.", 5.0), ("-2", -2.0), ("1E2", 100.0), (".7#.8", 0.7)]
)
def test_a11_real_reads_every_way_to_write_a_number(text: str, number: float) -> None:
    """A11: learning_rate=1e-4."""
    assert options(f"rate={text}").real("rate", 0.0) == number


@pytest.mark.parametrize("text", ["abc", "0x10", "1,5", "12px", "nan", "inf", "#5"])
@pytest.mark.parametrize("read", [Options.integer, Options.real])
def test_what_is_no_number_is_an_error(text: str, read: object) -> None:
    with pytest.raises(CfgError, match=rf"^x\.cfg:2: \[conv\] filters={text}: '{text}' is no number\. Write a number"):
        read(options(f"filters={text}"), "filters", 1)  # type: ignore[operator]


def test_what_overflows_is_an_error() -> None:
    with pytest.raises(CfgError, match=r"filters=1e400: '1e400' is too large\. Write a smaller number\.$"):
        options("filters=1e400").integer("filters", 1)


@pytest.mark.parametrize(("text", "whole"), [("1e3", 1000), (".5", 0)])
def test_an_integer_that_darknet_would_misread_is_an_error(text: str, whole: int) -> None:
    with pytest.raises(CfgError, match=rf"filters={text}: '{text}' is no whole number\. Write {whole}\.$"):
        options(f"filters={text}").integer("filters", 1)


def test_bounds_are_held() -> None:
    with pytest.raises(CfgError, match=r"^x\.cfg:2: \[conv\] size=0: must be at least 1\.$"):
        options("size=0").integer("size", 1, at_least=1)
    with pytest.raises(CfgError, match=r"size=9: must be at most 8\.$"):
        options("size=9").integer("size", 1, at_most=8)
    with pytest.raises(CfgError, match=r"rate=-0\.5: must be at least 0\.$"):
        options("rate=-0.5").real("rate", 0.1, at_least=0.0)
    with pytest.raises(CfgError, match=r"rate=0: must be above 0\.$"):
        options("rate=0").real("rate", 0.1, above=0.0)
    assert options("size=1").integer("size", 3, at_least=1, at_most=1) == 1


def test_defaults_are_noted_as_darknet_prints_them() -> None:
    read = options("pad")  # a bare word counts as absent
    assert read.integer("stride", 1, loud=True) == 1
    assert read.real("momentum", 0.9, loud=True) == 0.9
    assert read.text("activation", "logistic", loud=True) == "logistic"
    assert read.integer("pad", 0) == 0
    assert read.notes == [
        "stride: Using default '1'",
        "momentum: Using default '0.900000'",
        "activation: Using default 'logistic'",
    ]


def test_notes_begin_with_those_of_the_section() -> None:
    assert options("foo=").notes == ["x.cfg:2: 'foo=' has no value, so the line is dropped."]


def test_text_ends_at_a_comment() -> None:
    assert options("activation=leaky#was:mish").text("activation", "") == "leaky"


def test_choice_offers_the_nearest() -> None:
    read = options("policy=stps")
    with pytest.raises(
        CfgError,
        match=r"^x\.cfg:2: \[conv\] policy=stps: unknown value\. Use one of: constant, steps\. Did you mean steps\?$",
    ):
        read.choice("policy", "constant", ("constant", "steps"))
    with pytest.raises(CfgError, match=r"policy=q: unknown value\. Use one of: constant, steps\.$"):
        options("policy=q").choice("policy", "constant", ("constant", "steps"))
    assert read.choice("other", "steps", ("constant", "steps")) == "steps"


def test_flag_is_anything_but_zero() -> None:
    read = options("a=1", "b=0", "c=-1")
    assert [read.flag(key) for key in "abcd"] == [True, False, True, False]


def test_has_needs_a_value() -> None:
    read = options("a=0", "b")
    assert [read.has(key) for key in "abc"] == [True, False, False]


def test_a10_whole_numbers_may_be_written_as_reals() -> None:
    """A10: steps=4800.0,5400.0."""
    assert options("steps=4800.0,5400.0").integers("steps") == (4800, 5400)


def test_a12_blanks_in_lists_do_not_count() -> None:
    """A12: blanks around numbers and commas."""
    read = options("steps  = 10,20,30,40", "scales = .1    ,.1    ,.1    ,.1")
    assert read.integers("steps") == (10, 20, 30, 40)
    assert read.reals("scales") == (0.1, 0.1, 0.1, 0.1)


def test_a29_anchors_may_be_reals() -> None:
    """A29: anchors of yolov2."""
    assert options("anchors = 1.3221, 1.73145").reals("anchors") == (1.3221, 1.73145)


def test_lists_end_at_a_comment_and_forgive_a_last_comma() -> None:
    read = options("mask=0,1,2,", "other=1,2#,3")
    assert read.integers("mask") == (0, 1, 2)
    assert read.integers("other") == (1, 2)
    assert read.integers("absent") is None
    assert read.reals("absent") is None


def test_an_empty_element_is_an_error() -> None:
    with pytest.raises(CfgError, match=r"^x\.cfg:2: \[conv\] mask=0,,2: '' is no number\."):
        options("mask=0,,2").integers("mask")
    with pytest.raises(CfgError, match=r"anchors=1,x: 'x' is no number\."):
        options("anchors=1,x").reals("anchors")


@pytest.mark.parametrize(("text", "layers"), [("3 ###P6", (3,)), ("-1, 2 ###S4", (9, 2)), ("0", (0,)), ("-10", (0,))])
def test_a04_a18_layers_count_from_the_start_or_back(text: str, layers: tuple[int, ...]) -> None:
    """A04, A18: comments behind route sources at layer 10; 0 is the first layer."""
    assert options(f"layers = {text}").layers("layers") == layers


@pytest.mark.parametrize(("number", "target"), [("10", 10), ("-11", -1), ("99", 99)])
def test_layers_must_come_before(number: str, target: int) -> None:
    with pytest.raises(
        CfgError,
        match=rf"layers={number}: {number} means layer {target}, but only layers 0 to 9 come before layer 10\.",
    ):
        options(f"layers={number}").layers("layers")


@pytest.mark.parametrize("line", ["stride=1", "layers", "layers=#1"])
def test_layers_must_be_named(line: str) -> None:
    with pytest.raises(
        CfgError, match=r"^x\.cfg:1: \[conv\] must name its source layers\. Add layers=-1 or the like\.$"
    ):
        options(line).layers("layers")


def test_fail_without_the_key_names_the_section() -> None:
    with pytest.raises(CfgError, match=r"^x\.cfg:1: \[conv\] mask: is missing\.$"):
        options("pad=1").fail("mask", "is missing.")


def test_a36_unused_options_are_reported_once_with_the_nearest_key() -> None:
    """A36: an unknown key warns and never stops; the keys that are read are not reported."""
    read = options("filters=8", "foo=1", "fliters=9", "bare")
    read.integer("filters", 1)
    assert [entry.key for entry in read.unused()] == ["foo", "fliters", "bare"]
    assert read.leftovers() == [
        "x.cfg:3: Unused field: 'foo = 1'.",
        "x.cfg:4: Unused field: 'fliters = 9'. Did you mean 'filters'?",
        "x.cfg:5: Unused field: 'bare = (null)'.",
    ]


def test_a05_a06_duplicates_name_both_lines() -> None:
    """A05, A06: batch=1 ... batch=64; decay=0.0005, decay=0.00005."""
    read = options("batch=1", "pad=1", "batch=64")
    assert read.integer("batch", 1) == 1
    read.flag("pad")
    assert read.leftovers() == [
        "x.cfg:4: 'batch' stands in line 2 already; the first counts (1), this one (64) is ignored."
    ]


@given(st.integers(-(10**9), 10**9))
def test_every_integer_is_read_back(number: int) -> None:
    assert options(f"filters={number}").integer("filters", 0) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_real_is_read_back(number: float) -> None:
    assert options(f"rate={number!r}").real("rate", 1.0) == number


def test_a_whole_number_beyond_cs_int_is_too_large() -> None:
    with pytest.raises(CfgError, match=r"'99999999999999999999' is too large. Write a smaller number"):
        options("batch=99999999999999999999").integer("batch", 1)
