from pathlib import Path

import pytest

from darkpy.conversion.class_names import case_twins, check_names, names_of
from darkpy.errors import CfgError, DataError


def test_found_names_are_sorted() -> None:
    assert names_of(["dog", "cat", "dog"], None) == ["cat", "dog"]


def test_a_file_gives_the_order(tmp_path: Path) -> None:
    (tmp_path / "a.names").write_text("dog\ntraffic light\n")
    assert names_of(["cat"], tmp_path / "a.names") == ["dog", "traffic light"]


def test_no_names_are_an_error() -> None:
    with pytest.raises(DataError, match="the annotations: 0 class names, but a data set needs 1"):
        names_of([], None)


def test_a_name_twice_is_an_error() -> None:
    with pytest.raises(DataError, match="a: the class 'cat' stands 2 times"):
        check_names(["cat", "dog", "cat"], "a")


def test_a_name_twice_in_a_file_is_an_error_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.names").write_text("dog\ncat\ndog\n")
    with pytest.raises(
        DataError, match=r"a\.names: the class 'dog' stands 2 times, .* Write each name once, a line each"
    ):
        names_of([], tmp_path / "a.names")


def test_names_that_differ_in_letter_case_only() -> None:
    assert case_twins(["RBC", "dog", "rbc", "Rbc"]) == [("RBC", "rbc"), ("RBC", "Rbc")]
    assert case_twins(["a", "b"]) == []


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"none\.names"):
        names_of([], tmp_path / "none.names")
