"""Plain and pinned blocks, with memory that fails where the test wants it."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from darkpy.errors import MemoryPlanError
from darkpy.memory.arena import BLOCK, Arena
from darkpy.memory.blocks import PinnedBlocks, PlainBlocks, blocks_for
from darkpy.memory.file_blocks import FileBlocks
from darkpy.memory.limits import Limit

GIB = 2**30


def meta(nbytes: int) -> Tensor:
    return torch.empty(nbytes, dtype=torch.uint8, device="meta")


def out_of_memory(nbytes: int) -> Tensor:
    raise RuntimeError("CUDA error: out of memory.\nCompile with TORCH_USE_CUDA_DSA")


@pytest.mark.parametrize("kind", [PlainBlocks, PinnedBlocks])
def test_a_block_is_bytes_on_the_host(kind: type[PlainBlocks] | type[PinnedBlocks]) -> None:
    asked: list[int] = []

    def allocate(nbytes: int) -> Tensor:
        asked.append(nbytes)
        return torch.empty(nbytes, dtype=torch.uint8)

    blocks = kind(allocate=allocate, bounds=list)
    block = blocks.make(8192, more=4096)
    assert (block.dtype, block.shape, block.device.type) == (torch.uint8, (8192,), "cpu")
    assert asked == [8192]
    block.fill_(3)
    blocks.written(block, 0, 8192)
    assert int(block.sum()) == 3 * 8192


def test_plain_memory_is_the_default() -> None:
    with torch.device("meta"):  # whatever the default device is
        block = PlainBlocks(bounds=list).make(4096)
    assert block.device.type == "cpu"
    assert not block.is_pinned()


@pytest.mark.parametrize(("kind", "name"), [(PlainBlocks, "host memory"), (PinnedBlocks, "pinned host memory")])
def test_a_block_beyond_a_limit_is_not_asked_for(kind: type[PlainBlocks] | type[PinnedBlocks], name: str) -> None:
    """Case H04: what was asked, what there is, which setting fits."""
    left = [3 * GIB]
    blocks = kind(allocate=meta, bounds=lambda: [Limit("the machine has little", left[0])])
    arena = Arena(blocks)
    piece = arena.take(GIB)
    left[0] = GIB
    wanted = f"^2.00 GiB of {name} for what backward needs beside the 1.00 GiB that are in use cannot be had: "
    with pytest.raises(MemoryPlanError, match=f"{wanted}the machine has little. Set optimized_memory=1"):
        arena.take(GIB + 1)  # two blocks: the first alone would be there
    assert (arena.blocks, arena.in_use) == (1, GIB)
    arena.take(GIB)
    assert piece.start == 0


def test_memory_that_fails_all_the_same_is_one_line() -> None:
    blocks = PlainBlocks(allocate=out_of_memory, bounds=list)
    message = "1.00 GiB of host memory for what backward needs cannot be had: CUDA error: out of memory. Set optimized"
    with pytest.raises(MemoryPlanError, match=message) as caught:
        blocks.make(BLOCK)
    assert "\n" not in str(caught.value)


def test_a_limit_of_locked_memory_is_named_but_no_reason_not_to_try() -> None:
    """Docker's default is 64 KiB to 8 MiB, and CUDA does not care."""
    limit = 8 * 2**20
    PinnedBlocks(allocate=meta, bounds=list, of_process=lambda name: limit).make(BLOCK)
    failing = PinnedBlocks(allocate=out_of_memory, bounds=list, of_process=lambda name: limit)
    message = r"out of memory \(the process may lock 8.00 MiB: RLIMIT_MEMLOCK, ulimit -l\). Set optimized_memory=1"
    with pytest.raises(MemoryPlanError, match=message):
        failing.make(BLOCK)
    for enough in (None, BLOCK):
        failing = PinnedBlocks(allocate=out_of_memory, bounds=list, of_process=lambda name, value=enough: value)
        with pytest.raises(MemoryPlanError, match=r"out of memory\. Set"):
            failing.make(BLOCK)


def test_the_device_and_the_file_decide_the_kind(tmp_path: Path) -> None:
    assert isinstance(blocks_for(torch.device("cpu"), None), PlainBlocks)
    assert isinstance(blocks_for(torch.device("mps"), None), PlainBlocks)
    assert isinstance(blocks_for(torch.device("cuda"), None), PinnedBlocks)
    assert isinstance(blocks_for(torch.device("cuda"), tmp_path / "offload"), FileBlocks)


def test_memory_that_is_not_written_to_is_not_used() -> None:
    """A block has a GiB, of which a small network needs little."""
    before = _resident_kib()
    block = PlainBlocks(bounds=list).make(BLOCK)
    block[:4096] = 1
    assert _resident_kib() - before < 64 * 1024


@pytest.mark.gpu
def test_pinned_memory_is_pinned_and_not_rounded_up() -> None:
    before = torch.cuda.host_memory_stats()["allocated_bytes.current"]
    block = PinnedBlocks().make(BLOCK)
    assert block.is_pinned()
    assert torch.cuda.host_memory_stats()["allocated_bytes.current"] - before == BLOCK
    there = torch.arange(4096, device="cuda").to(torch.uint8)
    block[:4096].copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(block[:4096], there.cpu())


def _resident_kib() -> int:
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    except FileNotFoundError:
        pytest.skip("/proc is missing: the system does not tell what is resident")
