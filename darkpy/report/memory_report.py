"""What `detector memory` prints: what a step needs and why, what fits where, and the lines to paste into a cfg."""

from collections.abc import Iterator
from dataclasses import dataclass

from darkpy.memory.costs import Trace
from darkpy.memory.plan import (
    BANDWIDTH_SHARE,
    CARDS,
    COMPUTE_SHARE,
    CONTEXT,
    GB,
    RAM_SHARE,
    WORKSPACE,
    Budget,
    Costs,
    Fit,
    Machine,
    Tier,
    card,
)

TIGHT = "*"  # marks a tier that had to spare memory at the price of time
WHAT_TIERS_DO = (
    "plain: autograd keeps what it keeps",
    "batch norm, activations and pooling are computed again in backward",
    "and what is left waits in host memory",
    "and sums and concatenations are computed again, too",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is planned, as the reader knows it."""

    cfg: str
    size: str  # "608x608"
    why_size: str
    subdivisions: int
    optimized_memory: int
    truths: int  # objects in a picture for which the loss was measured

    def mini_batch(self, batch: int) -> int:
        """Return the images of a mini-batch as the cfg has it."""
        return max(batch // self.subdivisions, 1)


def amount(number: float) -> str:
    """Return bytes in decimal MB, or GB from a thousand of them on."""
    return f"{number / GB:.2f} GB" if number >= GB else f"{number / 1e6:.1f} MB"


def images(number: int) -> str:
    """Return '1 image', '2 images'."""
    return f"{number} image{'' if number == 1 else 's'}"


def training_lines(subject: Subject, costs: Costs, budget: Budget, machine: Machine) -> Iterator[str]:
    """Yield the report on training."""
    mini_batch = subject.mini_batch(costs.batch)
    yield (
        f"{subject.cfg}: training at {subject.size} ({subject.why_size}), batch={costs.batch} "
        f"subdivisions={subject.subdivisions}: mini-batch {mini_batch}"
    )
    yield ""
    yield from _needs(subject, costs)
    yield ""
    yield from _tiers(costs, mini_batch, subject.subdivisions, budget, machine)
    yield ""
    yield from _cards(costs, budget, machine)
    yield ""
    yield from _assumptions(budget, machine)
    yield ""
    yield from _advice(subject, costs, budget, machine)


def inference_lines(subject: Subject, weights: int, trace: Trace) -> Iterator[str]:
    """Yield the report on detection."""
    live = trace.live(1)
    peak = max(live, default=0)
    where = trace.operations[live.index(peak)].module if live else ""
    yield f"{subject.cfg}: detecting at {subject.size}, one picture at a time"
    yield _row("weights", weights, "batch norm is folded into them")
    yield _row(
        "largest live set", peak, f"what is needed at once, in {_at(where)}; an output goes after its last reader"
    )
    yield _row("workspace", WORKSPACE, "for cuDNN's convolutions; with less, it takes slower ones")
    yield _row("context", CONTEXT, "of the driver and the libraries")
    yield _row("in all", weights + peak + WORKSPACE + CONTEXT, "on the card")


def _row(name: str, number: float, reason: str) -> str:
    return f"  {name:<19}{amount(number):>10}  {reason}"


def _needs(subject: Subject, costs: Costs) -> Iterator[str]:
    states, plain = costs.states, costs.tiers[0]
    yield "What a step needs"
    yield _row("parameters", states.parameters, f"{states.parameters // 4:,} numbers of 4 bytes")
    yield _row("running statistics", states.statistics, "mean and variance of each filter with batch norm")
    yield _row(
        "momentum", states.momentum, "kept from one iteration to the next; mini-batches add their gradients to it"
    )
    if states.average:
        yield _row("average", states.average, "of the weights: ema_alpha")
    yield _row(
        "gradients",
        costs.largest_gradient,
        f"the largest one: each is freed once it is in the momentum (all together: {amount(states.parameters)})",
    )
    yield _row("activations", plain.trace.saved.image, "an image, in tier 0: what autograd keeps for backward")
    yield from _biggest(plain)
    yield _row("workspace", WORKSPACE, "for cuDNN's convolutions; with less, it takes slower ones")
    yield _row("context", CONTEXT, "of the driver and the libraries; not in the figures below")
    mini_batch = subject.mini_batch(costs.batch)
    whole = costs.device(plain.ways[0], mini_batch)
    yield (
        f"  So {amount(states.parameters)} of weights become {amount(whole)} on the device: "
        f"{amount(states.total)} of states, {amount(WORKSPACE)} of workspace, and {images(mini_batch)} x "
        f"{amount(plain.ways[0].peak(mini_batch) / mini_batch)}."
    )
    yield f"  The loss counts as measured with {subject.truths} objects in every picture."


def _biggest(plain: Tier) -> Iterator[str]:
    trace = plain.trace
    forward = [one for one in trace.lifetimes if one.born < trace.forward]
    biggest = max(forward, key=lambda one: one.size.image)
    yield _row(
        "biggest layer",
        biggest.size.image,
        f"an image: {_at(biggest.module)}; no tier needs less than a few of these at once",
    )


def _at(module: str) -> str:
    """Return 'layer 3' for 'layers.3'."""
    return f"layer {module.removeprefix('layers.')}" if module.startswith("layers.") else "outside of the layers"


def _tiers(costs: Costs, mini_batch: int, subdivisions: int, budget: Budget, machine: Machine) -> Iterator[str]:
    yield (
        f"Tiers at mini-batch {mini_batch}, and the largest mini-batch in {amount(budget.device)} of the device and "
        f"{amount(budget.pinned)} of pinned RAM"
    )
    yield "  optimized_memory   device      an image    pinned RAM   s/iteration   largest   at that size"
    for tier in costs.tiers:
        fit = costs.fit(tier, mini_batch, subdivisions, budget, machine)
        way = costs.way(tier, mini_batch, budget) or tier.ways[-1]
        largest = costs.largest(tier, budget)
        per_image = way.peak(mini_batch) / mini_batch
        at_largest = costs.fit(tier, largest, 1, budget, machine) if largest else None
        rest = (
            "does not fit"
            if at_largest is None
            else f"{at_largest.seconds / largest * costs.batch:.2f} s per {costs.batch} images"
        )
        yield (
            f"  {_name(fit):>8}         {amount(fit.device):>9}   {amount(per_image):>9}   "
            f"{amount(fit.pinned) if fit.pinned else '-':>10}   {fit.seconds:>9.2f}   {largest:>9}   {rest}"
        )
    if any(costs.fit(tier, mini_batch, subdivisions, budget, machine).tight for tier in costs.tiers):
        yield (
            f"  {TIGHT} more tightly: what is largest is fetched late, and twice; in tier 3, momentum and gradients "
            "that wait long are in host memory, too"
        )
    for tier in costs.tiers:
        trace = tier.trace
        moved = f"; {amount(trace.offloaded.image)} an image go there and back" if trace.trips else ""
        kept = f"; {amount(trace.saved.image)} an image are kept" if not trace.trips else ""
        yield f"  {tier.number}: {WHAT_TIERS_DO[tier.number]}{kept}{moved}"


def _name(fit: Fit) -> str:
    return f"{fit.tier}{TIGHT}" if fit.tight else str(fit.tier)


def _cards(costs: Costs, budget: Budget, machine: Machine) -> Iterator[str]:
    yield f"Cards: mini-batch / subdivisions for batch={costs.batch}, with {amount(budget.pinned)} of pinned RAM"
    yield "   card  " + "".join(f"{f'tier {tier.number}':>12}" for tier in costs.tiers)
    for gigabytes in CARDS:
        fits = [costs.best_of(tier, Budget(card(gigabytes), budget.ram), machine) for tier in costs.tiers]
        cells = "".join(f"{'-' if fit is None else f'{fit.mini_batch} / {fit.subdivisions}':>12}" for fit in fits)
        yield f"  {gigabytes:>3} GB {cells}"


def _assumptions(budget: Budget, machine: Machine) -> Iterator[str]:
    yield (
        f"Seconds are a model: {COMPUTE_SHARE:g} of {machine.flops / 1e12:g} TFLOP/s for convolutions, "
        f"{BANDWIDTH_SHARE:g} of {machine.bandwidth / GB:g} GB/s for the other passes over memory, copies at "
        f"{machine.link / GB:g} GB/s each way beside them; no time for pictures."
    )
    yield (
        "GB are 10**9 bytes. A card's 'GB' are 2**30, less 0.5 GB for its context. "
        f"Of {amount(budget.ram)} of RAM, {RAM_SHARE:.0%} may be pinned, in blocks of 2**30 bytes."
    )


def _advice(subject: Subject, costs: Costs, budget: Budget, machine: Machine) -> Iterator[str]:
    mini_batch = subject.mini_batch(costs.batch)
    tier = next((one for one in costs.tiers if one.number == subject.optimized_memory), costs.tiers[0])
    fits = costs.way(tier, mini_batch, budget) is not None
    device = costs.fit(tier, mini_batch, subject.subdivisions, budget, machine).device
    yield (
        f"As it stands (subdivisions={subject.subdivisions}, optimized_memory={tier.number}), the cfg "
        f"{'fits' if fits else 'does not fit'}: {amount(device)} of {amount(budget.device)}."
    )
    best = costs.recommend(budget, machine)
    if best is None:
        yield "Nothing fits, not even a mini-batch of 1. Lower width and height, or use a larger card."
        return
    yield f"The largest mini-batch that fits: {_sentence(best)}. Paste into [net]:"
    yield f"batch={costs.batch}"
    yield f"subdivisions={best.subdivisions}"
    yield f"optimized_memory={best.tier}"


def _sentence(fit: Fit) -> str:
    pinned = f" and {amount(fit.pinned)} of pinned RAM" if fit.pinned else ""
    return f"{images(fit.mini_batch)} in {amount(fit.device)}{pinned}, {fit.seconds:.2f} s an iteration"
