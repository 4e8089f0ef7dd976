"""The memory that a training runs in: ``optimized_memory`` of [net], and what is said when memory is short."""

import os
import re
from pathlib import Path

import torch

from darkpy.blueprint import Blueprint
from darkpy.cfg.net import NetSpec
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.errors import MemoryPlanError
from darkpy.layers._base import StepKey
from darkpy.memory.blocks import blocks_for
from darkpy.memory.plan import Budget
from darkpy.memory.tiers import OFFLOADING, TieredMemory
from darkpy.network import Network
from darkpy.report.memory_report import amount
from darkpy.tasks._memory_budget import Plan, make_plan
from darkpy.tasks._say import say

_WHAT = {
    1: "batch norm, activations and pooling are computed again in backward",
    2: "batch norm, activations and pooling are computed again in backward, the rest waits in {place}",
    3: "all but convolutions is computed again in backward, and what they gave waits in {place}",
}
WORKSPACE_VARIABLE = "CUDNN_CONV_WSCAP_DBG"  # read by cuDNN: MB of scratch that a convolution may take
_WORKSPACE_MB = 1024  # where the cfg says nothing, as in darknet
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def training_memory(
    blueprint: Blueprint, size: tuple[int, int], device: torch.device, *, budget: Budget | None = None
) -> TieredMemory:
    """Return the context of a run's steps, and say on stderr what it does.

    Args:
        blueprint: The network: its tier, and the file that takes the place of RAM.
        size: The largest of the run: width, height in pixels.
        device: Where the network is.
        budget: What there is, for ``auto``; None asks the device and the system.

    Raises:
        MemoryPlanError: If no tier fits, or the file cannot be made.
    """
    net = blueprint.net
    tier, tight = net.optimized_memory, False
    if tier is None:
        tier, tight = _chosen(blueprint, make_plan(blueprint, size, device, budget=budget), size)
    elif tier in OFFLOADING and device.type != "cpu":
        tight = make_plan(blueprint, size, device, budget=budget, tiers=(tier,)).way_of(tier).tight
    limit_workspace(net, tier, device)
    if tier not in OFFLOADING and net.offload_file:
        say(f"[net] offload_file={net.offload_file}: has no effect without optimized_memory=2 or 3.")
    if tier == 0:
        return TieredMemory(0, device)
    place = net.offload_file or "RAM"
    say(f"[net] optimized_memory={tier}: {_WHAT[tier].format(place=place)}; the weights stay the same, bit for bit.")
    if tier not in OFFLOADING:
        return TieredMemory(tier, device)
    if device.type in ("cpu", "mps") and not net.offload_file:
        say("The network is in RAM itself, so that keeping tensors there frees none: offload_file=PATH uses the disk.")
    blocks = blocks_for(device, Path(net.offload_file) if net.offload_file else None)
    return TieredMemory(tier, device, blocks=blocks, tight=tight, say=lambda line: print(f"\n{line}", flush=True))


def _chosen(blueprint: Blueprint, plan: Plan, size: tuple[int, int]) -> tuple[int, bool]:
    """Return the lowest tier that fits, and whether tightly; say why it is that."""
    what = f"{size[0]}x{size[1]} and a mini-batch of {plan.mini_batch}"
    there = amount(plan.budget.device)
    found = plan.lowest()
    if found is None:
        tiers = ", ".join(
            f"{tier.number}: {amount(plan.needs(tier.ways[-1], plan.mini_batch))}" for tier in plan.costs.tiers
        )
        raise MemoryPlanError(
            f"{blueprint.path}: optimized_memory=auto: no tier fits {what} into {there} ({tiers}). {_mend(plan, 3)}"
        )
    tier, way = found
    why = f"{amount(plan.needs(way, plan.mini_batch))} of {there}"
    if tier.number:
        below = plan.tier(tier.number - 1)
        why += f"; tier {below.number} would take {amount(plan.needs(below.ways[-1], plan.mini_batch))}"
    say(f"[net] optimized_memory=auto: tier {tier.number} for {what}: {why}.")
    return tier.number, way.tight


def rehearse(network: Network, update: DarknetUpdate, memory: TieredMemory, size: tuple[int, int]) -> None:
    """Run forward and backward once at a size, so that memory that is short is met before the first iteration.

    Weights and running statistics stay as they are; no random number is drawn that a layer or the loader would draw.

    Args:
        network: In training mode, on its device.
        update: Its weight update, which is cleared: nothing may have been gathered yet.
        memory: The run's.
        size: Width, height in pixels.
    """
    net, device = network.net, next(network.parameters()).device
    statistics = [buffer.clone() for buffer in network.buffers()]
    images = torch.full((net.mini_batch, net.channels, size[1], size[0]), 0.5, device=device)
    truths = torch.zeros(net.mini_batch, 1, 5, device=device)
    network.begin(StepKey(0, 0, 0))
    with memory.step():
        network.losses(images, truths)
    update.clear()
    with torch.no_grad():
        for buffer, before in zip(network.buffers(), statistics, strict=True):
            buffer.copy_(before)


def limit_workspace(net: NetSpec, tier: int, device: torch.device) -> None:
    """Ask cuDNN to take no more scratch for a convolution than ``workspace_size_limit_MB`` says, from tier 2 on.

    cuDNN reads an environment variable when its first convolution runs. Whether a release heeds it was not verified:
    no GPU was at hand. Tiers 0 and 1 ignore the key, as darknet does.
    """
    if device.type != "cuda":
        if net.workspace_size_limit_MB is not None:
            say(
                f"[net] workspace_size_limit_MB={net.workspace_size_limit_MB}: has no effect on {device.type}: "
                "it bounds the scratch memory of cuDNN."
            )
        return
    if tier not in OFFLOADING:
        return
    limit = _WORKSPACE_MB if net.workspace_size_limit_MB is None else net.workspace_size_limit_MB
    mine = os.environ.get(WORKSPACE_VARIABLE)
    if mine is not None:
        say(f"[net] workspace_size_limit_MB={limit}: {WORKSPACE_VARIABLE}={mine} is set, and stays.")
        return
    os.environ[WORKSPACE_VARIABLE] = str(limit)


def out_of_memory(
    blueprint: Blueprint,
    size: tuple[int, int],
    error: Exception,
    *,
    tier: int,
    device: torch.device,
    budget: Budget | None = None,
) -> MemoryPlanError:
    """Return what to tell when memory is short.

    Args:
        blueprint: The network.
        size: That was trained: width, height in pixels.
        error: What torch said.
        tier: In which.
        device: Where.
        budget: As of ``training_memory``.
    """
    net = blueprint.net
    wanted = wanted_bytes(str(error))
    asked = "" if wanted is None else f": {amount(wanted)} more were wanted"
    head = (
        f"{blueprint.path}: out of memory at {size[0]}x{size[1]} with a mini-batch of {net.mini_batch} images "
        f"(batch={net.batch} / subdivisions={net.subdivisions}, optimized_memory={tier}){asked}."
    )
    try:
        plan = make_plan(blueprint, size, device, budget=budget)
        need = amount(plan.needs(plan.tier(tier).ways[-1], plan.mini_batch))
        return MemoryPlanError(
            f"{head} A step needs {need}, there are {amount(plan.budget.device)}. {_mend(plan, tier)}"
        )
    except (RuntimeError, MemoryError, ValueError):  # so short that nothing can be planned
        return MemoryPlanError(f"{head} Raise subdivisions, or lower width and height.")


def wanted_bytes(text: str) -> int | None:
    """Return the bytes that torch names in an error of its allocators; None if it names none."""
    found = re.search(r"[Tt]ried to allocate ([\d.]+) (bytes|KiB|MiB|GiB|TiB)", text)
    return None if found is None else int(float(found[1]) * _UNITS[found[2]])


def _mend(plan: Plan, tier: int) -> str:
    remedies = list(plan.remedies(tier))
    if not remedies:
        return "Lower width and height."
    return f"What fits: {' or '.join(remedies)}."
