"""`detector memory`: how much memory a network needs, which mini-batch fits, and how long an iteration takes."""

import os
from pathlib import Path

from darkpy.blueprint import Blueprint, check_size, read_blueprint
from darkpy.engine.schedule import SizeSchedule
from darkpy.errors import CfgError
from darkpy.layers._head import HeadSpec
from darkpy.memory.plan import CONTEXT, Budget, Machine
from darkpy.report.memory_plot import draw_memory, write_plot
from darkpy.report.memory_report import Subject, inference_lines, training_lines
from darkpy.tasks._memory_costs import TRUTHS, Size, inference_trace, training_costs
from darkpy.tasks._memory_measure import measure_lines
from darkpy.tasks._say import find, say

_USUAL_BATCH = 64  # images an iteration, where a cfg is written for detection
_RAM = 32 * 10**9  # bytes, where the system does not tell


def memory(
    net: Path,
    *,
    vram: int,
    ram: int | None,
    link: int,
    tflops: float,
    membw: int,
    width: int | None,
    height: int | None,
    infer: bool,
    measure: bool,
    tier: int | None,
    plot: Path | None,
) -> int:
    """Print what a network needs, and return the exit status, 0.

    Args:
        net: The cfg.
        vram: Bytes of the card, context included.
        ram: Bytes of host memory; None asks the system.
        link: Bytes a second between host and card.
        tflops: 10**12 floating point operations a second, by the data sheet.
        membw: Bytes a second of the card's memory, by the data sheet.
        width: In pixels; None takes the largest size of ``random``.
        height: As width.
        infer: Plan for detection, not for training.
        measure: Run a real step on the CPU, too.
        tier: Which tier to measure and to draw; None takes ``optimized_memory``.
        plot: The picture to write.

    Raises:
        CfgError: If the cfg cannot be used, or does not fit a size.
        SetupError: If a step cannot be measured on this machine.
        DataError: If the picture cannot be written.
    """
    blueprint = read_blueprint(find(net))
    for note in blueprint.notes:
        say(note)
    size, why = _size(blueprint, width, height, infer=infer)
    _check_size(blueprint, size, net)
    batch = blueprint.net.images_per_iteration
    if batch == 1 and not infer:
        say(f"{net}: batch=1 is for detection: the plan is for batch={_USUAL_BATCH} subdivisions={_USUAL_BATCH}.")
        batch = _USUAL_BATCH
    chosen = (blueprint.net.optimized_memory or 0) if tier is None else tier
    subject = Subject(
        cfg=str(net),
        size=str(size),
        why_size=why,
        subdivisions=blueprint.net.subdivisions if batch == blueprint.net.images_per_iteration else batch,
        optimized_memory=chosen,
        truths=TRUTHS,
    )
    if infer:
        weights, trace = inference_trace(blueprint, size)
        lines = list(inference_lines(subject, weights, trace))
        print("\n".join(lines))
        return 0
    costs = training_costs(blueprint, size, batch=batch)
    budget = Budget(vram - CONTEXT, _ram() if ram is None else ram)
    machine = Machine(tflops * 1e12, membw, link)
    print("\n".join(training_lines(subject, costs, budget, machine)), flush=True)
    mini_batch = subject.mini_batch(batch)
    if plot is not None:
        write_plot(plot, draw_memory(costs, costs.tiers[chosen], mini_batch, title=f"{net.name} at {size}"))
        say(f"{plot}: bytes by layer, and the timeline of a step in tier {chosen}.")
    if measure:
        print("\n".join(measure_lines(blueprint, size, tier=chosen, mini_batch=mini_batch)))
    return 0


def _size(blueprint: Blueprint, width: int | None, height: int | None, *, infer: bool) -> tuple[Size, str]:
    """Return the size to plan for, and why it is that."""
    net = blueprint.net
    if width is not None or height is not None:
        return Size(width or net.width, height or net.height), "as asked"
    heads = [layer.spec for layer in blueprint.layers if isinstance(layer.spec, HeadSpec)]
    if infer or not heads or not heads[-1].data_rule.random:
        return Size(net.width, net.height), "as in the cfg"
    coefficient = heads[-1].data_rule.random
    sizes = SizeSchedule(net.width, net.height, coefficient, net.resize_step, net.max_batches, 0)
    return Size(*sizes.largest), f"the largest of random={coefficient:g}; the cfg says {net.width}x{net.height}"


def _check_size(blueprint: Blueprint, size: Size, net: Path) -> None:
    try:
        check_size(blueprint, width=size.width, height=size.height)
    except CfgError as misfit:
        what = str(misfit).split(" This is at ")[0]
        raise CfgError(f"{net}: the layers do not fit together at {size}: {what}") from None


def _ram() -> int:
    """Return this machine's memory in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return _RAM
