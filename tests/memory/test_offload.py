"""Tensors in host memory: the same bits come back, the windows hold, and nothing is left behind."""

import gc
import threading
import weakref
from collections.abc import Iterator, Sequence

import pytest
import torch
from small_models import gradients, made
from torch import Tensor

from darkpy.memory.arena import Arena
from darkpy.memory.copies import Copies, Done, ThreadCopies, Ticket
from darkpy.memory.offload import Offload
from darkpy.memory.saving import SavedActivations
from darkpy.memory.tiers import TieredMemory

CPU = torch.device("cpu")


class Ram:
    """Blocks of plain memory."""

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        return torch.zeros(nbytes, dtype=torch.uint8)

    def written(self, block: Tensor, start: int, stop: int) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


class Slow:
    """Copies that happen when somebody waits for them, which shows who forgets to."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def out(self, source: Tensor, target: Sequence[Tensor], done: Done) -> Ticket:
        self.begun.append("out")
        return _Later(lambda: _copy([source], target))

    def back(self, source: Sequence[Tensor], target: Tensor, done: Done) -> Ticket:
        self.begun.append("back")
        return _Later(lambda: _copy(source, [target]))

    def close(self) -> None:
        """Nothing to do."""


class _Later:
    def __init__(self, work) -> None:  # type: ignore[no-untyped-def]
        self.work, self.done = work, False

    def wait(self) -> None:
        if not self.done:
            self.work()
        self.done = True

    def is_done(self) -> bool:
        return self.done


def _copy(source: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    joined, offset = torch.cat(list(source)), 0
    for part in target:
        part.copy_(joined[offset : offset + part.numel()])
        offset += part.numel()


def arena(block_bytes: int = 2**20) -> Arena:
    return Arena(Ram(), block_bytes=block_bytes)


@pytest.fixture
def copies() -> Iterator[Copies]:
    made_copies = ThreadCopies()
    yield made_copies
    made_copies.close()


@pytest.mark.parametrize("writing", [0, 2**20, 2**30], ids=["no window", "1 MiB", "all"])
@pytest.mark.parametrize("ahead", [0, 2**20, 2**30], ids=["no window", "1 MiB", "all"])
@pytest.mark.parametrize("kind", [ThreadCopies, Slow])
def test_gradients_are_the_same_bits(kind: type, ahead: int, writing: int) -> None:
    block, x = made("leaky")
    expected = gradients(block, x)
    block, x = made("leaky")
    engine = kind()
    offload = Offload(arena(), engine, writing=writing, ahead=ahead)
    with SavedActivations(offload, recompute_sums=True):
        found = gradients(block, x)
    offload.end()
    engine.close()
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert offload.arena.in_use == 0


@pytest.mark.parametrize(
    "tensor",
    [
        torch.rand(3, 5, 7, 9),
        torch.rand(3, 5, 7, 9).to(memory_format=torch.channels_last),
        torch.rand(6, 100).t(),
        torch.arange(1000).view(10, 100),
        torch.rand(50) > 0.5,
        torch.rand(1000).bfloat16(),
    ],
    ids=["plain", "channels_last", "transposed", "int64", "bool", "bfloat16"],
)
def test_what_comes_back_has_the_values_sizes_and_strides(tensor: Tensor, copies: Copies) -> None:
    offload = Offload(arena(4096), copies, writing=0)
    slots = [offload(tensor.clone()), offload(torch.rand(10))]
    assert slots[0].tensor is None  # written, and let go
    back = slots[0].load(is_turn=True)
    assert torch.equal(back, tensor)
    assert (back.stride(), back.dtype) == (tensor.stride(), tensor.dtype)


def test_no_more_than_the_window_waits_on_the_device(copies: Copies) -> None:
    offload = Offload(arena(), copies, writing=3000)
    slots = [offload(torch.rand(250)) for _ in range(8)]  # 1000 bytes each
    assert [slot.tensor is not None for slot in slots] == [False] * 5 + [True] * 3
    large = offload(torch.rand(2500))
    assert large.tensor is not None  # one that is larger than the window is let through
    assert [slot.tensor is not None for slot in slots] == [False] * 8


def test_what_died_while_it_waited_counts_no_more(copies: Copies) -> None:
    offload = Offload(arena(), copies, writing=3000)
    for _ in range(10):
        offload(torch.rand(250))
    last = [offload(torch.rand(250)) for _ in range(3)]
    assert all(slot.tensor is not None for slot in last)


def test_backward_fetches_ahead_in_reverse_order_up_to_the_window() -> None:
    engine = Slow()
    offload = Offload(arena(), engine, writing=0, ahead=2000)
    slots = [offload(torch.full((250,), float(number))) for number in range(8)]
    slots[-1].let_go()
    slots[6].load(is_turn=True)
    assert [slot.fetched is not None for slot in slots] == [False] * 4 + [True, True, False, False]
    slots[5].load(is_turn=True)
    assert [slot.fetched is not None for slot in slots] == [False] * 3 + [True, True, False, False, False]
    for number, slot in reversed(list(enumerate(slots))):
        assert torch.equal(slot.load(is_turn=True), torch.full((250,), float(number)))


def test_what_is_loaded_out_of_turn_fetches_nothing_ahead() -> None:
    offload = Offload(arena(), Slow(), writing=0, ahead=2000)
    slots = [offload(torch.full((250,), float(number))) for number in range(8)]
    slots[6].load(is_turn=False)
    assert all(slot.fetched is None for slot in slots)


@pytest.mark.parametrize(("tight", "fetched"), [(False, [True, True]), (True, [False, False])])
def test_a_large_tensor_is_not_fetched_ahead_where_memory_is_tight(tight: bool, fetched: list[bool]) -> None:
    """One that is larger than half of the largest waits for its turn, and what was stored before it, too."""
    offload = Offload(arena(), Slow(), tight=tight, writing=0, ahead=0)
    slots = [offload(torch.rand(size)) for size in (100, 600, 1000, 250, 250)]
    slots[-1].let_go()
    slots[2].load(is_turn=True)
    assert [slot.fetched is not None for slot in slots[:2]] == fetched


def test_a_slot_that_dies_waits_for_its_copies_before_the_piece_gets_another_owner() -> None:
    engine = Slow()
    offload = Offload(arena(4096), engine, writing=2**20)
    first = offload(torch.ones(1000))
    ticket = first.written
    del first
    assert ticket.is_done()
    second = offload(torch.full((1000,), 2.0))
    assert torch.equal(second.load(is_turn=True), torch.full((1000,), 2.0))
    assert offload.arena.blocks == 1


def test_pieces_are_given_back_after_an_exception_and_a_dropped_graph(copies: Copies) -> None:
    offload = Offload(arena(), copies)
    block, x = made("mish")
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), SavedActivations(offload):
            block(x).sum().backward(1 / 0)
        with SavedActivations(offload):
            block(x)
        gc.collect()
        offload.end()
        assert offload.arena.in_use == 0
    assert offload.arena.blocks < 10


def test_host_memory_that_is_short_is_an_error_and_frees_what_was_taken(copies: Copies) -> None:
    class Short(Ram):
        def make(self, nbytes: int, *, more: int = 0) -> Tensor:
            if self.left == 0:
                raise MemoryError("no more blocks")
            self.left -= 1
            return super().make(nbytes, more=more)

        left = 2

    offload = Offload(Arena(Short(), block_bytes=2**20), copies)
    block, x = made("leaky")
    with pytest.raises(MemoryError, match="no more blocks"), SavedActivations(offload):
        block(x)
    gc.collect()
    offload.end()
    assert offload.arena.in_use == 0


@pytest.mark.parametrize("tier", [0, 1, 2, 3])
def test_every_tier_gives_the_same_bits_step_after_step(tier: int) -> None:
    block, x = made("leaky")
    expected = [gradients(block, x) for _ in range(3)]
    block, x = made("leaky")
    memory = TieredMemory(tier, CPU, blocks=Ram(), window=2**18)
    for wanted in expected:
        with memory.step():
            found = gradients(block, x)
        assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))
        assert memory.arena is None or memory.arena.in_use == 0
    memory.close()
    assert "darkpy-copies" not in {thread.name[:13] for thread in threading.enumerate()}


def test_the_last_block_is_told_once_after_the_first_step() -> None:
    lines: list[str] = []
    memory = TieredMemory(2, CPU, blocks=Ram(), say=lines.append)
    block, x = made("leaky")
    for _ in range(2):
        with memory.step():
            gradients(block, x)
    memory.close()
    (line,) = lines
    assert line.startswith(" Pinned block_id = 0, filled = 0.")


@pytest.mark.parametrize(
    ("tier", "blocks", "match"), [(4, Ram(), r"tier=4: must be one of"), (2, None, "tier=2: needs")]
)
def test_a_tier_that_cannot_be_is_refused(tier: int, blocks: Ram | None, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        TieredMemory(tier, CPU, blocks=blocks)


def test_slots_leave_no_cycle_behind(copies: Copies) -> None:
    offload = Offload(arena(), copies)
    slot = offload(torch.rand(1000))
    watched = weakref.ref(slot)
    gc.disable()
    try:
        del slot
        assert watched() is None
    finally:
        gc.enable()
