"""Files that are replaced whole or not at all."""

import os
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from darkpy.files import file_id, is_among, replaced


def interrupted(file: BinaryIO) -> NoReturn:
    file.write(b"half")
    raise KeyboardInterrupt


def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "x.weights"
    with pytest.raises(KeyboardInterrupt), replaced(path) as file:
        interrupted(file)
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_on_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a power cut could leave an empty file in the place of the old one."""
    path = tmp_path / "x.weights"
    synced = []

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    with replaced(path) as file:
        file.write(b"whole")
    assert synced == [(5, False)]
    assert path.read_bytes() == b"whole"


def test_a_file_is_found_among_others_however_it_is_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("a/1.txt").write_text("x")
    Path("soft.txt").symlink_to("a/1.txt")
    Path("hard.txt").hardlink_to("a/1.txt")
    Path("other.txt").write_text("x")
    for path in ("a/1.txt", "./a/../a/1.txt", str(tmp_path / "a/1.txt"), "soft.txt", "hard.txt"):
        assert is_among(Path(path), ["none", "a\0b", "a/1.txt"])
    assert is_among(Path("a/1.txt"), ["soft.txt"])
    assert is_among(Path("a/none.txt"), [Path("b/../a/none.txt")])  # nothing is there, yet both name one place
    assert not is_among(Path("other.txt"), ["a/1.txt", "a/other.txt", "other.txt.bak"])
    assert not is_among(Path("a/none.txt"), ["none.txt"])


def test_two_names_of_one_file_have_one_id(tmp_path: Path) -> None:
    (tmp_path / "Train.txt").write_text("x")
    (tmp_path / "train.TXT").hardlink_to(tmp_path / "Train.txt")  # as on a disk that knows no letter case
    assert is_among(tmp_path / "train.TXT", [tmp_path / "Train.txt"])
    assert file_id(tmp_path / "none") is None
