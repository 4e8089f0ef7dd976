from dataclasses import replace

import pytest

from darkpy.memory.arena import BLOCK
from darkpy.memory.costs import Lifetime, Linear, Operation, Trace, Trip
from darkpy.memory.plan import (
    CONTEXT,
    GB,
    GIB,
    WORKSPACE,
    Budget,
    Costs,
    Machine,
    States,
    Tier,
    Way,
    card,
    least_subdivisions,
    step_time,
)

MACHINE = Machine(flops=10e12, bandwidth=100e9, link=10e9)  # reached: 6e12 and 80e9
STATES = States(parameters=100, statistics=10, momentum=90)
IMAGE = 100 * 10**6  # bytes


def kept(image: int) -> Trace:
    forward = Operation("conv", "", False, 6 * 10**9, Linear(8))
    backward = Operation("conv", "", True, 12 * 10**9, Linear(8))
    return Trace((forward, backward), (Lifetime(Linear(image), 0, 1, "", is_saved=True),))


def offloaded(image: int) -> Trace:
    """A tensor that is there during operation 0 of 2, away, and back during the last of 2."""
    ways = [Operation("conv", "", i > 1, 6 * 10**9, Linear()) for i in range(4)]
    big = [
        Trip(Lifetime(Linear(image), i, i, ""), i, (Lifetime(Linear(image), 3 - i, 3 - i, ""),), (3 - i,))
        for i in range(2)
    ]
    return Trace(tuple(ways), (), tuple(big))


def costs(*traces: Trace, batch: int = 64) -> Costs:
    tiers = tuple(Tier(number, (Way(trace),)) for number, trace in enumerate(traces))
    return Costs(STATES, tiers, Trace((), ()), batch, 40)


def test_a_card_has_gib_less_its_context() -> None:
    assert card(8) == 8 * GIB - CONTEXT
    assert card(0.5) == GIB // 2 - GB // 2


def test_three_quarters_of_the_ram_may_be_pinned_in_whole_blocks() -> None:
    assert Budget(0, 8 * GIB).pinned == 6 * BLOCK
    assert Budget(0, 7 * GIB).pinned == 5 * BLOCK


def test_the_device_holds_states_workspace_and_the_step() -> None:
    plan = costs(kept(IMAGE))
    assert plan.device(plan.tiers[0].ways[0], 4) == 200 + WORKSPACE + 4 * IMAGE


@pytest.mark.parametrize("images", [1, 2, 3, 17, 1000])
def test_the_largest_mini_batch_fits_and_the_next_does_not(images: int) -> None:
    plan = costs(kept(IMAGE))
    budget = Budget(200 + WORKSPACE + images * IMAGE + IMAGE // 2, 0)
    assert plan.largest(plan.tiers[0], budget) == images
    assert plan.way(plan.tiers[0], images, budget) is plan.tiers[0].ways[0]
    assert plan.way(plan.tiers[0], images + 1, budget) is None


def test_nothing_may_fit() -> None:
    plan = costs(kept(IMAGE))
    budget = Budget(WORKSPACE, GB)
    assert plan.largest(plan.tiers[0], budget) == 0
    assert plan.best_of(plan.tiers[0], budget, MACHINE) is None
    assert plan.recommend(budget, MACHINE) is None


def test_ram_bounds_a_tier_that_offloads() -> None:
    plan = costs(offloaded(GIB // 4))
    tier = plan.tiers[0]
    assert tier.ways[0].pinned(1) == BLOCK  # half a block is a block
    assert tier.ways[0].pinned(5) == 3 * BLOCK
    assert plan.largest(tier, Budget(2**50, 4 * GIB)) == 6  # 3 blocks


@pytest.mark.parametrize(
    ("batch", "largest", "subdivisions"),
    [(64, 64, 1), (64, 100, 1), (64, 63, 2), (64, 5, 16), (64, 1, 64), (63, 30, 3)],
)
def test_subdivisions_divide_the_batch(batch: int, largest: int, subdivisions: int) -> None:
    assert least_subdivisions(batch, largest) == subdivisions


def test_no_subdivisions_help_where_no_image_fits() -> None:
    assert least_subdivisions(64, 0) is None


def test_the_lowest_tier_with_the_largest_mini_batch_is_recommended() -> None:
    plan = costs(kept(IMAGE), kept(IMAGE // 2), kept(IMAGE // 2 - 1))
    found = plan.recommend(Budget(200 + WORKSPACE + 40 * IMAGE, GB), MACHINE)
    assert found is not None
    assert (found.tier, found.mini_batch, found.subdivisions) == (1, 64, 1)
    assert found.device == 200 + WORKSPACE + 32 * IMAGE
    assert found.pinned == 0


def test_operations_take_as_long_as_computing_or_moving_whichever_is_longer() -> None:
    computing = Operation("conv", "", False, 6 * 10**9, Linear(8))
    moving = Operation("add", "", True, 0, Linear(80 * 10**6, 160 * 10**6))
    time = step_time(Trace((computing, moving), ()), 3, MACHINE)
    assert time.forward == pytest.approx(3e-3)
    assert time.backward == pytest.approx(3e-3 + 2e-3)
    assert time.total == pytest.approx(time.forward + time.backward)


def test_copies_are_hidden_as_far_as_they_can_be() -> None:
    """Four operations of 1 ms; what goes away first comes back at the last, and what goes away last stays."""
    hidden = step_time(offloaded(10**6), 1, MACHINE)
    assert hidden.total == pytest.approx(4e-3)
    time = step_time(offloaded(IMAGE), 1, MACHINE)  # 10 ms for each
    assert time.copy_out == pytest.approx(20e-3)
    assert time.copy_back == pytest.approx(10e-3)
    assert time.total == pytest.approx(20e-3 + 10e-3 + 1e-3)  # the last operation waits for what it reads


def test_an_iteration_is_its_mini_batches_and_the_update() -> None:
    update = Trace((Operation("add", "", False, 0, Linear(0, 80 * 10**6)),), ())
    plan = Costs(STATES, (Tier(0, (Way(kept(1)),)),), update, 64, 40)
    assert plan.iteration(plan.tiers[0].ways[0], 2, 32, MACHINE) == pytest.approx(32 * 2 * 3e-3 + 1e-3)
    assert plan.fit(plan.tiers[0], 2, 32, Budget(GB, 0), MACHINE).seconds == pytest.approx(32 * 2 * 3e-3 + 1e-3)


def two_ways() -> Costs:
    """A fast way of 2 images' worth of memory each, and a tight one of 1, whose momentum rests."""
    fast, tight = kept(2 * IMAGE), replace(kept(IMAGE), tight=True)
    tier = Tier(3, (Way(fast), Way(tight, resting=STATES.momentum)))
    return Costs(STATES, (tier,), Trace((), ()), 64, 40)


def test_the_fastest_way_that_fits_is_taken() -> None:
    plan = two_ways()
    (tier,) = plan.tiers
    room = [Budget(200 + WORKSPACE + images * IMAGE, BLOCK * 4) for images in (8, 4, 3)]
    assert [plan.way(tier, 4, budget) for budget in room] == [tier.ways[0], tier.ways[1], None]
    assert [plan.fit(tier, 4, 16, budget, MACHINE).tight for budget in room] == [False, True, True]
    assert plan.largest(tier, room[0]) == 8
    assert plan.fit(tier, 8, 8, room[0], MACHINE).tight


def test_momentum_that_rests_takes_host_memory_and_time() -> None:
    plan = two_ways()
    fast, tight = plan.tiers[0].ways
    assert (fast.pinned(4), tight.pinned(4)) == (0, BLOCK)
    assert plan.device(tight, 4) == 110 + WORKSPACE + 4 * IMAGE
    slow = replace(MACHINE, link=90.0)  # bytes a second: a second for the momentum
    assert plan.iteration(tight, 1, 2, slow) - plan.iteration(tight, 1, 2, MACHINE) == pytest.approx(2 + 3, rel=0.01)


def test_what_is_too_large_to_be_fetched_ahead_is_waited_for() -> None:
    """Without a window for it, the first tensor's 10 ms come on top of backward's 2 ms."""
    tight = replace(offloaded(10**8), tight=True)
    assert tight.late(1) == 10**8
    assert step_time(tight, 1, MACHINE).total > step_time(offloaded(10**8), 1, MACHINE).total - 1e-9
