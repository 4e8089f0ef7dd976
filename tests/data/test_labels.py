import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.data.labels import Labels, check_ids, parse_labels, read_labels, survey
from darkpy.errors import DataError

GOOD = "1 .25 .75 .1 .2"


def parse(text: str, classes: int = 3) -> Labels:
    return parse_labels(text, path="d/1.txt", classes=classes)


def messages(labels: Labels) -> list[str]:
    return [problem.message for problem in labels.problems]


def test_columns_come_out_as_box_then_class() -> None:
    labels = parse("2 .5 .25 .125 .0625\n\n1 .25 .75 .5 .5\n")
    np.testing.assert_array_equal(
        labels.truths, np.array([[0.5, 0.25, 0.125, 0.0625, 2], [0.25, 0.75, 0.5, 0.5, 1]], np.float32)
    )
    assert labels.lines.tolist() == [1, 3]
    assert labels.ids.tolist() == [2, 1]
    assert labels.problems == ()
    assert not labels.missing


def test_d01_an_empty_file_is_a_negative_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_bytes(b"")
    labels = read_labels(str(tmp_path / "1.txt"), classes=3)
    assert labels.truths.shape == (0, 5)
    assert labels.problems == ()
    assert not labels.missing


def test_d02_a_missing_file_is_named_in_full(tmp_path: Path) -> None:
    path = str(tmp_path / "images" / "1.txt")
    labels = read_labels(path, classes=3)
    (problem,) = labels.problems
    assert (problem.kind, problem.path) == ("label", path)
    assert problem.message.startswith("Can't open label file. (This can be normal only if you use MSCOCO): " + path)
    assert "not found, so the picture counts as one without objects" in problem.message
    assert labels.missing
    assert len(labels.truths) == 0


def test_c17_a_label_in_the_labels_folder_is_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "1.txt").write_text(GOOD)
    labels = read_labels(str(tmp_path / "images" / "1.txt"), classes=3)
    assert f"{tmp_path}/labels/1.txt exists" in labels.problems[0].message
    assert len(labels.truths) == 0


needs_letter_case = pytest.mark.skipif(sys.platform != "linux", reason="file names without letter case")


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ("images/train/1.txt", "labels/train/1.txt"),
        ("a/images/images/1.txt", "a/images/labels/1.txt"),
        pytest.param(
            "obj/1.txt",
            "obj/1.TXT",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="file names without letter case"),
        ),
    ],
)
def test_a_label_elsewhere_is_pointed_at_and_no_empty_file_advised(
    wanted: str, other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(other).parent.mkdir(parents=True)
    Path(other).write_text(GOOD)
    text = read_labels(wanted, classes=3).problems[0].message
    assert f"{other} exists, but darknet looks beside the picture: move it to {wanted}." in text
    assert "empty file" not in text


@pytest.mark.parametrize("path", ["", "a\0b", "d/images/" + "x" * 5000 + ".txt"])
def test_a_path_that_cannot_be_opened_is_a_missing_file(path: str) -> None:
    assert read_labels(path, classes=3).missing


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        pytest.param("3 .5 .5 .2 .2", r"class_id = 3. But class_id should be [from 0 to 2]", id="D04 D05"),
        pytest.param("-1 .5 .5 .2 .2", r"class_id = -1. But class_id should be [from 0 to 2]", id="D06"),
        pytest.param("0.7 .5 .5 .2 .2", "class_id = 0.7 is no whole number", id="fractional class"),
        pytest.param("0 1.2 .5 .1 .1", "x y w h = 1.2 0.5 0.1 0.1 lies fully outside the picture", id="D08"),
        pytest.param("0 -.2 .5 .1 .1", "lies fully outside the picture", id="left of it"),
        pytest.param("0 .5 1.2 .1 .1", "lies fully outside the picture", id="below it"),
        pytest.param("0 .5 .5 0 0", "w = 0, h = 0, but both must be above 0", id="D09"),
        pytest.param("0 .5 .5 -.1 .2", "w = -0.1, h = 0.2, but both must be above 0", id="negative size"),
        pytest.param("0 0 0 .1 .1", "x = 0 and y = 0", id="at the origin"),
        pytest.param("0 320 240 50 60", "not normalised: x y w h = 320 240 50 60", id="D13"),
        pytest.param("0 .5 nan .2 .2", "'0 0.5 nan 0.2 0.2' has a value that is no finite number", id="nan"),
        pytest.param("0 .5 .5 inf 1e300", "has a value that is no finite number", id="inf"),
        pytest.param("inf .5 .5 .2 .2", "has a value that is no finite number", id="infinite class"),
        pytest.param("0 .5 .5 1e308 1e308", "not normalised", id="a number beyond float32"),
        pytest.param("dog .5 .5 .2 .2", "'dog' in place of a class number, which counts from 0", id="a word"),
        pytest.param("big dog .5 .5 .2 .2", "'big dog' in place of a class number", id="two words"),
        pytest.param("dog .5 .5 .2 .2 .9", "'dog' in place of a class number", id="a word, six columns"),
        pytest.param("0 .5 x .2 .2", "'0 .5 x .2 .2' is not five numbers", id="a word among numbers"),
        pytest.param("0,.5,.5,.2,.2", "1 column, but a record has 5", id="commas"),
        pytest.param("0 .5 .5 .2", "4 columns, but a record has 5: class x y width height", id="too few"),
        pytest.param("0 .1 .1 .2 .2 .3 .3", "7 columns, but a record has 5", id="too many"),
    ],
)
def test_a_bad_record_is_named_and_the_others_are_used(line: str, complaint: str) -> None:
    labels = parse(f"{GOOD}\n{line}\n{GOOD}")
    assert labels.lines.tolist() == [1, 3]
    (problem,) = labels.problems
    assert (problem.kind, problem.path) == ("truth", "d/1.txt")
    assert problem.message.startswith("d/1.txt:2: Wrong annotation: ")
    assert complaint in problem.message


def test_records_beside_the_picture_are_kept_apart_for_the_map() -> None:
    labels = parse("0 1.2 .5 .1 .1\n0 .5 .5 0 0\n3 .5 .5 .1 .1")
    np.testing.assert_allclose(labels.outside, [[1.2, 0.5, 0.1, 0.1, 0], [0.5, 0.5, 0, 0, 0]])


def test_boxes_that_reach_beyond_the_edge_are_good() -> None:
    assert messages(parse("0 0 .5 .5 1.5")) == []


@pytest.mark.parametrize("line", ["0 5.0e-01 5.0e-01 2e-1 2e-1", "0\t0.5  .5 .2 +.2 ", "\ufeff0 .5 .5 .2 .2"])
def test_d11_numbers_as_programs_write_them(line: str, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text(line + "\r\n", encoding="utf-8")
    labels = read_labels(str(tmp_path / "1.txt"), classes=3)
    np.testing.assert_array_equal(labels.truths, np.array([[0.5, 0.5, 0.2, 0.2, 0]], np.float32))
    assert labels.problems == ()


def test_a_sixth_column_is_left_out_with_one_note() -> None:
    labels = parse("0 .5 .5 .2 .2 0.93\n1 .3 .3 .1 .1 0.80\n")
    np.testing.assert_allclose(labels.truths, [[0.5, 0.5, 0.2, 0.2, 0], [0.3, 0.3, 0.1, 0.1, 1]], rtol=1e-6)
    assert [problem.kind for problem in labels.problems] == ["note"]
    assert messages(labels) == [
        "d/1.txt:1: 6 columns, but a record has 5: class x y width height. The sixth is not used; remove it."
    ]


def test_d16_the_same_line_twice_is_two_truths() -> None:
    assert len(parse(f"{GOOD}\n{GOOD}").truths) == 2


@settings(deadline=None)
@given(st.text(alphabet="0123456789.-+einfa ,#\n\r\t", max_size=60))
def test_law_any_text_is_read_without_an_error(text: str) -> None:
    labels = parse(text)
    assert len(labels.truths) == len(labels.lines)
    assert np.isfinite(labels.truths).all()
    assert ((labels.truths[:, 4] >= 0) & (labels.truths[:, 4] < 3)).all()
    assert (labels.truths[:, 2:4] > 0).all()


def test_d15_ids_that_start_at_1_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"d/1\.txt and others: all ids are 1; ids start at 0, and classes=1 allows 0 to 0"
    ):
        check_ids([parse("1 .5 .5 .2 .2", 1), parse("", 1)], classes=1, example="d/1.txt")


def test_ids_that_are_all_out_of_range_are_refused() -> None:
    with pytest.raises(DataError, match=r"the ids run from 4 to 6; .*classes=3 allows 0 to 2.* or set classes=7"):
        check_ids([parse("4 .5 .5 .2 .2\n6 .5 .5 .2 .2")], classes=3, example="d/1.txt")


def test_ids_from_1_to_classes_get_a_note() -> None:
    (note,) = check_ids([parse("1 .5 .5 .2 .2\n3 .5 .5 .2 .2")], classes=3, example="d/1.txt")
    assert note.kind == "note"
    assert "the ids run from 1 to 3; ids start at 0, so 3 is left out" in note.message


@pytest.mark.parametrize("text", ["", "0 .5 .5 .2 .2", "0 .5 .5 .2 .2\n3 .5 .5 .2 .2", "-1 .5 .5 .2 .2\n2 .5 .5 .2 .2"])
def test_other_ids_are_no_matter_of_the_set(text: str) -> None:
    assert check_ids([parse(text)], classes=3, example="d/1.txt") == ()


def test_a_survey_reads_label_files_of_pictures(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.jpg") for number in range(5)]
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("1 .5 .5 .2 .2")
    with pytest.raises(DataError, match="all ids are 1"):
        survey(paths, classes=1)
    assert survey(paths, classes=2) == ()


def test_a_survey_reads_no_more_than_its_limit(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{number}.jpg") for number in range(9)]
    (tmp_path / "4.txt").write_text("0 .5 .5 .2 .2")
    for number in (0, 8):
        (tmp_path / f"{number}.txt").write_text("1 .5 .5 .2 .2")
    assert survey(paths, classes=1, limit=3) == ()
    with pytest.raises(DataError, match="all ids are 1"):
        survey(paths, classes=1, limit=2)
