"""The valid list (darkpy/tasks/_valid_list.py)."""

import os
from pathlib import Path

import pytest
import sections
import torch

from darkpy.cfg.datafile import read_datafile
from darkpy.errors import CfgError, DataError
from darkpy.tasks._valid_list import loading_threads, share_cores, valid_list


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


@pytest.mark.parametrize(
    ("size", "threads", "asked"),
    [(64, None, True), (64, 1, False), (2048, None, False)],
    ids=["small", "told", "large"],
)
def test_only_a_small_network_leaves_cores_to_the_loader(
    size: int, threads: int | None, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", calls.append)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    layer = sections.conv(filters=64, size=3)
    share_cores(sections.network(layer, width=size, height=size), threads=threads)
    assert calls == ([3] if asked else [])
