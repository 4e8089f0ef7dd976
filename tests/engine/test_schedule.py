import math
from dataclasses import replace
from itertools import islice

import golden
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.cfg.net import NetSpec
from darkpy.cfg.options import Options
from darkpy.engine.schedule import (
    CheckpointSchedule,
    MapSchedule,
    Position,
    SizeSchedule,
    learning_rate,
    plan_iterations,
)


def net(**options: object) -> NetSpec:
    (section,) = golden.sections(golden.with_net(options, []))
    return NetSpec.parse(Options(section))


@pytest.mark.parametrize(
    ("options", "rates"),
    [
        ({"policy": "constant"}, {1: 0.0005, 99: 0.0005}),
        ({"policy": "step", "step": 10, "scale": 0.5}, {9: 0.0005, 10: 0.00025, 20: 0.000125}),
        ({"policy": "exp", "gamma": 0.9}, {1: 0.00045, 2: 0.000405}),
        ({"policy": "poly", "power": 2, "max_batches": 10}, {5: 0.000125, 10: 0.0}),
        ({"policy": "sigmoid", "gamma": 0.5, "step": 4}, {4: 0.00025, 6: 0.0005 / (1 + math.e)}),
    ],
)
def test_policies(options: dict, rates: dict[int, float]) -> None:
    for iteration, rate in rates.items():
        assert learning_rate(net(**options), iteration) == pytest.approx(rate)


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "exp", "gamma": 10},
        {"policy": "step", "step": 1, "scale": 10},
        {"policy": "poly", "power": -3, "max_batches": 999},
        {"burn_in": 1000, "power": -999999},
    ],
)
def test_a_rate_too_large_for_a_number_is_infinite(options: dict) -> None:
    assert learning_rate(net(**options), 999) == math.inf


def test_steps_apply_at_equality() -> None:
    """The figures of the spec: rate .1, steps 100 and 400, scales .1 and .5."""
    spec = net(policy="steps", steps="100,400", scales=".1,.5", learning_rate=0.1)
    rates = [learning_rate(spec, iteration) for iteration in (99, 100, 399, 400)]
    assert rates == pytest.approx([0.1, 0.01, 0.01, 0.005])


def test_burn_in_beats_every_policy_and_the_first_update_is_number_one() -> None:
    """A measured run: burn_in 4, rate .001 gave 0.000004, 0.000063 and 0.000316."""
    spec = net(policy="step", burn_in=4, learning_rate=0.001, step=1, scale=0.5)
    assert [round(learning_rate(spec, iteration), 6) for iteration in (1, 2, 3)] == [0.000004, 0.000063, 0.000316]
    assert learning_rate(spec, 4) == pytest.approx(0.001 / 16)


def test_sgdr_reaches_its_floor_at_the_end_of_a_cycle_and_restarts_one_later() -> None:
    spec = net(policy="sgdr", sgdr_cycle=10, sgdr_mult=2, learning_rate=0.1, learning_rate_min=0.001)
    assert learning_rate(spec, 10) == pytest.approx(0.001, abs=1e-8)
    assert learning_rate(spec, 11) > 0.09
    assert learning_rate(spec, 30) == pytest.approx(0.001, abs=1e-8)


def test_random_policy_depends_on_seed_and_iteration_alone() -> None:
    spec = net(policy="random", power=1)
    assert learning_rate(spec, 5, seed=1) == learning_rate(spec, 5, seed=1)
    draws = [learning_rate(spec, iteration, seed=1) for iteration in range(1, 1000)]
    assert np.mean(draws) == pytest.approx(0.00025, rel=0.1)
    assert max(draws) <= 0.0005


def sizes(side: int, **options: float) -> SizeSchedule:
    values: dict = {"width": side, "height": side, "coefficient": 1.0, "step": 32, "max_batches": 10_000, "seed": 3}
    return SizeSchedule(**(values | options))


@pytest.mark.parametrize(("side", "smallest", "largest"), [(416, 320, 608), (608, 480, 896), (512, 384, 736)])
def test_random_sizes(side: int, smallest: int, largest: int) -> None:
    """Case A32: 416 gives 320 to 608, 608 gives 480 to 896; the first size is the largest, 736 for 512."""
    schedule = sizes(side)
    drawn = {schedule.draw(iteration, first=False)[0] for iteration in range(2000)}
    assert (min(drawn), max(drawn)) == (smallest, largest)
    assert all(size % 32 == 0 for size in drawn)
    assert side in drawn
    assert schedule.draw(0, first=True) == (largest, largest)


def test_sizes_of_the_last_hundred_iterations_are_the_largest() -> None:
    schedule = sizes(416)
    assert {schedule.draw(iteration, first=False) for iteration in range(9901, 10_000)} == {(608, 608)}


def test_width_and_height_share_one_draw() -> None:
    for width, height in (sizes(416, height=208).draw(iteration, first=False) for iteration in range(300)):
        assert abs(width / 2 - height) <= 32


@given(st.floats(1.05, 2), st.integers(32, 1024), st.integers(0, 10_000))
def test_no_size_is_above_the_largest(coefficient: float, side: int, iteration: int) -> None:
    schedule = sizes(side, coefficient=coefficient)
    width, _ = schedule.draw(iteration, first=False)
    assert 32 <= width <= schedule.largest[0]


def test_map_interval() -> None:
    """Four passes over 292 pictures at 16 an iteration are 73 iterations: darknet waits for 100, and for burn_in."""
    spec = net(batch=16, subdivisions=2, max_batches=600, burn_in=150)
    maps = MapSchedule.of_epochs(4, pictures=292, net=spec)
    assert maps.every == 100
    due = [iteration for iteration in range(1, 601) if maps.is_due(iteration, last=0)]
    assert due[0] == 150
    assert maps.is_due(600, last=599)
    assert not MapSchedule(0, 0, 600).is_due(600, last=0)


def test_plan_changes_size_every_ten_turns_and_returns_to_its_own_after_map() -> None:
    maps = MapSchedule(every=25, burn_in=0, max_batches=10_000)
    plan = list(islice(plan_iterations(sizes(416), maps, start=Position.at_start(sizes(416), completed=7)), 60))
    assert [planned.completed for planned in plan] == list(range(7, 67))
    assert [index for index, planned in enumerate(plan) if planned.is_new_size] == [0, 10, 20, 30, 40, 50]
    assert (plan[0].width, plan[9].width) == (608, 608)
    assert all(planned.width == 416 for planned in plan[25:30])  # mAP after the 25th iteration


def test_plan_without_random_keeps_one_size() -> None:
    fixed = sizes(416, coefficient=0, max_batches=30)
    plan = list(plan_iterations(fixed, MapSchedule(10, 0, 30), start=Position.at_start(fixed)))
    assert len(plan) == 30
    assert {(planned.width, planned.height, planned.is_new_size) for planned in plan} == {(416, 416, False)}


def test_files_that_are_due() -> None:
    """Case A42: numbered weights every 1000 iterations, the last ones every 100."""
    schedule = CheckpointSchedule(save_every=1000, save_last=100)
    due = {iteration: schedule.due(iteration) for iteration in range(1, 2001)}
    assert [iteration for iteration, suffixes in due.items() if "last" in suffixes] == list(range(100, 2001, 100))
    assert due[1000] == ["1000", "last"]
    assert due[2000] == ["2000", "last"]


def test_a_last_file_comes_with_its_state_also_where_numbered_ones_come_as_often() -> None:
    """darknet leaves it out then; a killed run could not go on exactly."""
    schedule = CheckpointSchedule(save_every=100, save_last=100)
    assert [schedule.due(iteration) for iteration in (99, 100)] == [[], ["100", "last"]]


def test_an_unknown_policy_is_refused_with_a_near_name() -> None:
    with pytest.raises(Exception, match=r"policy=stepps: unknown value.*Did you mean step"):
        net(policy="stepps")


def test_replacing_the_seed_changes_the_sizes() -> None:
    schedule = sizes(416)
    other = replace(schedule, seed=4)
    assert [schedule.draw(i, first=False) for i in range(20)] != [other.draw(i, first=False) for i in range(20)]
