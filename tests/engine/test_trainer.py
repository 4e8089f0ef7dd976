import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import golden
import pytest
import torch

from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, Position, SizeSchedule, plan_iterations
from darkpy.engine.trainer import Callbacks, Trainer
from darkpy.errors import TrainingError
from darkpy.events import BatchLoaded, HeadTrained, IterationTrained, MapMeasured, NetworkResized, Note, TrainingEnded
from darkpy.network import Network, plan_network
from darkpy.structures import MiniBatch, Problem


class Bench:
    """A trainer on random pictures with everything it reports."""

    def __init__(self, *, random: float = 0.0, map_every: int = 0, stop_after: int = 10**9, **net: object) -> None:
        torch.manual_seed(0)
        options = {"width": 32, "height": 32, "max_batches": 12, "learning_rate": 0.001} | net
        layers = [golden.conv(4), golden.conv(8, **golden.DOWN), golden.output(), golden.yolo(random=random)]
        self.network = Network(plan_network(golden.sections(golden.with_net(options, layers)), Path("case.cfg")))
        self.events: list = []
        self.saved: list[tuple[str, int]] = []
        self.problems: list[Problem] = []
        self.maps = iter([0.5, 0.7, 0.6, 0.7, 0.1])
        self.poison: set[int] = set()  # iterations whose pictures are no numbers
        spec = self.network.net
        self.sizes = SizeSchedule(32, 32, random, 32, spec.max_batches, seed=1)
        self.schedule = MapSchedule(map_every, 0, spec.max_batches) if map_every else MapSchedule(0, 0, 0)
        self.entered = 0
        self.batches = self._batches()
        self.trainer = Trainer(
            self.network,
            Callbacks(
                emit=self.events.append,
                save=lambda suffix: self.saved.append((suffix, self.trainer.iteration)),
                measure_map=self._measure,
                should_stop=lambda: self.trainer.iteration >= stop_after,
                on_problem=self.problems.append,
            ),
            position=Position.at_start(self.sizes),
            maps=self.schedule,
            checkpoints=CheckpointSchedule(10, 5),
            seed=1,
            coefficient=random,
            around_step=self._around,
        )

    @contextmanager
    def _around(self) -> Iterator[None]:
        self.entered += 1
        yield

    def _measure(self) -> float:
        assert not self.network.training
        return next(self.maps)

    def _batches(self) -> Iterator[MiniBatch]:
        spec = self.network.net
        generator = torch.Generator().manual_seed(5)
        for planned in plan_iterations(self.sizes, self.schedule, start=Position.at_start(self.sizes)):
            for part in range(spec.subdivisions):
                shape = (spec.mini_batch, 3, planned.height, planned.width)
                images = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
                truths = torch.zeros(spec.mini_batch, 3, 5)
                truths[:, 0] = torch.tensor([0.5, 0.5, 0.4, 0.4, 1.0])
                if planned.completed + 1 in self.poison:
                    truths[:, 0, 2] = float("inf")
                names = tuple(f"{planned.completed + 1}-{part}-{row}.jpg" for row in range(spec.mini_batch))
                yield MiniBatch(images, truths, names, (Problem("note", names[0], "odd"),) if part else ())

    def run(self) -> bool:
        return self.trainer.run(plan_iterations(self.sizes, self.schedule, start=self.trainer.position), self.batches)

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


def test_a_run_reports_every_iteration_and_saves_what_is_due() -> None:
    bench = Bench()
    assert not bench.run()
    done = bench.of(IterationTrained)
    assert [event.iteration for event in done] == list(range(1, 13))
    assert done[2].images == 12
    assert done[0].hours_left == -1
    assert done[1].hours_left >= 0
    assert bench.saved == [("last", 5), ("10", 10), ("last", 10)]
    assert bench.of(TrainingEnded) == [TrainingEnded(12, interrupted=False)]
    assert len(bench.of(HeadTrained)) == 24
    assert len(bench.of(BatchLoaded)) == 12
    assert bench.entered == 24
    assert len(bench.problems) == 12


def test_the_loss_goes_down() -> None:
    bench = Bench(max_batches=60, learning_rate=0.01)
    bench.run()
    losses = [event.loss for event in bench.of(IterationTrained)]
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])


def test_printed_loss_is_the_cost_of_an_image_and_the_average_follows_slowly() -> None:
    bench = Bench(max_batches=2)
    bench.run()
    first, second = bench.of(IterationTrained)
    heads = bench.of(HeadTrained)
    # mse: a head's printed total is its cost over the mini-batch
    assert first.loss == pytest.approx((heads[0].total_loss + heads[1].total_loss) / 2, rel=1e-5)
    assert first.average_loss == pytest.approx(first.loss)
    assert second.average_loss == pytest.approx(0.9 * first.loss + 0.1 * second.loss)


def test_map_is_measured_in_evaluation_mode_and_equal_bests_are_saved_again() -> None:
    bench = Bench(map_every=3)
    bench.run()
    measured = bench.of(MapMeasured)
    assert [(event.iteration, event.is_best) for event in measured] == [(3, True), (6, True), (9, False), (12, True)]
    assert [saved for saved in bench.saved if saved[0] == "best"] == [("best", 3), ("best", 6), ("best", 12)]
    assert bench.network.training
    assert bench.of(IterationTrained)[3].next_map == 6
    assert bench.of(IterationTrained)[3].last_map == 0.5


def test_a_stop_ends_after_the_iteration() -> None:
    bench = Bench(stop_after=3)
    assert bench.run()
    assert bench.trainer.iteration == 3
    assert bench.of(TrainingEnded) == [TrainingEnded(3, interrupted=True)]


def test_a_stop_in_the_last_iteration_is_the_end() -> None:
    bench = Bench(stop_after=12)
    assert not bench.run()


def test_random_sizes_are_announced() -> None:
    bench = Bench(random=1.0, max_batches=120)
    bench.run()
    resized = bench.of(NetworkResized)
    assert len(resized) == 12
    assert (resized[0].width, resized[0].coefficient) == (64, 1.0)  # 1.4 x 32 and one step, in steps of 32


def test_a_loss_that_is_no_number_is_reported_and_leaves_the_weights_alone() -> None:
    """Case H06: named with iteration and pictures; the run goes on with the weights before it."""
    bench = Bench(max_batches=4, momentum=0.0, decay=0.0)
    bench.poison = {2}
    states = []
    emit = bench.trainer.callbacks.emit

    def watch(event: object) -> None:
        emit(event)
        if isinstance(event, IterationTrained):
            states.append({name: value.clone() for name, value in bench.network.state_dict().items()})

    object.__setattr__(bench.trainer.callbacks, "emit", watch)
    bench.run()
    (note,) = bench.of(Note)
    assert note.text.startswith("iteration 2: ")
    assert "2-0-0.jpg, 2-0-1.jpg, 2-1-0.jpg, 2-1-1.jpg" in note.text
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[1]["layers.0.weight"], states[2]["layers.0.weight"])
    assert all(value.isfinite().all() for value in states[3].values())


def test_three_such_iterations_in_a_row_end_the_run_with_the_last_good_weights() -> None:
    bench = Bench()
    bench.poison = {4, 5, 6}
    match = r"iteration 6: no finite loss in 3 .*weights of iteration 3 are saved as _last. Lower learning_rate=0.001"
    with pytest.raises(TrainingError, match=match):
        bench.run()
    assert bench.saved[-1] == ("last", 3)
    assert all(value.isfinite().all() for value in bench.network.state_dict().values())


def test_weights_that_are_no_numbers_replace_no_file() -> None:
    bench = Bench()
    bench.poison = {2, 3, 4}
    emit = bench.trainer.callbacks.emit

    def spoil(event: object) -> None:
        emit(event)
        if isinstance(event, Note):
            bench.network.layers[0].weight.data.fill_(float("nan"))

    object.__setattr__(bench.trainer.callbacks, "emit", spoil)
    with pytest.raises(TrainingError, match="weights of iteration 1 are no finite numbers, and not saved"):
        bench.run()
    assert bench.saved == []


def test_an_infinite_rate_ends_the_run_with_the_weights_before_it() -> None:
    bench = Bench(policy="step", step=3, scale=1e300)
    with pytest.raises(TrainingError, match=r"iteration 3: the learning rate is 1e\+297\. Mend policy=step in \[net\]"):
        bench.run()
    assert bench.saved == [("last", 2)]  # the third update is not in it
    assert all(value.isfinite().all() for value in bench.network.state_dict().values())


def test_waiting_for_pictures_is_not_in_the_seconds_of_an_iteration() -> None:
    """As in darknet, whose "Loaded:" line has them."""
    bench = Bench(max_batches=1)
    batches = bench.batches

    def slow() -> Iterator[MiniBatch]:
        time.sleep(1.0)
        yield from batches

    bench.batches = slow()
    bench.run()
    assert bench.of(BatchLoaded)[0].seconds > 1.0
    assert bench.of(IterationTrained)[0].seconds < 1.0


def test_with_random_sizes_a_map_announces_its_own() -> None:
    bench = Bench(random=1.0, map_every=5, max_batches=5)
    bench.run()
    assert bench.of(NetworkResized)[1:] == [NetworkResized(32, 32, 1.0, is_initial=True)]


def test_one_seed_one_loss_curve() -> None:
    curves = []
    for _ in range(2):
        bench = Bench(random=1.0)
        bench.run()
        curves.append([event.loss for event in bench.of(IterationTrained)])
    assert curves[0] == curves[1]


def test_subdivisions_give_the_same_update_without_batch_norm() -> None:
    """Gradients are sums over an iteration's images however they are split."""
    weights = []
    for subdivisions in (1, 2, 4):
        torch.manual_seed(0)
        layers = [golden.conv(4, batch_normalize=0), golden.output(), golden.yolo()]
        options = {"width": 32, "height": 32, "batch": 4, "subdivisions": subdivisions}
        network = Network(plan_network(golden.sections(golden.with_net(options, layers)), Path("case.cfg")))
        generator = torch.Generator().manual_seed(5)
        images = torch.rand(4, 3, 32, 32, generator=generator)
        truths = torch.zeros(4, 1, 5)
        truths[:, 0] = torch.tensor([0.5, 0.5, 0.4, 0.4, 1.0])
        for part_images, part_truths in zip(images.chunk(subdivisions), truths.chunk(subdivisions), strict=True):
            network.losses(part_images, part_truths)
        weights.append(network.layers[0].weight.grad)
    for other in weights[1:]:  # float32 sums in another order
        torch.testing.assert_close(weights[0], other, rtol=1e-5, atol=1e-3 * float(weights[0].square().mean().sqrt()))


def test_the_loss_sees_no_more_rows_of_truths_than_the_fullest_picture_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are made for ``max`` truths; comparing every anchor with 200 of them costs 50 ms in yolov4-tiny."""
    bench = Bench(max_batches=1)
    rows = []
    losses = Network.losses

    def watch(self: Network, images: torch.Tensor, truths: torch.Tensor, **options: int) -> dict:
        rows.append(tuple(truths.shape))
        return losses(self, images, truths, **options)

    monkeypatch.setattr(Network, "losses", watch)
    bench.run()
    assert rows == [(2, 1, 5), (2, 1, 5)]
