"""Costs and a budget -> what fits, and how long it takes.  Pure.

Bytes come from recorded steps (``trace``); seconds from two rates that are the same share of the data sheet's figures
on every device: it is a model, good for comparing ways to train, not for timing one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from darkpy.memory.arena import BLOCK
from darkpy.memory.costs import Operation, Trace

GB, GIB = 10**9, 2**30
COMPUTE_SHARE, BANDWIDTH_SHARE = 0.6, 0.8  # of -tflops and -membw that are reached
CONTEXT = GB // 2  # bytes: what the driver and the libraries take of a card
WORKSPACE = 256 * 2**20  # bytes left for convolutions' scratch; with less, cuDNN falls back on slower algorithms
# The one fitted number: bytes beside tensors by which a process on a CPU grows (oneDNN's kernels, threads, code that is
# read at its first use), fitted on yolov3-tiny at 416x416 with a mini-batch of 2.
LIBRARIES = 32 * 10**6
RAM_SHARE = 0.75  # of the machine's memory that may be pinned: the rest is the system's, the loader's, this process's
_MOST = 1 << 20  # images of a mini-batch


@dataclass(frozen=True, slots=True)
class Machine:
    """Rates of a device, in units of one a second."""

    flops: float  # floating point operations, by the data sheet
    bandwidth: float  # bytes of device memory, by the data sheet
    link: float  # bytes to or from host memory, as measured: both directions at once


@dataclass(frozen=True, slots=True)
class Budget:
    """Memory to use, in bytes."""

    device: int  # all that a card has for the program
    ram: int

    @property
    def pinned(self) -> int:
        """Bytes of RAM that may be pinned, in whole blocks."""
        return int(self.ram * RAM_SHARE) // BLOCK * BLOCK


@dataclass(frozen=True, slots=True)
class States:
    """What is there all the time, in bytes."""

    parameters: int
    statistics: int
    momentum: int
    average: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.parameters + self.statistics + self.momentum + self.average


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of forward and backward, and of the copies beside them."""

    forward: float
    backward: float
    copy_out: float
    copy_back: float
    total: float


@dataclass(slots=True)
class Way:
    """A step as it was recorded, and where momentum is meanwhile."""

    trace: Trace
    resting: int = 0  # bytes of momentum that are in host memory
    _peaks: dict[int, int] = field(default_factory=dict)

    @property
    def tight(self) -> bool:
        """Whether it spares memory at the price of time."""
        return self.trace.tight

    def peak(self, mini_batch: int) -> int:
        """Return the bytes that a step takes beside the states, at most."""
        if mini_batch not in self._peaks:
            self._peaks[mini_batch] = self.trace.peak(mini_batch)
        return self._peaks[mini_batch]

    def pinned(self, mini_batch: int) -> int:
        """Return the bytes of host memory, in whole blocks."""
        return -(-(self.trace.offloaded.at(mini_batch) + self.resting) // BLOCK) * BLOCK


@dataclass(frozen=True, slots=True)
class Tier:
    """What a tier costs: in one way, or in a fast one and a tight one."""

    number: int
    ways: tuple[Way, ...]  # the fastest first

    @property
    def trace(self) -> Trace:
        """A step of the fastest way."""
        return self.ways[0].trace


@dataclass(frozen=True, slots=True)
class Fit:
    """A way to train that fits."""

    tier: int
    tight: bool
    mini_batch: int
    subdivisions: int
    device: int  # bytes, without the context
    pinned: int  # bytes
    seconds: float  # an iteration


@dataclass(frozen=True, slots=True)
class Costs:
    """A network at one size."""

    states: States
    tiers: tuple[Tier, ...]
    update: Trace  # the weight update
    batch: int  # images an iteration
    largest_gradient: int  # bytes, of one parameter
    near: bool = False  # the device is a CPU: host memory is its own, and nothing is pinned
    has_file: bool = False  # a file takes the place of host memory

    def device(self, way: Way, mini_batch: int) -> int:
        """Return the bytes that training takes on the device, without the context; on a CPU with host memory."""
        beside = LIBRARIES if self.near else WORKSPACE
        arena = way.pinned(mini_batch) if self.near and not self.has_file else 0
        step = self.states.total - way.resting + beside + way.peak(mini_batch) + arena
        return max(step, self.states.total)  # the update has the momentum on the device

    def fits(self, way: Way, mini_batch: int, budget: Budget) -> bool:
        """Return whether a mini-batch fits."""
        has_host = self.near or way.pinned(mini_batch) <= budget.pinned
        return has_host and self.device(way, mini_batch) <= budget.device

    def way(self, tier: Tier, mini_batch: int, budget: Budget) -> Way | None:
        """Return the fastest way in which a mini-batch fits; None if it does in none."""
        return next((way for way in tier.ways if self.fits(way, mini_batch, budget)), None)

    def largest(self, tier: Tier, budget: Budget) -> int:
        """Return the largest mini-batch that fits, whatever the batch is; 0 if none does."""
        low, high = 0, 1
        while high < _MOST and self.way(tier, high, budget):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.way(tier, middle, budget) else (low, middle)
        return low

    def iteration(self, way: Way, mini_batch: int, subdivisions: int, machine: Machine) -> float:
        """Return the seconds of an iteration: its mini-batches and the weight update."""
        update = (
            sum(_seconds(one, 1, machine) for one in self.update.operations) + 3 * way.resting / machine.link
        )  # checked, fetched, sent
        return subdivisions * step_time(way.trace, mini_batch, machine, resting=way.resting).total + update

    def fit(self, tier: Tier, mini_batch: int, subdivisions: int, budget: Budget, machine: Machine) -> Fit:
        """Return the figures of a tier, in the fastest way that fits, or in the tightest if none does."""
        way = self.way(tier, mini_batch, budget) or tier.ways[-1]
        seconds = self.iteration(way, mini_batch, subdivisions, machine)
        device, pinned = self.device(way, mini_batch), way.pinned(mini_batch)
        return Fit(tier.number, way.tight, mini_batch, subdivisions, device, pinned, seconds)

    def best_of(self, tier: Tier, budget: Budget, machine: Machine) -> Fit | None:
        """Return the tier with the least subdivisions that fit; None if not even a mini-batch of 1 does."""
        largest = self.largest(tier, budget)
        subdivisions = least_subdivisions(self.batch, largest)
        if subdivisions is None:
            return None
        return self.fit(tier, self.batch // subdivisions, subdivisions, budget, machine)

    def recommend(self, budget: Budget, machine: Machine) -> Fit | None:
        """Return the largest mini-batch that fits, in the lowest tier that has it; None if nothing fits."""
        fits = [self.best_of(tier, budget, machine) for tier in self.tiers]
        return min((fit for fit in fits if fit is not None), key=lambda fit: (fit.subdivisions, fit.tier), default=None)


def least_subdivisions(batch: int, largest: int) -> int | None:
    """Return the smallest number that divides the batch into mini-batches of at most ``largest`` images."""
    return next((n for n in range(1, batch + 1) if batch % n == 0 and batch // n <= largest), None)


def step_time(trace: Trace, mini_batch: int, machine: Machine, *, resting: int = 0) -> StepTime:
    """Return the seconds of one mini-batch.

    Args:
        trace: The step.
        mini_batch: Images.
        machine: Its rates.
        resting: Bytes of momentum that backward fetches and sends back.

    Copies run beside the computation, each direction on its own. What cannot be hidden: copying out begins with the
    first tensor that is there, and behind the last tensor that comes back its layers are still to be computed.
    """
    times = [_seconds(one, mini_batch, machine) for one in trace.operations]
    forward, backward = sum(times[: trace.forward]), sum(times[trace.forward :])
    trips = trace.trips[: trace.waiting(mini_batch)]
    out = trace.offloaded.at(mini_batch) / machine.link
    back = sum(trip.lifetime.size.at(mini_batch) * len(trip.loads) for trip in trips) / machine.link
    first = sum(times[: min((trip.stored_at for trip in trips), default=0)])
    last_load = max((load.born for trip in trips for load in trip.loads), default=len(times))
    behind = sum(times[last_load:])
    late = trace.late(mini_batch) / machine.link  # nothing is computed meanwhile
    back += resting / machine.link
    whole = max(forward, first + out) + max(backward + late, back + behind)
    return StepTime(forward, backward, out, back, whole)


def _seconds(operation: Operation, mini_batch: int, machine: Machine) -> float:
    """Return the seconds of an operation: of computing or of moving bytes, whichever takes longer."""
    computing = operation.flops_image * mini_batch / (COMPUTE_SHARE * machine.flops)
    return max(computing, operation.moved.at(mini_batch) / (BANDWIDTH_SHARE * machine.bandwidth))


def card(gigabytes: float) -> int:
    """Return the bytes that a program has on a card of so many 'GB', which are GiB, less the context."""
    return int(gigabytes * GIB) - CONTEXT


CARDS: Sequence[int] = (2, 4, 6, 8, 11, 16, 24, 48, 80)  # 'GB' on the box
