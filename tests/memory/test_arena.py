"""The laws of the arena, over many takes and returns, with blocks of a few pages."""

import random
import threading
import time
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from darkpy.errors import MemoryPlanError
from darkpy.memory.arena import BLOCK, PAGE, Arena, Piece

# of yolov3-spp's first part: channels, stride, pairs of convolutions
STAGES = ((64, 2, 1), (128, 4, 2), (256, 8, 8), (512, 16, 8), (1024, 32, 4))


class SmallBlocks:
    """Real memory; keeps note of what is asked, and fails from the given block on."""

    def __init__(self, *, at_most: int = 10**9) -> None:
        self.at_most = at_most
        self.made: list[Tensor] = []
        self.more: list[int] = []
        self.notes: list[tuple[int, int, int]] = []  # block, start, stop

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        self.more.append(more)
        if len(self.made) >= self.at_most:
            raise MemoryPlanError("no more")
        self.made.append(torch.full((nbytes,), 255, dtype=torch.uint8))
        return self.made[-1]

    def written(self, block: Tensor, start: int, stop: int) -> None:
        assert 0 <= start < stop <= block.numel()
        (index,) = [index for index, made in enumerate(self.made) if made.data_ptr() == block.data_ptr()]
        self.notes.append((index, start, stop))


class NoBlocks:
    """Blocks that have a size only."""

    def make(self, nbytes: int, *, more: int = 0) -> Tensor:
        return torch.empty(nbytes, dtype=torch.uint8, device="meta")

    def written(self, block: Tensor, start: int, stop: int) -> None:
        pass


def fill(piece: Piece, nbytes: int, value: int) -> None:
    for part in piece.parts(nbytes):
        part.fill_(value)


def values(piece: Piece, nbytes: int) -> set[int]:
    return set(torch.cat(piece.parts(nbytes)).tolist())


def own_pages(piece: Piece) -> set[int]:
    return set(range(piece.start // PAGE, piece.stop // PAGE))


def spp_sizes(mini_batch: int) -> Iterator[int]:
    """Yield the bytes of what is saved for the convolutions of yolov3-spp at 416, in forward order."""
    shapes = [(3, 1), (32, 1)]
    for channels, stride, repeats in STAGES:
        shapes += [(channels, stride), *[(channels // 2, stride), (channels, stride)] * repeats]
    shapes += [(512, 32), (1024, 32)] * 3 + [(2048, 32), (255, 32)]
    shapes += [(256, 32), *[(256, 16), (512, 16)] * 3, (255, 16)]
    shapes += [(128, 16), *[(128, 8), (256, 8)] * 3, (255, 8)]
    return (mini_batch * channels * (416 // stride) ** 2 * 4 for channels, stride in shapes)


def test_no_block_is_made_before_the_first_piece() -> None:
    blocks = SmallBlocks()
    arena = Arena(blocks, block_bytes=PAGE)
    assert (arena.blocks, arena.in_use, arena.peak) == (0, 0, 0)
    piece = arena.take(1)
    assert (arena.blocks, arena.in_use, arena.peak) == (1, PAGE, PAGE)
    del piece
    assert (arena.blocks, arena.in_use, arena.peak) == (1, 0, PAGE)


def test_a_block_has_exactly_one_gib() -> None:
    """More would be rounded up to the next power of two where it is pinned."""
    assert BLOCK == 2**30
    assert Arena(NoBlocks()).block_bytes == BLOCK


@pytest.mark.parametrize("size", [0, PAGE - 1, PAGE + 1, -PAGE])
def test_a_block_is_a_number_of_pages(size: int) -> None:
    with pytest.raises(ValueError, match=f"block_bytes={size}: must be a multiple of 4096"):
        Arena(SmallBlocks(), block_bytes=size)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="nbytes=-1: must not be negative"):
        Arena(SmallBlocks()).take(-1)


def test_an_empty_piece_has_a_place_of_its_own() -> None:
    arena = Arena(SmallBlocks(), block_bytes=4 * PAGE)
    first, second = arena.take(0), arena.take(0)
    assert first.start != second.start
    assert first.parts(0) == []


def test_the_lowest_place_that_fits_is_taken() -> None:
    arena = Arena(SmallBlocks(), block_bytes=16 * PAGE)
    pieces = [arena.take(pages * PAGE) for pages in (2, 1, 3, 1, 2)]
    del pieces[2], pieces[0]
    assert arena.take(3 * PAGE).start == 3 * PAGE
    assert arena.take(PAGE).start == 0
    assert arena.take(4 * PAGE).start == 9 * PAGE


def test_a_piece_over_a_border_is_parts_of_both_blocks() -> None:
    blocks = SmallBlocks()
    arena = Arena(blocks, block_bytes=4 * PAGE)
    before, piece = arena.take(3 * PAGE), arena.take(7 * PAGE)
    parts = piece.parts(6 * PAGE + 5)
    assert [part.numel() for part in parts] == [PAGE, 4 * PAGE, PAGE + 5]
    assert [part.data_ptr() for part in parts] == [
        blocks.made[0].data_ptr() + 3 * PAGE,
        blocks.made[1].data_ptr(),
        blocks.made[2].data_ptr(),
    ]
    assert blocks.more == [0, 4 * PAGE, 0]  # of the two blocks that the second piece needs, the first says so
    piece.written(0, 5 * PAGE)
    assert blocks.notes == [(0, 3 * PAGE, 4 * PAGE), (1, 0, 4 * PAGE)]
    assert before.parts(PAGE)[0].data_ptr() == blocks.made[0].data_ptr()


def test_more_than_a_piece_has_is_refused() -> None:
    """It would be another piece's bytes."""
    piece = Arena(SmallBlocks(), block_bytes=4 * PAGE).take(100)
    with pytest.raises(ValueError, match="bytes 0 to 4097: the piece has 4096"):
        piece.parts(PAGE + 1)
    with pytest.raises(ValueError, match="bytes 0 to 4097: the piece has 4096"):
        piece.written(0, PAGE + 1)


def test_a_piece_that_dies_is_not_needed_soon() -> None:
    """What was read back would else stay in memory, beside the file that it is in."""
    blocks = SmallBlocks()
    arena = Arena(blocks, block_bytes=4 * PAGE)
    arena.take(6 * PAGE)
    assert blocks.notes == [(0, 0, 4 * PAGE), (1, 0, 2 * PAGE)]


def test_more_than_eight_blocks_keep_their_contents() -> None:
    """Where darknet gave two arrays of one block the same address."""
    arena = Arena(SmallBlocks(), block_bytes=8 * PAGE)
    sizes = [(3 + index % 5) * PAGE - 7 * index for index in range(40)]
    pieces = [arena.take(size) for size in sizes]
    for index, (piece, size) in enumerate(zip(pieces, sizes, strict=True)):
        fill(piece, size, index)
    assert arena.blocks > 8
    assert [values(piece, size) for piece, size in zip(pieces, sizes, strict=True)] == [{i} for i in range(40)]


@pytest.mark.slow
def test_the_laws_hold_over_100_000_operations() -> None:
    """No page has two owners, contents stay, bytes add up, and in the end all is one free range."""
    rng = random.Random(5)
    arena = Arena(SmallBlocks(), block_bytes=16 * PAGE)
    owned: list[tuple[Piece, int, int | None]] = []  # the piece, its bytes, its contents
    pages: set[int] = set()
    for number in range(100_000):
        if owned and rng.random() < (0.3 if len(owned) < 200 else 0.6):
            place = rng.randrange(len(owned))
            owned[place], owned[-1] = owned[-1], owned[place]
            piece, nbytes, value = owned.pop()
            assert value is None or all(bool((part == value).all()) for part in piece.parts(nbytes))
            pages -= own_pages(piece)
        else:
            nbytes = rng.randint(1, rng.choice((1, 5, 40)) * PAGE)
            piece = arena.take(nbytes)
            assert piece.stop - piece.start == -(-nbytes // PAGE) * PAGE
            assert pages.isdisjoint(own_pages(piece))
            pages |= own_pages(piece)
            value = number % 251 if number % 20 == 0 else None
            if value is not None:
                fill(piece, nbytes, value)
            owned.append((piece, nbytes, value))
        del piece
        if number % 1000 == 0:
            assert arena.in_use == len(pages) * PAGE
    assert arena.blocks * arena.block_bytes >= arena.peak > (arena.blocks - 1) * arena.block_bytes
    owned.clear()
    assert arena.in_use == 0
    assert arena.take(arena.peak).start == 0  # as one range


@pytest.mark.slow
def test_100_000_takes_among_3000_pieces_are_quick() -> None:
    arena, rng = Arena(NoBlocks()), random.Random(6)
    pieces = [arena.take(rng.randint(1, 100) * PAGE) for _ in range(3000)]
    sizes = [rng.randint(1, 100) * PAGE for _ in range(100_000)]
    places = [rng.randrange(3000) for _ in range(100_000)]
    start = time.process_time()
    for size, place in zip(sizes, places, strict=True):
        pieces[place] = arena.take(size)
    assert time.process_time() - start < 8  # s; 1 to 2 on a quiet machine
    assert arena.in_use == sum(piece.stop - piece.start for piece in pieces)


def test_pieces_may_die_in_any_thread() -> None:
    arena = Arena(SmallBlocks(), block_bytes=64 * PAGE)
    failures = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        mine: list[Piece] = []
        for _ in range(500):
            piece = arena.take(rng.randint(1, 3 * PAGE))
            fill(piece, PAGE, seed)
            mine.append(piece)
            if values(rng.choice(mine), PAGE) != {seed}:
                failures.append(seed)
            if len(mine) > 10:
                mine.pop(rng.randrange(10))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert arena.in_use == 0


def test_a_piece_may_die_while_another_is_taken() -> None:
    """As when the garbage collector finds a cycle just then."""

    class Dropping(SmallBlocks):
        def make(self, nbytes: int, *, more: int = 0) -> Tensor:
            pieces.clear()
            return super().make(nbytes, more=more)

    arena = Arena(Dropping(), block_bytes=4 * PAGE)
    pieces: list[Piece] = []
    pieces += [arena.take(2 * PAGE), arena.take(2 * PAGE)]
    piece = arena.take(PAGE)
    assert piece.start == 4 * PAGE
    assert arena.in_use == PAGE
    assert arena.take(PAGE).start == 0


def test_a_block_that_cannot_be_had_leaves_all_as_it_was() -> None:
    blocks = SmallBlocks(at_most=2)
    arena = Arena(blocks, block_bytes=4 * PAGE)
    piece = arena.take(3 * PAGE)
    fill(piece, 3 * PAGE, 9)
    for _ in range(2):
        with pytest.raises(MemoryPlanError, match="no more"):
            arena.take(8 * PAGE)
        assert (arena.in_use, arena.peak) == (3 * PAGE, 3 * PAGE)
    assert values(piece, 3 * PAGE) == {9}
    assert arena.take(5 * PAGE).start == 3 * PAGE  # what is there can still be had


def test_a_line_is_said_when_a_block_is_left_and_for_the_last_one() -> None:
    lines: list[str] = []
    arena = Arena(SmallBlocks(), block_bytes=8 * PAGE, say=lines.append)
    pieces = [arena.take(3 * PAGE), arena.take(4 * PAGE)]
    assert lines == []
    pieces[0] = arena.take(PAGE)  # the last page; then the first three are free
    pieces.append(arena.take(4 * PAGE))
    assert lines == [" Pinned block_id = 0, filled = 62.500000 % "]
    pieces.append(arena.take(18 * PAGE))
    assert lines[1:] == [f" Pinned block_id = {block}, filled = 100.000000 % " for block in (1, 2)]
    pieces.clear()
    arena.tell_last()
    assert lines[3:] == [" Pinned block_id = 3, filled = 75.000000 % "]


def test_the_last_line_is_said_once_unless_another_block_came() -> None:
    lines: list[str] = []
    arena = Arena(SmallBlocks(), block_bytes=4 * PAGE, say=lines.append)
    arena.tell_last()
    assert lines == []
    arena.take(PAGE)
    arena.tell_last()
    arena.tell_last()
    assert lines == [" Pinned block_id = 0, filled = 25.000000 % "]
    arena.take(5 * PAGE)
    arena.tell_last()
    assert lines[1:] == [
        f" Pinned block_id = {block}, filled = {fill} % " for block, fill in ((0, "100.000000"), (1, "25.000000"))
    ]


def test_without_a_listener_nothing_is_said() -> None:
    arena = Arena(SmallBlocks(), block_bytes=PAGE)
    arena.take(2 * PAGE)
    arena.tell_last()
    assert arena.blocks == 2


@pytest.mark.parametrize("mini_batch", [8, 16, 20, 32])
def test_blocks_are_full_when_they_are_left(mini_batch: int) -> None:
    """At least 0.95 each, but for the last one; what yolov3-spp saves at 416."""
    lines: list[str] = []
    arena = Arena(NoBlocks(), say=lines.append)
    for _ in range(3):
        pieces = [arena.take(nbytes) for nbytes in spp_sizes(mini_batch)]
        total = arena.in_use
        pieces.clear()
        arena.tell_last()
    fills = [float(line.split("=")[2].split("%")[0]) for line in lines]
    assert len(fills) == arena.blocks == -(-total // BLOCK) >= 2
    assert min(fills[:-1]) >= 95
    assert arena.peak == total
    assert 150e6 < total / mini_batch < 170e6  # bytes an image: 157 MB of outputs, and the image
    assert arena.in_use == 0


def test_other_sizes_in_later_steps_leave_no_holes() -> None:
    """As random=1 chooses them: all pieces die in each step."""
    arena = Arena(NoBlocks())
    for mini_batch in (8, 20, 10, 20, 8, 20):
        pieces = [arena.take(nbytes) for nbytes in spp_sizes(mini_batch)]
        assert pieces[-1].stop == arena.in_use
        pieces.clear()
    assert arena.peak == sum(-(-nbytes // PAGE) * PAGE for nbytes in spp_sizes(20))
