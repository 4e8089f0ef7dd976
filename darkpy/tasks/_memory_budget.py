"""What a device and its host have for a training, and which tier fits into that."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from darkpy.blueprint import Blueprint
from darkpy.memory.limits import limits
from darkpy.memory.plan import WORKSPACE, Budget, Costs, Tier, Way
from darkpy.memory.tiers import TIERS
from darkpy.tasks._memory_costs import Size, training_costs

_MUCH = 1 << 62  # bytes, where nothing tells


@dataclass(frozen=True, slots=True)
class Plan:
    """Costs of a network on a device, and what there is."""

    costs: Costs
    budget: Budget  # all that the network may have, weights included
    mini_batch: int

    def needs(self, way: Way, mini_batch: int) -> int:
        """Return the bytes on the device; on a CPU those in memory."""
        return self.costs.device(way, mini_batch)

    def fitting(self, tier: Tier, mini_batch: int) -> Way | None:
        """Return the fastest way of a tier that fits; None if none does."""
        return self.costs.way(tier, mini_batch, self.budget)

    def lowest(self) -> tuple[Tier, Way] | None:
        """Return the lowest tier that fits, and its way; None if none does."""
        for tier in self.costs.tiers:
            way = self.fitting(tier, self.mini_batch)
            if way is not None:
                return tier, way
        return None

    def way_of(self, number: int) -> Way:
        """Return the fastest way of a tier that fits, or its tightest."""
        tier = self.tier(number)
        return self.fitting(tier, self.mini_batch) or tier.ways[-1]

    def tier(self, number: int) -> Tier:
        """Return a tier by its number."""
        return next(tier for tier in self.costs.tiers if tier.number == number)

    def remedies(self, number: int) -> Iterator[str]:
        """Yield settings of [net] that fit instead: the least subdivisions in this tier, and the lowest tier."""
        batch, tier = self.costs.batch, self.tier(number)
        for subdivisions in range(batch // self.mini_batch + 1, batch + 1):
            if batch % subdivisions == 0 and self.fitting(tier, batch // subdivisions) is not None:
                yield f"subdivisions={subdivisions}"
                break
        lowest = self.lowest()
        if lowest is not None and lowest[0].number > number:
            yield f"optimized_memory={lowest[0].number}"


def make_plan(
    blueprint: Blueprint,
    size: tuple[int, int],
    device: torch.device,
    *,
    budget: Budget | None = None,
    tiers: tuple[int, ...] = TIERS,
) -> Plan:
    """Return the plan of a training; takes seconds.

    Args:
        blueprint: The network.
        size: The largest of the run: width, height in pixels.
        device: Where the network is, with its weights.
        budget: What there is; None asks the device and the system.
        tiers: Which are wanted.
    """
    net, near = blueprint.net, device.type == "cpu"
    costs = training_costs(blueprint, Size(*size), batch=net.images_per_iteration, tiers=tiers, near=near)
    if budget is None:
        budget = budget_of(device, resident=costs.states.parameters + costs.states.statistics)
    return Plan(costs, budget, net.mini_batch)


def budget_of(device: torch.device, *, resident: int) -> Budget:
    """Return what a device and the host have.

    Args:
        device: Where the network is.
        resident: Bytes of the network, which count as free: the plan has them in it.
    """
    host = max(min((limit.left for limit in limits()), default=_MUCH), 0)
    if device.type == "cpu":
        return Budget(host + resident, host)
    if device.type == "mps":
        return Budget(int(torch.mps.recommended_max_memory()) + WORKSPACE, host)  # which is cuDNN's, and in the plan
    module = getattr(torch, device.type)
    free, whole = module.mem_get_info(device)
    mine = module.memory_reserved(device)
    fraction = getattr(module, "get_per_process_memory_fraction", lambda _: 1.0)(device)
    return Budget(min(int(free + mine), int(whole * fraction)), host)
