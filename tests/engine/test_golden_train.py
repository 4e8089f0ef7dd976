"""Training against the figures of the reference: four iterations of small networks, each with one feature."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import golden
import numpy as np
import pytest
import torch
from torch import Tensor

from darkpy.engine.optimizer import DarknetUpdate
from darkpy.engine.schedule import learning_rate
from darkpy.layers.convolutional import Convolution
from darkpy.network import Blueprint, Network, plan_network
from darkpy.weights import load_weights

FIRST_COST, LAST_COST, WEIGHTS = 1e-4, 1e-3, 1e-3  # relative; weights relative to the root mean square of the change
SLOPES = {"leaky": 0.1, "relu": 0.0, "relie": 0.01}
CANDIDATES = 14


class Unit(NamedTuple):
    """One activation whose input is nearly 0, where its slope jumps."""

    distance: float  # of its input from the kink
    mini_batch: int
    layer: int
    position: int  # in the flattened output


class Kinked(torch.nn.Module):
    """An activation with a kink at 0 (hardtan: at -1 and 1): notes units near it, takes the other slope for one."""

    def __init__(self, name: str, layer: int, run: "Run") -> None:
        super().__init__()
        self.name, self.layer, self.run = name, layer, run

    def forward(self, x: Tensor) -> Tensor:
        before = x.detach()
        if self.name == "hardtan":
            value, inside, outside = before.clamp(-1, 1), 1.0, 0.0
            distance, is_inside = (before.abs() - 1).abs(), before.abs() < 1
        else:
            inside, outside = (1.1, 0.1) if self.name == "ramp" else (1.0, SLOPES[self.name])
            distance, is_inside = before.abs(), before > 0
            value = torch.where(is_inside, before * inside, before * outside)
        self._note(distance)
        slope = self._flipped(torch.where(is_inside, inside, outside).contiguous(), inside + outside)
        return value + (x - before) * slope  # the value as it is, the gradient by the slope

    def _note(self, distance: Tensor) -> None:
        values, positions = distance.contiguous().view(-1).topk(4, largest=False)
        for value, position in zip(values.tolist(), positions.tolist(), strict=True):
            self.run.near.append(Unit(value, self.run.mini_batch, self.layer, position))

    def _flipped(self, slope: Tensor, both: float) -> Tensor:
        other = self.run.other
        if other is not None and (other.mini_batch, other.layer) == (self.run.mini_batch, self.layer):
            flat = slope.view(-1)
            flat[other.position] = both - flat[other.position]
        return slope


class Run:
    """One training run of a case."""

    def __init__(self, case: str, weights: Path, other: Unit | None = None) -> None:
        self.figures = golden.figures("train", case)
        self.near: list[Unit] = []
        self.other = other
        self.mini_batch = 0
        self.costs: list[float] = []
        blueprint = plan_network(golden.sections(golden.TRAINING_CASES[case]), Path("case.cfg"))
        self.network = Network(blueprint)
        load_weights(self.network, weights, leftover_is_error=True)
        self.before = {index: weight.clone() for index, weight in self._weights()}
        self._watch_kinks(blueprint)
        self._train(blueprint)

    def _weights(self) -> Iterator[tuple[int, Tensor]]:
        for index, module in enumerate(self.network.layers):
            weight = getattr(module, "weight", None)
            if weight is not None:
                yield index, weight.detach()

    def _watch_kinks(self, blueprint: Blueprint) -> None:
        for plan, module in zip(blueprint.layers, self.network.layers, strict=True):
            name = getattr(plan.spec, "activation", "")
            if isinstance(module, Convolution) and name in (*SLOPES, "ramp", "hardtan"):
                module.activation = Kinked(name, plan.index, self)

    def _train(self, blueprint: Blueprint) -> None:
        net = blueprint.net
        images, truths = golden.images_and_truths(blueprint, self.figures["iterations"])
        update = DarknetUpdate(self.network)
        for iteration in range(self.figures["iterations"]):
            for _ in range(net.subdivisions):
                rows = slice(self.mini_batch * net.mini_batch, (self.mini_batch + 1) * net.mini_batch)
                losses = self.network.losses(
                    torch.from_numpy(images[rows]), torch.from_numpy(truths[rows]), completed_iterations=iteration
                )
                self.costs.append(float(sum(loss.cost for loss in losses.values())) / len(losses))
                self.mini_batch += 1
            rate = learning_rate(net, iteration + 1)
            update.step(rate=rate, images=net.images_per_iteration, iteration=iteration + 1)

    def errors(self) -> dict[str, float]:
        """Each figure's distance from the reference's, over its tolerance."""
        first = len(self.costs) // self.figures["iterations"]
        relative = [abs(ours / theirs - 1) for ours, theirs in zip(self.costs, self.figures["costs"], strict=True)]
        errors = {"first costs": max(relative[:first]) / FIRST_COST, "costs": max(relative) / LAST_COST}
        for index, arrays in self.figures["layers"].items():
            module = self.network.layers[int(index)]
            ours = {
                "weight_change": None if module.weight is None else module.weight.detach() - self.before[int(index)],
                "biases": getattr(module, "bias", None),
                "scales": getattr(module, "scale", None),
                "rolling_mean": getattr(module, "rolling_mean", None),
                "rolling_variance": getattr(module, "rolling_variance", None),
            }
            for name, theirs in arrays.items():
                errors[f"layer {index} {name}"] = _distance(ours[name], theirs) / WEIGHTS
        return errors


def _distance(ours: Tensor | None, theirs: dict[str, object]) -> float:
    assert ours is not None
    values = ours.detach().contiguous().view(-1).numpy()
    assert values.size == theirs["n"]
    samples = np.array(theirs["samples"]) - values[golden.sample_indices(values.size)]
    return float(np.abs(samples).max() / theirs["rms"])  # type: ignore[operator]


def _worst(run: Run) -> float:
    return max(run.errors().values())


@pytest.mark.slow
@pytest.mark.parametrize("case", golden.TRAINING_CASES)
def test_four_iterations_agree_with_the_reference(case: str, tmp_path: Path) -> None:
    """Agreement holds as it is, or with one unit at the kink of its activation on the side where rounding put it there.

    A unit whose input differs from the kink by less than its rounding error has either slope; its choice moves all
    weights below it by up to some percent. No tolerance is widened for that: the run must agree in full once the unit's
    slope is the other one, and its input must be within rounding (1e-5) of the kink.
    """
    blueprint = plan_network(golden.sections(golden.TRAINING_CASES[case]), Path("case.cfg"))
    weights = tmp_path / "case.weights"
    weights.write_bytes(golden.weights_file(blueprint, seed=7))
    run = Run(case, weights)
    if _worst(run) <= 1:
        return
    errors = {name: round(error, 2) for name, error in run.errors().items() if error > 1}
    tried = sorted(run.near)[:CANDIDATES]
    assert any(_worst(Run(case, weights, other=unit)) <= 1 for unit in tried if unit.distance < 1e-5), errors


def test_a_wrong_rate_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: one percent more rate is far outside."""
    case = "yolo_mse"
    blueprint = plan_network(golden.sections(golden.TRAINING_CASES[case]), Path("case.cfg"))
    weights = tmp_path / "case.weights"
    weights.write_bytes(golden.weights_file(blueprint, seed=7))
    monkeypatch.setattr(f"{__name__}.learning_rate", lambda net, iteration: 0.000505)
    assert _worst(Run(case, weights)) > 5
