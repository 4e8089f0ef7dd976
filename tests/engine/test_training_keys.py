"""The keys of [net] as a run meets them."""

from collections.abc import Iterator

import golden
import pytest
import torch
from gradients import build

from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, Position, SizeSchedule, plan_iterations
from darkpy.engine.trainer import Callbacks, Trainer
from darkpy.engine.training_keys import TrainingKeys
from darkpy.events import Line, Note
from darkpy.network import Network
from darkpy.structures import MiniBatch

# Every key at once, in a run so long that only its iterations around 2300 are trained.
ALL = {
    "adam": 1,
    "loss_scale": 2,
    "ema_alpha": 0.5,
    "weights_reject_freq": 2,
    "adversarial_lr": 0.05,
    "equidistant_point": 2290,
    "badlabels_rejection_percentage": 2.0,
    "num_sigmas_reject_badlabels": 3.0,
    "try_fix_nan": 1,
    "sequential_subdivisions": 1,
}
NEVER = MapSchedule(0, 0, 0)
SIZES = SizeSchedule(32, 32, 0.0, 32, 10**6, seed=1)


def network(**net: object) -> Network:
    layers = [golden.conv(4), golden.conv(4), golden.conv(8), golden.conv(8, **golden.DOWN), golden.conv(8)]
    return build([*layers, golden.output(), golden.yolo()], width=32, height=32, **net)


class Run:
    """A trainer that begins after some iterations."""

    def __init__(self, net: Network, *, start: int) -> None:
        self.network = net
        self.events: list = []
        self.saved: list[tuple[str, float]] = []
        callbacks = Callbacks(
            emit=self.events.append,
            save=lambda suffix: self.saved.append((suffix, float(net.layers[0].bias.detach()[0]))),
            measure_map=lambda: 0.0,
            should_stop=lambda: self.trainer.iteration >= self.stop_at,
            on_problem=print,
        )
        position = Position.at_start(SIZES, completed=start)
        checkpoints = CheckpointSchedule(10**6, 2)
        self.trainer = Trainer(net, callbacks, position=position, maps=NEVER, checkpoints=checkpoints, seed=1)

    def train(self, until: int) -> list[str]:
        """Train up to this iteration; return the lines."""
        self.stop_at = until
        self.events.clear()
        plan = plan_iterations(SIZES, NEVER, start=self.trainer.position)
        self.trainer.run(plan, self._batches(self.trainer.iteration))
        return [event.text for event in self.events if isinstance(event, Line)]

    def _batches(self, completed: int) -> Iterator[MiniBatch]:
        while True:
            generator = torch.Generator().manual_seed(completed)
            for _ in range(self.network.net.subdivisions):
                images = torch.randint(0, 256, (2, 3, 32, 32), generator=generator, dtype=torch.uint8)
                truths = torch.tensor([[[0.5, 0.5, 0.4, 0.4, 1.0]]]).repeat(2, 1, 1)
                yield MiniBatch(images, truths, ("a.jpg", "b.jpg"), ())
            completed += 1


def test_a_run_with_every_key_goes_on_from_its_state_bit_for_bit() -> None:
    whole = Run(network(max_batches=3000, **ALL), start=2296)
    whole.train(2299)
    weights = {name: value.clone() for name, value in whole.network.state_dict().items()}
    state = whole.trainer.state()
    assert state is not None
    state = type(state)(state.figures, {name: array.copy() for name, array in state.arrays.items()})
    lines = whole.train(2302)
    again = Run(network(max_batches=3000, **ALL), start=2299)
    again.network.load_state_dict(weights)
    again.trainer.restore(state)
    assert again.train(2302) == lines
    ours, theirs = whole.network.state_dict(), again.network.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    for word in ("adversarial training", "rolling_std", "badlabels_reject_threshold", "equidistant_point"):
        assert any(word in line for line in lines), word


def test_a_state_of_another_network_changes_nothing() -> None:
    run = Run(network(max_batches=3000, **ALL), start=2296)
    run.train(2298)
    state = run.trainer.state()
    assert state is not None
    del state.arrays["4.bias.v"]
    other = Run(network(max_batches=3000, **ALL), start=2296)
    with pytest.raises(ValueError, match=r"the state has no 4\.bias\.v"):
        other.trainer.restore(state)
    assert not other.trainer.keys.average.has_begun


def test_the_average_is_saved_with_last_and_the_network_trains_on_its_own_weights() -> None:
    run = Run(network(max_batches=3000, learning_rate=0.01, ema_alpha=0.5), start=1498)
    lines = run.train(1502)
    assert [suffix for suffix, _ in run.saved] == ["last", "ema", "last", "ema"]
    assert run.saved[0][1] == run.saved[1][1]  # initialised there
    assert run.saved[2][1] != run.saved[3][1]
    assert float(run.network.layers[0].bias.detach()[0]) == run.saved[2][1]
    assert lines[0] == " EMA initialization "


def test_without_keys_nothing_is_printed_and_only_momentum_is_kept() -> None:
    run = Run(network(max_batches=3000), start=2296)
    assert run.train(2298) == []
    assert [event.text for event in run.events if isinstance(event, Note)] == []
    state = run.trainer.state()
    assert state is not None
    assert {name for name in state.arrays if not name.endswith(".v")} == {
        "outliers.largest",
        "outliers.mean",
        "outliers.deviation",
        "outliers.threshold",
    }


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        (
            {"loss_scale": 128, "burn_in": 1000},
            "[net] loss_scale=128: darkpy trains in float32 whatever it says; darknet would use half precision from "
            "iteration 3001 on (3 x burn_in + 1).",
        ),
        (
            {"subdivisions": 4, "sequential_subdivisions": 2},
            "[net] sequential_subdivisions=2 of subdivisions=4: gradients count 1/2, as in darknet's GPU build.",
        ),
    ],
)
def test_what_acts_otherwise_than_it_seems_is_said_at_the_start(keys: dict[str, object], note: str) -> None:
    """A44."""
    run = Run(network(max_batches=3000, **keys), start=2999)
    run.train(3000)
    assert [event.text for event in run.events if isinstance(event, Note)] == [note]


def test_adversarial_lr_behind_frozen_layers_is_said_to_have_no_effect() -> None:
    layers = [golden.conv(4), golden.conv(4, stopbackward=1), golden.output(), golden.yolo()]
    net = build(layers, adversarial_lr=0.05)
    assert TrainingKeys(net, print, seed=1).notes() == [
        "[net] adversarial_lr=0.05 has no effect: with stopbackward=1 no gradient gets to the picture."
    ]


def test_a_head_that_only_goes_forward_counts_in_the_mean_loss_and_prints_nothing() -> None:
    heads = [golden.output(), golden.yolo(), ("route", {"layers": 0}), golden.output()]
    two = build([golden.conv(4), *heads, golden.yolo(onlyforward=1)], width=32, height=32)
    one = build([golden.conv(4), *heads[:2]], width=32, height=32)
    one.load_state_dict({name: value for name, value in two.state_dict().items() if name.split(".")[1] in "01"})
    runs = [Run(net, start=0) for net in (one, two)]
    for run in runs:
        run.train(1)
    (single,), (double,) = ([event for event in run.events if hasattr(event, "average_loss")] for run in runs)
    assert double.loss == pytest.approx(single.loss / 2, rel=1e-6)
    counts = [[type(event).__name__ for event in run.events].count("HeadTrained") for run in runs]
    assert counts == [2, 2]


@pytest.mark.parametrize(
    "keys",
    [
        {"equidistant_point": 1},
        {"num_sigmas_reject_badlabels": 0.5},
        {"badlabels_rejection_percentage": 1.0, "num_sigmas_reject_badlabels": 3.0},
    ],
)
def test_rejected_deltas_train_nothing(keys: dict[str, float]) -> None:
    """Through the whole loop: the weights differ from those of a run without the key."""
    trained = []
    for net in ({}, keys):
        torch.manual_seed(0)
        run = Run(network(max_batches=40, **net), start=34)
        run.train(37)
        trained.append(run.network.layers[-2].weight.detach().clone())
    assert not torch.equal(*trained)


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        ({"equidistant_point": 50}, "equidistant_point never acts: it would begin at iteration 50, beyond max_batches"),
        ({"adversarial_lr": 0.1, "burn_in": 60}, "adversarial_lr never acts: it would begin at iteration 60, beyond"),
        ({"weights_reject_freq": 30}, "weights_reject_freq never acts: it would begin at iteration 30, beyond 3/4 of"),
    ],
)
def test_a_key_that_comes_too_late_is_told(keys: dict[str, float], note: str) -> None:
    made = network(max_batches=40, **keys)
    assert any(note in line for line in TrainingKeys(made, print, seed=1).notes())
    kept = network(max_batches=4000, **keys)
    assert not any("never acts" in line for line in TrainingKeys(kept, print, seed=1).notes())


def test_weights_that_are_no_numbers_replace_no_file() -> None:
    run = Run(network(max_batches=40), start=0)
    run.train(2)
    assert [suffix for suffix, _ in run.saved] == ["last"]
    with torch.no_grad():
        run.network.layers[0].weight.fill_(float("nan"))
    assert not run.trainer._save("last")
    assert [suffix for suffix, _ in run.saved] == ["last"]
    (note,) = [event.text for event in run.events if isinstance(event, Note) and "Warning" in event.text]
    assert note == "Warning: iteration 2: the weights are no finite numbers; _last is not written."
