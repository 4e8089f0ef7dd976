"""`cfg check` beyond single defects: many at once, files that are none, a .data file, and the strict reader."""

from pathlib import Path

import pytest
from clean_cfg import CLEAN, line_of, write_cfg
from hypothesis import given
from hypothesis import strategies as st

from darkpy.blueprint import plan_network
from darkpy.cfg.text import parse_sections
from darkpy.checks.cfg_check import check_cfg
from darkpy.checks.cfg_graph import option_diagnostics, size_diagnostics, unread_diagnostics
from darkpy.checks.cfg_heads import class_diagnostics, head_diagnostics, usual_classes
from darkpy.checks.cfg_net import net_diagnostics
from darkpy.checks.cfg_survey import survey_cfg, survey_sections
from darkpy.diagnostics import Severity, exit_status
from darkpy.errors import CfgError

ONE_HEAD = CLEAN[: CLEAN.index("[route]")].replace("mask=3,4,5", "mask=0,1,2,3,4,5").replace("filters=21", "filters=42")


def found(path: Path) -> list[tuple[str, int | None]]:
    return [(one.code, one.line) for one in check_cfg(path)]


def test_everything_is_said_at_once(tmp_path: Path) -> None:
    text = CLEAN
    for old, new in (
        ("subdivisions=16", "subdivisions=48"),
        ("scales=.1,.1", "scales=.1"),
        ("activation=leaky", "activation=lekay"),
        ("batch_normalize=1", "batch_normalise=1"),
        ("filters=21", "filters=255"),
        ("classes=2", "classes=80"),
    ):
        text = text.replace(old, new, 1)
    path = write_cfg(tmp_path, text)
    assert found(path) == [
        ("subdivisions", 3),
        ("value", line_of(text, "scales=.1")),
        ("unknown-key", line_of(text, "batch_normalise")),
        ("value", line_of(text, "activation=lekay")),
        ("filters", line_of(text, "filters=255")),
        ("classes", line_of(text, "classes=80")),
    ]
    assert exit_status(check_cfg(path)) == 1


def test_e14_a_net_with_one_head_still_loads_at_an_odd_size_and_is_warned_about(tmp_path: Path) -> None:
    assert check_cfg(write_cfg(tmp_path, ONE_HEAD)) == []
    path = write_cfg(tmp_path, ONE_HEAD.replace("height=64", "height=70"))
    (one,) = check_cfg(path)
    assert (one.severity, one.code, one.line, one.expected) == (Severity.WARNING, "size", 5, "height=96")
    assert "height=70: must be a multiple of 32, the stride of the coarsest head. Set height=64 or 96." in one.message


def test_e14_an_odd_size_is_said_beside_a_misfit_of_another_cause(tmp_path: Path) -> None:
    text = CLEAN.replace("width=96", "width=100").replace("layers=-1,1", "layers=-1,0")
    path = write_cfg(tmp_path, text)
    assert found(path) == [("size", 4), ("shape", line_of(text, "[route]", count=2))]


def test_a_size_that_a_coarser_head_cannot_divide_is_said_with_its_stride(tmp_path: Path) -> None:
    coarser = ONE_HEAD.replace("stride=8", "stride=16").replace("random=1\n", "")
    assert check_cfg(write_cfg(tmp_path, coarser.replace("width=96", "width=128"))) == []
    (one,) = check_cfg(write_cfg(tmp_path, coarser))
    assert (one.line, one.expected) == (4, "width=128")
    assert "multiple of 64" in one.message


@pytest.mark.parametrize(
    ("raw", "code", "fragment"),
    [
        (b"", "unreadable", "has no sections"),
        (b"\x00\x00\x00\x02weights", "unreadable", "no text"),
        (b"[convolutional]\nfilters=3\n", "section", "first section must be [net]"),
        (b"[net]\nwidth=32\nheight=32\nchannels=3\nmax_batches=9\nbatch=2\n", "section", "alone is no network"),
    ],
)
def test_a_file_that_is_no_cfg_is_one_error(raw: bytes, code: str, fragment: str, tmp_path: Path) -> None:
    path = tmp_path / "net.cfg"
    path.write_bytes(raw)
    errors = [one for one in check_cfg(path) if one.severity is Severity.ERROR]
    assert [one.code for one in errors] == [code]
    assert fragment in errors[0].message


def test_a_missing_cfg_and_a_folder_are_one_error(tmp_path: Path) -> None:
    for path, fragment in ((tmp_path / "none.cfg", "not found"), (tmp_path, "it is a folder")):
        (one,) = check_cfg(path)
        assert (one.severity, one.code) == (Severity.ERROR, "unreadable")
        assert fragment in one.message


def test_a02_a_byte_order_mark_is_a_warning_and_crlf_is_nothing(tmp_path: Path) -> None:
    """A01, A02: both are read; darknet cannot read the mark."""
    path = tmp_path / "net.cfg"
    path.write_bytes(b"\xef\xbb\xbf" + CLEAN.replace("\n", "\r\n").encode())
    (one,) = check_cfg(path)
    assert (one.severity, one.code, one.line) == (Severity.WARNING, "byte-order-mark", 1)
    path.write_bytes(CLEAN.replace("\n", "\r\n").encode())
    assert check_cfg(path) == []


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (CLEAN.encode("utf-16"), "utf-16"),
        (CLEAN.encode("utf-16-be"), "utf-16"),  # without a mark
        (CLEAN.replace("\n", "\r").encode(), "carriage-returns"),
        (CLEAN.replace("[net]", "# M\xfcller\n[net]").encode("latin-1"), None),  # comments may be in any code page
    ],
)
def test_what_only_darkpy_can_read_is_a_warning(raw: bytes, code: str | None, tmp_path: Path) -> None:
    path = tmp_path / "net.cfg"
    path.write_bytes(raw)
    assert found(path) == ([(code, 1)] if code else [])


def test_after_an_unknown_section_nothing_is_guessed(tmp_path: Path) -> None:
    """What [history] puts out is not known, so the layers behind it are not said to misfit."""
    text = CLEAN.replace("[upsample]\nstride=2", "[history]\nstride=2\nfilters=7").replace("filters=21", "filters=13")
    path = write_cfg(tmp_path, text)
    assert found(path) == [
        ("filters", line_of(text, "filters=13")),
        ("unsupported", line_of(text, "[history]")),
        ("filters", line_of(text, "filters=13", count=2)),
    ]


@pytest.mark.parametrize(
    ("kind", "right", "why"),
    [("Gaussian_yolo", 57, "3 masks x (10 classes + 9)"), ("region", 90, "6 boxes x (10 classes + 5)")],
)
def test_a25_the_channels_before_a_head_of_a_later_version_are_counted(
    kind: str, right: int, why: str, tmp_path: Path
) -> None:
    """A25: [Gaussian_yolo] of 10 classes and 3 masks needs 57 channels; other numbers are an error."""
    text = CLEAN.replace("[yolo]", f"[{kind}]").replace("classes=2", "classes=10").replace("filters=21", "filters=45")
    errors = [one for one in check_cfg(write_cfg(tmp_path, text)) if one.code != "unsupported"]
    assert [(one.code, one.expected) for one in errors] == [("filters", f"filters={right}")] * 2
    assert f"filters=45, but [{kind}] at line 46 needs {right} = {why}" in errors[0].message
    fitting = text.replace("filters=45", f"filters={right}")
    assert {one.code for one in check_cfg(write_cfg(tmp_path, fitting))} == {"unsupported"}


def test_the_classes_are_those_of_most_heads(tmp_path: Path) -> None:
    assert usual_classes(survey_cfg(write_cfg(tmp_path, CLEAN))) == 2
    assert usual_classes(survey_cfg(write_cfg(tmp_path, CLEAN.replace("[yolo]", "[region]")))) is None


def test_a_data_file_is_held_against_the_classes_of_the_cfg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C08: another number of classes in the .data file; C09: other names than classes."""
    monkeypatch.chdir(tmp_path)
    path = write_cfg(tmp_path, CLEAN)
    for name in ("train.txt", "valid.txt"):
        Path(name).write_text("a.jpg\n")
    Path("backup").mkdir()
    Path("obj.names").write_text("cat\ndog\nowl\n")
    data = Path("obj.data")
    data.write_text("classes=3\ntrain=train.txt\nvalid=valid.txt\nnames=obj.names\nbackup=backup\n")
    assert [(one.code, one.path, one.line) for one in check_cfg(path, data)] == [
        ("classes", "obj.data", 1),
        ("names", "obj.data", 4),
    ]


LINES = CLEAN.splitlines()
WORDS = ("-1", "0", "3", "999999", "1e9", "abc", "", "yolo", "0.5,7", "1,2,3", "#", "=")


@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(("drop", "twice", "value", "kind")),
                          st.sampled_from(WORDS)), min_size=1, max_size=3))  # fmt: skip
def test_what_the_strict_reader_refuses_is_an_error_of_the_check(changes: list[tuple[int, str, str]]) -> None:
    """Whatever is done to a cfg, the check ends, and never passes what the reader of a run refuses."""
    lines = list(LINES)
    for number, change, word in changes:
        line = lines[number]
        key, equals, _ = line.partition("=")
        lines[number] = {
            "drop": "",
            "twice": f"{line}\n{line}",
            "value": f"{key}={word}" if equals else line,
            "kind": f"[{word}]" if line.startswith("[") else line,
        }[change]
    try:
        sections = parse_sections("\n".join(lines).splitlines(), "net.cfg")
        survey = survey_sections(sections, Path("net.cfg"))
    except CfgError:
        return  # of the text: tested above
    for mended, _ in (size_diagnostics(survey), class_diagnostics(survey)):
        for rule in (net_diagnostics, head_diagnostics, option_diagnostics, unread_diagnostics):
            assert all(one.line is not None for one in rule(mended))
    errors = [one for one in survey.diagnostics if one.severity is Severity.ERROR]
    try:
        plan_network(sections, Path("net.cfg"))
    except CfgError as refusal:
        place = str(refusal).split(": ")[0]
        assert place in [one.where for one in errors]
    else:
        assert errors == []


SHARING = """[net]
width=32
height=32
channels=3
batch=8
max_batches=100
[convolutional]
filters=3
size=3
pad=1
activation=leaky
[convolutional]
filters=5
size=3
pad=1
activation=leaky
share_index=0
[avgpool]
[softmax]
"""


def test_layers_that_share_weights_have_one_shape(tmp_path: Path) -> None:
    assert found(write_cfg(tmp_path, SHARING)) == [("shape", 12)]
    assert found(write_cfg(tmp_path, SHARING.replace("filters=5", "filters=3"))) == []
    unknown = SHARING.replace("filters=5", "filters=five")
    assert [code for code, _ in found(write_cfg(tmp_path, unknown))] == ["value"]
