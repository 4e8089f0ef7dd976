"""Lines <-> sections, and how text files are decoded."""

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.cfg.text import (
    Entry,
    Section,
    decode,
    format_sections,
    parse_sections,
    read_lines,
    read_sections,
    unreadable,
)
from darkpy.errors import CfgError

NET = "[net]\nwidth=32\nheight=32\nchannels=3\n"


def parse(text: str) -> list[Section]:
    return parse_sections(text.split("\n"), "x.cfg")


def values(section: Section) -> dict[str, str | None]:
    return {entry.key: entry.value for entry in section.entries}


def test_sections_keep_order_and_lines() -> None:
    net, conv = parse("# head\n\n[net]\nwidth=32\n[convolutional]\nfilters=8\nsize=3")
    assert (net.kind, net.line, conv.kind, conv.line) == ("net", 3, "convolutional", 5)
    assert conv.entries == (Entry("filters", "8", 6), Entry("size", "3", 7))


def test_blanks_vanish_inside_names_keys_and_values() -> None:
    net, conv = parse("[ n et ]\n[conv]\nfil ters = 1 2\t\r")
    assert net.kind == "net"
    assert values(conv) == {"filters": "12"}


def test_a35_comment_lines_of_both_kinds_are_skipped() -> None:
    """A35: blanks, TABs and ``;`` comment lines."""
    (net,) = parse("; one\n[net]\n  # two\n ;three=3\nmax_batches \t=  6000\n\n")
    assert net.entries == (Entry("max_batches", "6000", 5),)


def test_a_line_is_split_at_its_first_equals_sign() -> None:
    (net,) = parse("[net]\nactivation==leaky\n=5\n")
    assert [(entry.key, entry.value) for entry in net.entries] == [("activation", "=leaky"), ("", "5")]


def test_a_word_without_equals_sign_has_no_value() -> None:
    (net,) = parse("[net]\npad\n")
    assert net.entries == (Entry("pad", None, 2),)


@pytest.mark.parametrize(("line", "shown"), [("foo=", "foo="), ("=", "="), (" b a r = ", "bar=")])
def test_a_key_without_value_is_dropped_and_noted(line: str, shown: str) -> None:
    (net,) = parse(f"[net]\n{line}\nwidth=3")
    assert net.notes == (f"x.cfg:2: '{shown}' has no value, so the line is dropped.",)
    assert values(net) == {"width": "3"}


def test_first_of_equal_keys_wins() -> None:
    (net,) = parse("[net]\nbatch=1\nbatch=64\n")
    assert net.find("batch") == Entry("batch", "1", 2)
    assert net.find("width") is None


def test_a15_last_section_keeps_its_kind_and_its_type_option() -> None:
    """A15: [cost] with type=sse."""
    *_, cost = parse(NET + "[cost]\ntype=sse\n")
    assert cost.kind == "cost"
    assert values(cost) == {"type": "sse"}


def test_a_comment_may_follow_a_section_name() -> None:
    assert [section.kind for section in parse("[net] # the input\n[max];2")] == ["net", "max"]


def test_option_before_the_first_section_is_an_error() -> None:
    with pytest.raises(
        CfgError, match=r"^x\.cfg:2: 'batch = 1' stands before the first section\. .*put the option under"
    ):
        parse("# x\nbatch = 1\n[net]\n")


@pytest.mark.parametrize("text", ["", "\n# only a comment\n"])
def test_a_cfg_without_sections_is_an_error(text: str) -> None:
    with pytest.raises(CfgError, match=r"^x\.cfg: Config file has no sections\. A cfg begins with \[net\]\.$"):
        parse(text)


@pytest.mark.parametrize(
    ("line", "mend"), [("[net", r"\[net\]"), ("[conv]x", r"\[conv\]"), ("[", r"\[net\]"), ("[[max", r"\[max\]")]
)
def test_a_crippled_section_line_is_an_error(line: str, mend: str) -> None:
    with pytest.raises(CfgError, match=rf"^x\.cfg:1: '.*' is no section\. Write {mend} alone on its line\.$"):
        parse(line)


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a01_a02_line_ends_and_byte_order_marks_change_nothing(tmp_path: Path, ending: str, mark: bytes) -> None:
    """A01, A02: CRLF cfg; a cfg that begins with EF BB BF."""
    path = tmp_path / "a.cfg"
    path.write_bytes(mark + NET.replace("\n", ending).encode())
    (net,) = read_sections(path)
    assert net.kind == "net"
    assert net.path == str(path)
    assert values(net) == {"width": "32", "height": "32", "channels": "3"}


@pytest.mark.parametrize(
    "raw",
    [
        codecs.BOM_UTF8 + "é.jpg".encode(),
        codecs.BOM_UTF16_LE + "é.jpg".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "é.jpg".encode("utf-16-be"),
        "é.jpg".encode("utf-16-le"),
        "é.jpg".encode("utf-16-be"),
    ],
)
def test_decode_knows_utf8_and_utf16_with_and_without_mark(raw: bytes) -> None:
    assert decode(raw) == "é.jpg"


def test_decode_keeps_bytes_that_are_no_utf8() -> None:
    assert decode(b"caf\xe9.jpg").encode("utf-8", errors="surrogateescape") == b"caf\xe9.jpg"


def test_read_lines_names_a_missing_file_and_who_asked(tmp_path: Path) -> None:
    with pytest.raises(
        CfgError, match=r"^obj\.data:2: valid: Couldn't open file: .*v\.txt: not found\. Check the path"
    ):
        read_lines(tmp_path / "v.txt", asked_by="obj.data:2: valid")


def test_c22_a_longer_name_beside_it_is_offered(tmp_path: Path) -> None:
    """C22: asked for obj.data, only obj.data.txt exists."""
    (tmp_path / "obj.data.txt").touch()
    with pytest.raises(CfgError, match=r"obj\.data: not found\. Did you mean .*obj\.data\.txt\?$"):
        read_lines(tmp_path / "obj.data")


@pytest.mark.parametrize("name", ["OBJ.data", "obi.data"])
def test_a_near_name_beside_it_is_offered(tmp_path: Path, name: str) -> None:
    (tmp_path / "obj.data").touch()
    with pytest.raises(CfgError, match=r"Did you mean .*obj\.data\?$"):
        read_lines(tmp_path / name)


def test_a_missing_folder_offers_nothing(tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"not found\. Check the path; it counts from the current folder\.$"):
        read_lines(tmp_path / "no" / "obj.data")


def test_c12_a_folder_is_no_file(tmp_path: Path) -> None:
    """C12: ``names =`` a directory."""
    with pytest.raises(CfgError, match=r"Couldn't open file: .*: it is a folder\. Name a file\.$"):
        read_lines(tmp_path)


def test_other_reasons_come_from_the_system(tmp_path: Path) -> None:
    path = tmp_path / "locked.cfg"
    path.touch()
    line = unreadable(path, PermissionError(13, "Permission denied"))
    assert line == f"Couldn't open file: {path}: Permission denied."


@pytest.mark.parametrize(("name", "why"), [("a\0b", "embedded null byte"), ("x" * 5000, "File name too long")])
def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(CfgError, match=rf"^obj\.data:1: train: Couldn't open file: .*: {why}\.$"):
        read_lines(tmp_path / name, asked_by="obj.data:1: train")


NO_BLANKS = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n")
WORDS = st.text(NO_BLANKS, min_size=1, max_size=8)
KEYS = WORDS.filter(lambda word: word[0] not in "[#;" and "=" not in word)
ENTRIES = st.tuples(KEYS, st.none() | WORDS)
KINDS = st.text(NO_BLANKS, max_size=8).filter(lambda word: "]" not in word)


@given(st.lists(st.tuples(KINDS, st.lists(ENTRIES, max_size=4)), min_size=1, max_size=4))
def test_sections_to_text_to_sections(drawn: list[tuple[str, list[tuple[str, str | None]]]]) -> None:
    sections = [
        Section(kind, 1, "x.cfg", tuple(Entry(key, value, 1) for key, value in entries)) for kind, entries in drawn
    ]
    back = parse(format_sections(sections))
    assert [(section.kind, [(entry.key, entry.value) for entry in section.entries]) for section in back] == drawn
    assert all(not section.notes for section in back)
    assert format_sections(back) == format_sections(sections)


def test_a_weights_file_in_the_cfgs_place_is_named(tmp_path: Path) -> None:
    path = tmp_path / "net.weights"
    path.write_bytes(b"\0\0\0\0\2\0\0\0\5\0\0\0" + b"\x12\x34\x56\x78" * 9)
    with pytest.raises(
        CfgError, match=r"net.weights: not a cfg: it is no text\. Name a \.cfg file; detector takes DATA CFG WEIGHTS"
    ):
        read_sections(path)
