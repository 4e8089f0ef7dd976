"""Blocks in a file: real room on the disk, no memory, and nobody else's file."""

import errno
import gc
import mmap
import multiprocessing
import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from darkpy.errors import MemoryPlanError
from darkpy.memory.arena import PAGE, Arena
from darkpy.memory.file_blocks import MAGIC, FileBlocks

MIB = 2**20
SIZE = 64 * 1024  # a multiple of what every system maps

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows removes such a file itself")


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def kib_of_files() -> int:
    """Return the resident memory of this process that belongs to mapped files, in KiB."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except FileNotFoundError:
        pytest.skip("/proc is missing: the system does not tell what is resident")
    return sum(int(line.split()[1]) for line in lines if line.startswith(("RssFile", "RssShmem")))


def run(code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8"
    )


def test_a_block_is_bytes_of_the_file(tmp_path: Path) -> None:
    blocks = FileBlocks(tmp_path / "offload")
    first, second = blocks.make(SIZE), blocks.make(SIZE)
    first.fill_(1)
    second.copy_(torch.arange(SIZE) % 251)
    for block in (first, second):
        blocks.written(block, 0, SIZE)
    content = blocks.path.read_bytes()
    assert content.startswith(MAGIC)
    assert content[-2 * SIZE :] == bytes([1]) * SIZE + bytes(at % 251 for at in range(SIZE))
    assert first.unique().tolist() == [1]
    assert second[250:253].tolist() == [250, 0, 1]


def test_blocks_of_an_odd_size_do_not_overlap(tmp_path: Path) -> None:
    blocks = FileBlocks(tmp_path / "offload")
    made = [blocks.make(PAGE) for _ in range(5)]
    for value, block in enumerate(made):
        block.fill_(value)
    assert [block.unique().tolist() for block in made] == [[0], [1], [2], [3], [4]]


def test_the_arena_works_on_a_file(tmp_path: Path) -> None:
    arena = Arena(FileBlocks(tmp_path / "offload"), block_bytes=SIZE)
    pieces = [arena.take(3 * SIZE // 4 + number) for number in range(12)]
    for number, piece in enumerate(pieces):
        for part in piece.parts(3 * SIZE // 4 + number):
            part.fill_(number)
        piece.written(0, 3 * SIZE // 4 + number)
    assert [torch.cat(piece.parts(SIZE // 2)).unique().tolist() for piece in pieces] == [[n] for n in range(12)]


def test_what_was_written_or_given_back_leaves_memory(tmp_path: Path) -> None:
    if not hasattr(mmap.mmap, "madvise"):
        pytest.skip("no madvise: the system keeps written pages as long as it likes")
    arena = Arena(FileBlocks(tmp_path / "offload"), block_bytes=16 * MIB)
    before = kib_of_files()
    piece = arena.take(40 * MIB + 5)
    for part in piece.parts(40 * MIB + 5):
        part.fill_(7)
    assert kib_of_files() - before > 39 * 1024
    piece.written(0, 40 * MIB + 5)
    assert kib_of_files() - before < 1024
    assert all(bool((part == 7).all()) for part in piece.parts(40 * MIB + 5))  # read back
    assert kib_of_files() - before > 39 * 1024
    del piece
    assert kib_of_files() - before < 1024


@posix
def test_the_room_is_taken_from_the_disk_at_once(tmp_path: Path) -> None:
    """A hole that a full disk cannot fill would end the process with a bus error."""
    blocks = FileBlocks(tmp_path / "offload")
    before = blocks.path.stat().st_blocks
    blocks.make(4 * MIB)
    assert (blocks.path.stat().st_blocks - before) * 512 >= 4 * MIB


@pytest.mark.parametrize("number", [None, errno.EOPNOTSUPP, errno.EINVAL])
def test_zeros_are_written_where_the_system_cannot_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    def fallocate(*arguments: int) -> None:
        assert number is not None
        raise OSError(number, os.strerror(number))

    if number is None:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(os, "posix_fallocate", fallocate, raising=False)
    blocks = FileBlocks(tmp_path / "offload")
    first, second = blocks.make(MIB + SIZE), blocks.make(SIZE)
    assert blocks.path.stat().st_size >= MIB + 2 * SIZE
    assert int(first.sum()) == int(second.sum()) == 0


def test_a_disk_without_room_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case H04."""
    blocks = FileBlocks(tmp_path / "offload")
    first = blocks.make(SIZE)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(8 * 2**30, 7 * 2**30, 2**30))
    wanted = "1.00 GiB more for what backward needs, beside 0.06 MiB in use, cannot be had: the disk has 1.00 GiB free"
    with pytest.raises(MemoryPlanError, match=f"offload: {wanted}, 0.25 GiB of which are left alone. Name a file"):
        blocks.make(2**29, more=2**29)
    blocks.make(2**20)
    first.fill_(1)


def test_a_disk_that_turns_out_to_be_full_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a quota, or another program that writes meanwhile."""
    blocks = FileBlocks(tmp_path / "offload")
    blocks.make(SIZE).fill_(5)
    size = blocks.path.stat().st_size

    def full(file: int, start: int, nbytes: int) -> None:
        os.ftruncate(file, start + nbytes // 2)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full, raising=False)
        with pytest.raises(MemoryPlanError, match=r"cannot be had: No space left on device\. Name a file on a disk"):
            blocks.make(SIZE)
    assert blocks.path.stat().st_size == size
    blocks.make(SIZE).fill_(6)


@posix
@pytest.mark.slow
def test_a_limit_of_the_size_of_files_is_one_line(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from darkpy.memory.file_blocks import FileBlocks
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
FileBlocks(Path(sys.argv[1])).make(2**21)
"""
    result = run(code, tmp_path / "offload")
    assert "MemoryPlanError: offload_file=" in result.stderr
    assert "cannot be had: File too large" in result.stderr
    assert not (tmp_path / "offload").exists()


def test_a_limit_of_addresses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    blocks = FileBlocks(tmp_path / "offload")
    size = blocks.path.stat().st_size
    monkeypatch.setattr(mmap, "mmap", refused)
    with pytest.raises(MemoryPlanError, match=r"no addresses left for it \(RLIMIT_AS, ulimit -v\)"):
        blocks.make(SIZE)
    assert blocks.path.stat().st_size in (size, mmap.ALLOCATIONGRANULARITY)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is used")
def test_where_plain_memory_is_refused_a_file_helps(tmp_path: Path) -> None:
    """Case H04, with a real limit of the process."""
    code = """
import resource, sys
from pathlib import Path
from darkpy.errors import MemoryPlanError
from darkpy.memory.blocks import FileBlocks, PlainBlocks
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 2**26, used + 2**26))
try:
    PlainBlocks().make(2**30)
except MemoryPlanError as error:
    print(error)
block = FileBlocks(Path(sys.argv[1])).make(2**27)
block.fill_(1)
print(int(block[-1]))
"""
    refusal, last = run(code, tmp_path / "offload").stdout.splitlines()
    assert refusal.startswith("1.00 GiB of host memory for what backward needs cannot be had: the process may have ")
    assert "(RLIMIT_DATA, ulimit -d). Set optimized_memory=1" in refusal
    assert last == "1"


def test_a_disk_that_does_not_tell_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(path: Path) -> Usage:
        raise OSError(errno.ENOSYS, "not told")

    blocks = FileBlocks(tmp_path / "offload")
    for usage in (unknown, lambda path: Usage(0, 0, 0)):
        monkeypatch.setattr(shutil, "disk_usage", usage)
        blocks.make(SIZE).fill_(1)


def test_the_file_goes_when_the_blocks_are_closed(tmp_path: Path) -> None:
    blocks = FileBlocks(tmp_path / "offload")
    block = blocks.make(SIZE)
    block.fill_(3)
    assert blocks.path.exists()
    blocks.close()
    blocks.close()
    if sys.platform != "win32":
        assert list(tmp_path.iterdir()) == []
    blocks.written(block, 0, SIZE)
    assert block.unique().tolist() == [3]  # the tensor lives on
    with pytest.raises(ValueError, match="the file is closed"):
        blocks.make(SIZE)


def test_the_file_goes_when_the_blocks_are_forgotten(tmp_path: Path) -> None:
    arena = Arena(FileBlocks(tmp_path / "offload"), block_bytes=SIZE)
    piece = arena.take(SIZE)
    forgotten = weakref.ref(arena)
    del arena
    assert (tmp_path / "offload").exists()  # the piece still needs it
    del piece
    gc.collect()
    assert forgotten() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "raise KeyboardInterrupt"])
def test_the_file_goes_when_the_process_ends(tmp_path: Path, end: str) -> None:
    code = f"""
import sys
from pathlib import Path
from darkpy.memory.file_blocks import FileBlocks
blocks = FileBlocks(Path(sys.argv[1]))
block = blocks.make(65536)
block.fill_(1)
assert blocks.path.exists()
{end}
"""
    run(code, tmp_path / "offload")
    assert list(tmp_path.iterdir()) == []


def _killed(path: Path) -> None:
    blocks = FileBlocks(path)
    blocks.make(SIZE).fill_(9)
    os._exit(1)


@posix
@pytest.mark.slow
def test_the_file_of_a_killed_run_is_taken_over(tmp_path: Path) -> None:
    """Or a training that is started again and again would stop at the first kill."""
    path = tmp_path / "offload"
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(path,))
    process.start()
    process.join()
    assert path.stat().st_size > SIZE
    blocks = FileBlocks(path)
    assert path.stat().st_size < 2 * SIZE
    assert int(blocks.make(SIZE).sum()) == 0
    blocks.close()
    assert not path.exists()


@posix
def test_the_file_of_a_living_run_is_refused(tmp_path: Path) -> None:
    blocks = FileBlocks(tmp_path / "offload")
    block = blocks.make(SIZE)
    block.fill_(4)
    with pytest.raises(
        MemoryPlanError, match=r"offload: is there already, and another run may be using it \(.*\)\. Name"
    ):
        FileBlocks(tmp_path / "offload")
    assert block.unique().tolist() == [4]
    assert blocks.path.stat().st_size >= SIZE


@pytest.mark.parametrize("content", [b"", b"my only copy", MAGIC[:-1]])
def test_a_file_of_the_users_is_never_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "yolo.weights"
    path.write_bytes(content)
    with pytest.raises(
        MemoryPlanError, match=r"yolo\.weights: is there already, and not from an earlier run\. It is never"
    ):
        FileBlocks(path)
    assert path.read_bytes() == content


def test_a_folder_or_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(MemoryPlanError, match="folder: is there already, and no file of its own"):
        FileBlocks(tmp_path / "folder")
    try:
        (tmp_path / "link").symlink_to(tmp_path / "target")
    except OSError:
        return  # Windows, without the right
    (tmp_path / "target").write_bytes(MAGIC)
    with pytest.raises(MemoryPlanError, match="link: is there already, and no file of its own"):
        FileBlocks(tmp_path / "link")


@pytest.mark.parametrize("name", ["none/such/offload", "nul\0", "x" * 300])
def test_a_file_that_cannot_be_made_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(MemoryPlanError, match=r"cannot be made: .*Name a file in a folder that is there") as caught:
        FileBlocks(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_disk_that_is_full_at_once_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(MemoryPlanError, match="cannot be made: No space left on device"):
        FileBlocks(tmp_path / "offload")
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_file_that_replaced_ours_stays(tmp_path: Path) -> None:
    blocks = FileBlocks(tmp_path / "offload")
    (tmp_path / "offload").unlink()
    (tmp_path / "offload").write_bytes(b"another's")
    blocks.close()
    assert (tmp_path / "offload").read_bytes() == b"another's"


@posix
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads
def test_a_fork_does_not_take_the_file_away(tmp_path: Path) -> None:
    blocks = FileBlocks(tmp_path / "offload")
    child = os.fork()
    if not child:
        blocks.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert blocks.path.exists()
    blocks.make(SIZE)
