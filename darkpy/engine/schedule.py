"""Iteration -> learning rate, network size, mAP and checkpoints. Pure.

Source: darknet src/network.c, get_current_rate; src/detector.c, train_detector.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from darkpy.cfg.net import NetSpec

RESIZE_EVERY = 10  # iterations between two sizes
_LAST_AT_LARGEST = 100  # the last iterations all run at the largest size
_RATIOS = 2000  # enough to meet every size: a step of 32 pixels is far more than a 2000th of the range
_RATE_DRAW, _SIZE_DRAW = 1, 2  # tags of the random draws


def learning_rate(net: NetSpec, iteration: int, *, seed: int = 0) -> float:
    """Return the rate of an update.

    Args:
        net: Policy and its values.
        iteration: Number of the update, counted from 1.
        seed: For the policy ``random``, whose draw depends on seed and iteration alone.
    """
    if iteration < net.burn_in:
        return net.learning_rate * _power(iteration / net.burn_in, net.power)
    if net.policy == "sgdr":
        return _sgdr(net, iteration)
    return net.learning_rate * _factor(net, iteration, seed)


def _factor(net: NetSpec, iteration: int, seed: int) -> float:
    """Return what the policy makes of the rate."""
    if net.policy == "step":
        return _power(net.scale, iteration // net.step)
    if net.policy == "steps":
        return math.prod(_scales_so_far(net, iteration))
    if net.policy == "exp":
        return _power(net.gamma, iteration)
    if net.policy == "poly":
        return _power(max(1 - iteration / max(net.max_batches, 1), 0.0), net.power)
    if net.policy == "random":
        return _power(np.random.default_rng([seed, _RATE_DRAW, iteration]).random(), net.power)
    if net.policy == "sigmoid":
        return 1 / (1 + math.exp(min(net.gamma * (iteration - net.step), 700)))
    return 1.0


def _power(base: float, exponent: float) -> float:
    """Return a power, infinite where it is too large for a number."""
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):  # ValueError: 0 to a negative power
        return math.inf


def _scales_so_far(net: NetSpec, iteration: int) -> Iterator[float]:
    for step, scale in zip(net.steps, net.scales, strict=True):
        if step > iteration:
            return
        yield scale


def _sgdr(net: NetSpec, iteration: int) -> float:
    start, cycle = 0, max(net.sgdr_cycle, 1)
    while start + cycle < iteration:
        start += cycle
        cycle *= net.sgdr_mult
    wave = 1 + math.cos((iteration - start) * 3.14159265 / cycle)
    return net.learning_rate_min + 0.5 * (net.learning_rate - net.learning_rate_min) * wave


@dataclass(frozen=True, slots=True)
class SizeSchedule:
    """Network sizes of multi-scale training (``random`` of the last head), in pixels.

    A size depends on seed and iteration alone, so that neither workers nor resuming change it.
    """

    width: int
    height: int
    coefficient: float  # 0: one size; 1 counts as 1.4
    step: int
    max_batches: int
    seed: int

    @property
    def factor(self) -> float:
        """The largest enlargement: 1.4 where ``random`` is 1."""
        return 1.4 if self.coefficient == 1 else self.coefficient

    @property
    def largest(self) -> tuple[int, int]:
        """Width and height of the largest size."""
        if not self.coefficient:
            return self.width, self.height
        return self._scaled(self.width, self.factor), self._scaled(self.height, self.factor)

    def resizes(self, turn: int) -> bool:
        """Return whether a new size is taken before loop turn ``turn`` (0 for the first iteration of a process)."""
        return bool(self.coefficient) and turn % RESIZE_EVERY == 0

    def draw(self, iteration: int, *, first: bool) -> tuple[int, int]:
        """Return the size to take before the iteration that follows ``iteration`` completed ones.

        Args:
            iteration: Completed iterations.
            first: Whether nothing was trained yet in this process: the largest size then shows whether memory suffices.
        """
        if first or iteration > self.max_batches - _LAST_AT_LARGEST:
            return self.largest
        generator = np.random.default_rng([self.seed, _SIZE_DRAW, iteration])
        ratio = generator.uniform(1, self.factor)
        if generator.random() < 0.5:
            ratio = 1 / ratio
        return self._size(ratio)

    def all_sizes(self) -> list[tuple[int, int]]:
        """Return every size that may be drawn, and the network's own."""
        if not self.coefficient:
            return [(self.width, self.height)]
        ratios = np.linspace(1, self.factor, _RATIOS)
        drawn = {self._size(float(ratio)) for ratio in (*ratios, *(1 / ratios))}
        return sorted({(self.width, self.height), self.largest, *drawn})

    def _size(self, ratio: float) -> tuple[int, int]:
        width, height = self._scaled(self.width, ratio), self._scaled(self.height, ratio)
        if ratio < 1 and (width > self.width or height > self.height):
            return self.width, self.height
        return width, height

    def _scaled(self, length: int, ratio: float) -> int:
        """Return the length in whole steps; one step is added before rounding, as in darknet."""
        return max(math.floor(ratio * length / self.step + 1 + 0.5) * self.step, self.step)


@dataclass(frozen=True, slots=True)
class MapSchedule:
    """When mAP is measured: every ``every`` iterations, not before burn_in, and after the last one.  0: never."""

    every: int
    burn_in: int
    max_batches: int

    @classmethod
    def of_epochs(cls, epochs: int, *, pictures: int, net: NetSpec) -> "MapSchedule":
        """Return darknet's interval: so many passes over the list, but at least 100 iterations."""
        every = max(epochs * pictures // net.images_per_iteration, 100)
        return cls(every, net.burn_in, net.max_batches)

    def next_after(self, last: int) -> int:
        """Return the iteration of the next measurement; ``last`` is that of the last one, or where the run began."""
        return max(last + self.every, self.burn_in)

    def is_due(self, iteration: int, *, last: int) -> bool:
        """Return whether mAP is measured after ``iteration``."""
        return bool(self.every) and (iteration >= self.next_after(last) or iteration == self.max_batches)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands in its plan: all that the iterations to come depend on."""

    completed: int  # iterations
    turn: int  # iterations since the run began, for the times of new sizes
    width: int  # of the last iteration, pixels
    height: int
    last_map: int  # iteration of the last mAP, or where the run began

    @classmethod
    def at_start(cls, sizes: SizeSchedule, *, completed: int = 0) -> "Position":
        """Return the position of a run that begins, with weights that so many iterations trained."""
        return cls(completed, 0, sizes.width, sizes.height, completed)


@dataclass(frozen=True, slots=True)
class PlannedIteration:
    """One iteration to come."""

    completed: int  # iterations before it
    width: int  # pixels
    height: int
    is_new_size: bool  # whether a size is taken before it
    measures_map: bool  # whether mAP is measured after it
    after: Position


def plan_iterations(sizes: SizeSchedule, maps: MapSchedule, *, start: Position) -> Iterator[PlannedIteration]:
    """Yield the iterations of a run, from ``start`` to max_batches.

    After a mAP the network is left at its own size until the next multiple of ten turns, as in darknet.
    """
    position = start
    while position.completed < sizes.max_batches:
        width, height, turn = position.width, position.height, position.turn
        is_new_size = sizes.resizes(turn)
        if is_new_size:
            width, height = sizes.draw(position.completed, first=turn == 0)
        done = position.completed + 1
        measures_map = maps.is_due(done, last=position.last_map)
        left_at = (sizes.width, sizes.height) if measures_map else (width, height)
        after = Position(done, turn + 1, *left_at, done if measures_map else position.last_map)
        yield PlannedIteration(position.completed, width, height, is_new_size, measures_map, after)
        position = after


@dataclass(frozen=True, slots=True)
class CheckpointSchedule:
    """Which weights files are due after an iteration."""

    save_every: int  # iterations between numbered files (``saveweights``)
    save_last: int  # iterations between ``_last`` files (``savelast``); darknet writes none unless it is the smaller

    def due(self, iteration: int) -> list[str]:
        """Return the suffixes of the files to write now, in order."""
        numbered = [str(iteration)] if iteration % self.save_every == 0 else []
        return numbered + (["last"] if iteration % self.save_last == 0 else [])
