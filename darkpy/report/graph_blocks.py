"""Layers -> blocks for the picture of a network: runs of layers at one resolution, repeats folded."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from darkpy.blueprint import LayerPlan
from darkpy.report.graph_words import is_head

_LONGEST_PATTERN = 24  # layers of a repeated block
_SAVED_ROWS = 2  # a frame with its title is as high as that
_OF_ONE_LAYER = ("where", "layers", "source", "index")  # values of a spec that differ between equal layers


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a block: a layer, or the layers that stand at one place of a repeated pattern."""

    plans: tuple[LayerPlan, ...]  # in file order

    @property
    def first(self) -> LayerPlan:
        """The layer that the row describes."""
        return self.plans[0]

    @property
    def indices(self) -> tuple[int, ...]:
        """The layers that the row stands for."""
        return tuple(plan.index for plan in self.plans)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Rows ``first`` to ``last`` of a block stand for ``times`` equal patterns one after the other."""

    first: int
    last: int
    times: int


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive layers with one output size, in pixels; a head is a block of its own."""

    steps: tuple[Step, ...]
    repeats: tuple[Repeat, ...]
    width: int
    height: int

    @property
    def first(self) -> int:
        """Index of its first layer."""
        return self.steps[0].first.index

    @property
    def last(self) -> int:
        """Index of its last layer."""
        return self.steps[-1].plans[-1].index

    @property
    def is_head(self) -> bool:
        """Whether it finds objects."""
        return is_head(self.steps[0].first)


def into_blocks(layers: Sequence[LayerPlan]) -> tuple[Block, ...]:
    """Return the blocks of a network in file order; each layer is in exactly one row of one block."""
    sizes = _sizes(layers)
    readers = _last_readers(layers)
    signatures = [_signature(plan) for plan in layers]
    starts = _starts(layers, sizes)
    blocks = []
    for start, stop in zip(starts, [*starts[1:], len(layers)], strict=True):
        steps, repeats = _folded(layers[start:stop], signatures[start:stop], readers)
        blocks.append(Block(steps, repeats, *sizes[start]))
    return tuple(blocks)


def _sizes(layers: Sequence[LayerPlan]) -> list[tuple[int, int]]:
    """Return the width and height of each layer's block.

    One pixel between two layers of equal size (squeeze-and-excitation) belongs to their block.
    """
    sizes = [(plan.output.width, plan.output.height) for plan in layers]
    start = None
    for index, size in enumerate(sizes[:]):
        if size == (1, 1):
            start = index if start is None else start
        elif start is not None:
            if start > 0 and sizes[start - 1] == size:
                sizes[start:index] = [size] * (index - start)
            start = None
    return sizes


def _starts(layers: Sequence[LayerPlan], sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Return the first layer of each block.

    A block ends at another size, around a head, and where a layer takes up the thread from a block before: unless
    the thread that it leaves is taken up again in the same run of layers, as where a neck joins two branches.
    """
    ends = [a != b for a, b in pairwise(zip(sizes, map(is_head, layers), strict=True))]
    ends = [end or is_head(plan) for end, plan in zip(ends, layers[1:], strict=True)]  # two heads, one after the other
    runs = list(accumulate(ends, initial=0))  # the number of each layer's run
    first_readers = {source: plan.index for plan in reversed(layers) for source in plan.sources}
    starts = [0]
    for plan in layers[1:]:
        before = plan.index - 1
        jumps = before not in plan.sources and min(plan.sources) < starts[-1]
        is_joined = before in first_readers and runs[first_readers[before]] == runs[before]
        if ends[before] or (jumps and not is_joined):
            starts.append(plan.index)
    return starts


def _last_readers(layers: Sequence[LayerPlan]) -> dict[int, int]:
    """Return the last layer that reads each layer."""
    return {source: plan.index for plan in layers for source in plan.sources}


def _signature(plan: LayerPlan) -> str:
    """Return a text that is the same for layers that do the same with what lies equally far back."""
    values = {
        field.name: getattr(plan.spec, field.name)
        for field in dataclasses.fields(plan.spec)  # type: ignore[arg-type]  # specs are dataclasses
        if field.name not in _OF_ONE_LAYER
    }
    offsets = [source - plan.index for source in plan.sources]
    return repr((plan.kind, values, offsets, plan.inputs, plan.output))


def _folded(
    layers: Sequence[LayerPlan], signatures: Sequence[str], readers: dict[int, int]
) -> tuple[tuple[Step, ...], tuple[Repeat, ...]]:
    """Return the rows of a block."""
    steps: list[Step] = []
    repeats: list[Repeat] = []
    at = 0
    while at < len(layers):
        length, times = _pattern(layers[at:], signatures[at:], readers)
        if times > 1:
            repeats.append(Repeat(len(steps), len(steps) + length - 1, times))
        for place in range(at, at + length):
            steps.append(Step(tuple(layers[place : place + length * times : length])))
        at += length * times
    return tuple(steps), tuple(repeats)


def _pattern(layers: Sequence[LayerPlan], signatures: Sequence[str], readers: dict[int, int]) -> tuple[int, int]:
    """Return length and number of the equal patterns that begin here and cover most layers; 1, 1 without any."""
    best = (1, 1)
    for length in range(1, min(_LONGEST_PATTERN, len(layers) // 2) + 1):
        if not _reads_only_itself(layers[:length]):
            continue
        times = 1
        while _same(signatures, length, times):
            times += 1
        while times > 1 and _is_read_inside(layers[: length * times], readers):
            times -= 1
        if length * (times - 1) >= _SAVED_ROWS and length * times > best[0] * best[1]:
            best = (length, times)
    return best


def _same(signatures: Sequence[str], length: int, times: int) -> bool:
    """Return whether pattern number ``times`` is there and equals the first."""
    return signatures[length * times : length * (times + 1)] == signatures[:length]


def _reads_only_itself(pattern: Sequence[LayerPlan]) -> bool:
    """Return whether each layer reads the pattern or the layer before it, and the thread is not lost at its start."""
    before = pattern[0].index - 1
    return before in pattern[0].sources and all(min(plan.sources) >= before for plan in pattern)


def _is_read_inside(layers: Sequence[LayerPlan], readers: dict[int, int]) -> bool:
    """Return whether a later layer reads one of these other than the last: that one must keep a row of its own."""
    last = layers[-1].index
    return any(readers.get(plan.index, 0) > last for plan in layers[:-1])
