"""What rests in host memory comes back as it was, wherever that memory is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from darkpy.memory.arena import PAGE, Arena
from darkpy.memory.copies import Copies, ThreadCopies
from darkpy.memory.file_blocks import FileBlocks
from darkpy.memory.resting import InHostMemory, OnDevice, Resting

CPU = torch.device("cpu")


@pytest.fixture
def copies() -> Iterator[Copies]:
    made = ThreadCopies()
    yield made
    made.close()


@pytest.fixture(params=[2**20, PAGE], ids=["in one block", "over several blocks"])
def resting(request: pytest.FixtureRequest, copies: Copies, tmp_path: Path) -> Resting:
    return Resting(Arena(FileBlocks(tmp_path / "offload"), block_bytes=request.param), copies)


TENSORS = [
    torch.rand(50, 60),
    torch.rand(8, 5, 7, 9).to(memory_format=torch.channels_last),
    torch.rand(3000).double(),
    torch.rand(1),
]


@pytest.mark.parametrize("tensor", TENSORS, ids=["plain", "channels_last", "double", "small"])
def test_it_begins_with_zeros_and_keeps_what_is_stored(resting: Resting, tensor: Tensor) -> None:
    places = [resting(tensor) for _ in range(3)]
    assert all(torch.equal(place.load(), torch.zeros_like(tensor)) for place in places)
    for number, place in enumerate(places):
        loaded = place.load()
        place.store(loaded.copy_(tensor + number))
    resting.settle()
    for number, place in enumerate(places):
        found = place.load()
        assert torch.equal(found, tensor + number)
        assert (found.stride(), found.dtype) == (tensor.stride(), tensor.dtype)


def test_on_a_cpu_the_memory_itself_is_lent(copies: Copies, tmp_path: Path) -> None:
    place = Resting(Arena(FileBlocks(tmp_path / "offload"), block_bytes=2**20), copies)(torch.rand(1000))
    assert place.is_lent
    assert place.load().data_ptr() == place.load().data_ptr()


def test_it_is_given_back(resting: Resting) -> None:
    place = resting(torch.rand(3000))
    assert resting.arena.in_use > 0
    del place
    assert resting.arena.in_use == 0


@pytest.mark.parametrize("tensor", [*TENSORS, torch.rand(1, 4).expand(30, 4), torch.rand(20, 20)[:, 3:9]])
def test_what_was_parked_belongs_to_whoever_takes_it(resting: Resting, tensor: Tensor) -> None:
    parked = [resting.park(tensor + number) for number in range(2)]
    first = parked[0].take()
    first.add_(100)  # is nobody else's
    assert torch.equal(parked[1].take(), tensor + 1)
    assert torch.equal(resting.park(tensor).take(), tensor)


def test_what_is_on_the_device_stays_there() -> None:
    tensor = torch.rand(3)
    place = OnDevice(tensor)
    assert place.load() is tensor
    place.store(tensor)
    assert place.load() is tensor


def test_no_more_than_a_window_is_held_on_its_way(copies: Copies, tmp_path: Path) -> None:
    resting = Resting(Arena(FileBlocks(tmp_path / "offload"), block_bytes=PAGE), copies)
    for place in [InHostMemory(torch.rand(3000), resting) for _ in range(4)]:
        assert not place.is_lent
        place.store(torch.rand(3000))
    resting.settle(at_most=25000)
    assert len(resting._sent) == 2
    resting.settle()
    assert not resting._sent
