"""Files that are replaced whole or not at all."""

import os
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from darkpy.files import replaced


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
