"""What a training step needs, as numbers that hold for every mini-batch.

Almost every tensor of a step grows with the mini-batch, the others do not grow at all: each number is so much an image,
and so much besides.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from darkpy.memory.offload import WINDOW, ahead_of


@dataclass(frozen=True, slots=True)
class Linear:
    """A number of bytes: so many for each image of the mini-batch, and so many besides."""

    image: int = 0
    fixed: int = 0

    def at(self, mini_batch: int) -> int:
        """Return the bytes of a mini-batch."""
        return self.image * mini_batch + self.fixed

    def __add__(self, other: "Linear") -> "Linear":
        return Linear(self.image + other.image, self.fixed + other.fixed)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """One piece of memory: when it came and when it went, counted in operations, both included."""

    size: Linear
    born: int
    died: int
    module: str  # that ran when it came; "" outside of all
    is_saved: bool = False  # autograd asked to keep it


@dataclass(frozen=True, slots=True)
class Trip:
    """A tensor that went to a store: when, and when it was asked for."""

    lifetime: Lifetime  # of the original
    stored_at: int
    loads: tuple[Lifetime, ...]  # copies that came back, in order
    turns: tuple[int, ...]  # when it was backward's turn to need it, so that others were fetched ahead


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a step."""

    name: str
    module: str
    is_backward: bool
    flops_image: int  # floating point operations for an image, of convolutions and matrix products
    moved: Linear  # bytes read and written
    weights: int = 0  # bytes of a convolution's weights


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded step."""

    operations: tuple[Operation, ...]
    lifetimes: tuple[Lifetime, ...]  # of what is in no trip
    trips: tuple[Trip, ...] = ()  # in the order of storing
    tight: bool = False  # as of ``Offload``
    first: "Trace | None" = None  # the first step, if it goes otherwise: it does not know what comes last

    @property
    def forward(self) -> int:
        """Number of operations before backward begins."""
        return next((i for i, one in enumerate(self.operations) if one.is_backward), len(self.operations))

    @property
    def offloaded(self) -> Linear:
        """Bytes that wait in the store when backward begins."""
        return total(trip.lifetime.size for trip in self.trips)

    @property
    def saved(self) -> Linear:
        """Bytes that backward asks for and that stay on the device."""
        return total(one.size for one in self.lifetimes if one.is_saved)

    def live(self, mini_batch: int, *, copies: int = 0) -> list[int]:
        """Return the bytes that are taken during each operation, with the windows of ``Offload``.

        Args:
            mini_batch: Images.
            copies: How many copies of its weights a convolution makes for itself.
        """
        changes = [0] * (len(self.operations) + 1)
        for size, born, died in self._occupied(mini_batch):
            changes[born] += size.at(mini_batch)
            changes[died + 1] -= size.at(mini_batch)
        taken = accumulate(changes)
        return [live + copies * one.weights for live, one in zip(taken, self.operations, strict=False)]

    def peak(self, mini_batch: int, *, copies: int = 0) -> int:
        """Return the largest of ``live``, of the first step and of later ones."""
        first = 0 if self.first is None else self.first.peak(mini_batch, copies=copies)
        return max([first, *self.live(mini_batch, copies=copies)])

    def waiting(self, mini_batch: int) -> int:
        """Return the index of the first trip whose tensor is still on the device when backward begins."""
        inside, first = 0, len(self.trips)
        while first and (
            first == len(self.trips) or inside + self.trips[first - 1].lifetime.size.at(mini_batch) <= WINDOW
        ):
            first -= 1
            inside += self.trips[first].lifetime.size.at(mini_batch)
        return first

    def ahead(self, mini_batch: int) -> int:
        """Return the bytes that may be fetched ahead."""
        largest = max((trip.lifetime.size.at(mini_batch) for trip in self.trips), default=0)
        return ahead_of(largest, tight=self.tight)

    def late(self, mini_batch: int) -> int:
        """Return the bytes of tensors that are too large to be fetched ahead."""
        window = self.ahead(mini_batch)
        sizes = ((trip.lifetime.size.at(mini_batch), trip) for trip in self.trips[: self.waiting(mini_batch)])
        return sum(size * len(trip.loads) for size, trip in sizes if size > window)

    def _occupied(self, mini_batch: int) -> Iterator[tuple[Linear, int, int]]:
        """Yield each piece with the first and the last operation at which its memory is taken."""
        for one in self.lifetimes:
            yield one.size, one.born, one.died
        until, since = self._written(mini_batch), self._fetched(mini_batch)
        waiting = self.waiting(mini_batch)
        for place, trip in enumerate(self.trips):
            one = trip.lifetime
            last = max(one.died, until[place])
            if place >= waiting and trip.loads:
                last = max(one.died, trip.loads[0].born - 1)
            yield one.size, one.born, last
            for number, load in enumerate(trip.loads):
                born = load.born if place >= waiting else since.get((place, number), load.born)
                yield load.size, max(born, min(until[place] + 1, load.born)), load.died

    def _written(self, mini_batch: int) -> list[int]:
        """Return for each trip the operation before which its tensor leaves the window of what is to be written."""
        until = [self.forward - 1] * len(self.trips)
        oldest, inside = 0, 0
        for newest, trip in enumerate(self.trips):
            inside += trip.lifetime.size.at(mini_batch)
            while inside > WINDOW and oldest < newest:
                until[oldest] = trip.stored_at
                inside -= self.trips[oldest].lifetime.size.at(mini_batch)
                oldest += 1
        return until

    def _fetched(self, mini_batch: int) -> dict[tuple[int, int], int]:
        """Return for trips and their loads the operation at which a load begins, because others are read."""
        since: dict[tuple[int, int], int] = {}
        waiting, window = self.waiting(mini_batch), self.ahead(mini_batch)
        sizes = [trip.lifetime.size.at(mini_batch) for trip in self.trips]
        for when, place in sorted((when, place) for place, trip in enumerate(self.trips) for when in trip.turns):
            inside = 0
            for before in range(min(place, waiting) - 1, -1, -1):
                number = next((i for i, load in enumerate(self.trips[before].loads) if load.born > when), None)
                if number is None:
                    continue  # it was let go, or is there
                inside += sizes[before]
                if inside > window:
                    break
                since.setdefault((before, number), when)
        return since


def total(sizes: Iterable[Linear]) -> Linear:
    """Return the sum."""
    return sum(sizes, Linear())
