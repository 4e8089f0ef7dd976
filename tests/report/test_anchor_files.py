"""anchors.txt and counters_per_class.txt (darkpy/report/anchor_files.py): darknet's bytes."""

from pathlib import Path

import numpy as np
import pytest

from darkpy.errors import DataError
from darkpy.report.anchor_files import anchor_text, counters_text, plain_text, rounded, write_result


def test_whole_pixels_in_three_places() -> None:
    anchors = np.array([[13.2, 23.6], [51.9, 80.0], [150.4, 1192.0]])
    assert anchor_text(rounded(anchors, width=416)) == " 13, 24,  52, 80, 150,1192"


@pytest.mark.parametrize(("width", "text"), [(32, "1.9815,2.1632, 10.5000,7.8186"), (33, "  2,  2,  10,  8")])
def test_four_places_up_to_a_width_of_32(width: int, text: str) -> None:
    anchors = np.array([[1.98151, 2.16318], [10.5, 7.8186]])
    assert anchor_text(rounded(anchors, width=width)) == text


@pytest.mark.parametrize(("width", "text"), [(416, "0.42,  1"), (13, "0.4200,0.5100")])
def test_no_anchor_becomes_zero(width: int, text: str) -> None:
    assert anchor_text(rounded(np.array([[0.42, 0.51]]), width=width)) == text


def test_a_very_small_one_in_cells_becomes_none_either() -> None:
    assert anchor_text(rounded(np.array([[0.00004, 0.5]]), width=13)) == "4e-05,0.5000"


@pytest.mark.parametrize(("counts", "text"), [([2, 1, 0], "2, 1, 0"), ([7], "7")])
def test_counters(counts: list[int], text: str) -> None:
    assert counters_text(np.array(counts)) == f"counters_per_class = {text}"


def test_a_result_replaces_the_former_one_and_ends_without_a_newline(tmp_path: Path) -> None:
    path = tmp_path / "anchors.txt"
    path.write_text("a longer text of before")
    write_result(path, " 13, 24")
    assert path.read_bytes() == b" 13, 24"


def test_a_result_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "anchors.txt").mkdir()
    with pytest.raises(DataError, match=r"file .*anchors\.txt can't be open"):
        write_result(tmp_path / "anchors.txt", "")


def test_a_cfg_needs_no_blanks_inside_a_pair() -> None:
    assert plain_text(np.array([[12.6, 24], [0.3, 300]]), width=416) == "13,24, 0.3,300"
