from pathlib import Path

import numpy as np
import pytest

from darkpy.conversion.split_source import (
    classes_in_labels,
    classes_in_path,
    counts_of,
    folder_of,
    is_folder,
    members,
)


def test_classes_of_a_label_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("3 .5 .5 .1 .1\n70000 .5 .5 .1 .1\n3 .2 .2 .1 .1\nx\n")
    assert classes_in_labels(str(tmp_path / "a.jpg")) == {3, 70000}
    assert classes_in_labels(str(tmp_path / "b.jpg")) == frozenset()


def test_classes_in_a_path() -> None:
    assert classes_in_path("d/3_cat.jpg", labels=["dog", "cat"]) == {1}


@pytest.mark.parametrize(("path", "folder"), [("a.jpg", ""), ("d/e/a.jpg", "d/e"), (r"d\e\a.jpg", "d/e")])
def test_folders(path: str, folder: str) -> None:
    assert folder_of(path) == folder


def test_counts_of_groups() -> None:
    counts, columns = counts_of([[0, 2], [1]], [frozenset({5, 2}), frozenset(), frozenset({5})])
    assert columns == [2, 5]
    assert counts.tolist() == [[1, 2], [0, 0]]


def test_members_of_chosen_groups() -> None:
    assert members([[0, 2], [1]], np.array([True, False])) == {0, 2}


def test_what_is_a_folder(tmp_path: Path) -> None:
    assert is_folder(tmp_path)
    assert not is_folder(tmp_path / "none")
    assert not is_folder(Path("a\0b"))
    assert not is_folder(Path("x" * 5000))
