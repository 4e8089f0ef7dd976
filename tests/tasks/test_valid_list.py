"""The valid list (darkpy/tasks/_valid_list.py)."""

from pathlib import Path

import pytest

from darkpy.cfg.datafile import read_datafile
from darkpy.errors import CfgError, DataError
from darkpy.tasks._valid_list import loading_threads, valid_list


def test_a_core_each_and_no_more_than_darknet() -> None:
    assert 1 <= loading_threads() <= 4


def test_a_list_is_needed(tmp_path: Path) -> None:
    data = tmp_path / "obj.data"
    data.write_text("classes = 1\n")
    with pytest.raises(CfgError, match=r"obj\.data: no 'valid = \.\.\.' line, which detector valid needs"):
        valid_list(read_datafile(data), command="valid")


def test_a_list_must_name_a_picture(tmp_path: Path) -> None:
    data = tmp_path / "obj.data"
    data.write_text(f"valid = {tmp_path}/v.txt\n")
    (tmp_path / "v.txt").write_text("\n")
    with pytest.raises(DataError, match=r"obj\.data:1: valid: .*v\.txt: the list is empty"):
        valid_list(read_datafile(data), command="valid")
