"""One run of `detector train`: connects loader, trainer, mAP, files and printed lines."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from darkpy.cfg.datafile import DataFile
from darkpy.data.loader import training_batches
from darkpy.engine.schedule import PlannedIteration, Position, plan_iterations
from darkpy.engine.trainer import Callbacks, Trainer
from darkpy.errors import TrainingError
from darkpy.events import Event, Sink
from darkpy.network import Network
from darkpy.report.chart import Chart
from darkpy.report.console import Console
from darkpy.report.memory_rows import MemoryRows, print_memory
from darkpy.report.rows import Rows, begin_rows
from darkpy.state import RunState
from darkpy.structures import MiniBatch
from darkpy.tasks._backup import Saver
from darkpy.tasks._best import BestFile
from darkpy.tasks._interrupt import StopRequest, stop_on_signals
from darkpy.tasks._memory_teller import MemoryTeller
from darkpy.tasks._network import say
from darkpy.tasks._resume import Start, chosen_seed, fingerprint, read_start, run_figures
from darkpy.tasks._training_data import Lists, ProblemSink, augmentation, measure_and_print, requests
from darkpy.tasks._training_memory import out_of_memory, rehearse, training_memory
from darkpy.tasks._training_setup import (
    choose_checkpoints,
    choose_maps,
    choose_sizes,
    is_out_of_memory,
    print_settings,
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says about a run."""

    clear: bool = False
    map_epochs: int = 0  # 0: no mAP
    map_every: int | None = None
    save_every: int | None = None
    threshold: float = 0.25
    iou_threshold: float = 0.5
    seed: int | None = None
    other_seed: int = 0  # where neither the command line nor the run that goes on has one
    workers: int = 0
    shown: Path | None = None  # where augmented pictures go


def begin(
    datafile: DataFile,
    network: Network,
    lists: Lists,
    weights: Path | None,
    *,
    folder: Path,
    name: str,
    wishes: Wishes,
    stop: StopRequest,
) -> "TrainingRun":
    """Read the weights and the state to start from, and return the run; arguments as those of ``TrainingRun``.

    Raises:
        WeightsError: If the weights do not fit.
    """
    start = read_start(network, weights, folder, name=name, clear=wishes.clear)
    seed = chosen_seed(wishes.seed, start.state, otherwise=wishes.other_seed)
    return TrainingRun(
        datafile, network, lists, folder=folder, name=name, start=start, seed=seed, wishes=wishes, stop=stop
    )


class TrainingRun:
    """A run, ready to begin; what it writes in its folder is claimed.

    Args:
        datafile: The .data file.
        network: With its weights, in training mode.
        lists: Pictures.
        folder: The backup folder.
        name: What files are named after.
        start: Where it begins.
        seed: Of every random draw.
        wishes: What the command line says.
        stop: Whether to stop.
    """

    def __init__(
        self,
        datafile: DataFile,
        network: Network,
        lists: Lists,
        *,
        folder: Path,
        name: str,
        start: Start,
        seed: int,
        wishes: Wishes,
        stop: StopRequest,
    ) -> None:
        net = network.net
        self.network = network
        self.lists = lists
        self.seed = seed
        self.wishes = wishes
        self.stop = stop
        self.best = BestFile(folder, name)
        self.fingerprint = fingerprint(network.blueprint, lists.train, seed=seed)
        self.problems = ProblemSink()
        self.chart = Chart(name, max_loss=net.max_chart_loss)
        self.rows = Rows(folder / f"{name}.csv")
        of_memory = MemoryRows(folder / f"{name}_memory.csv")
        self.sinks: tuple[Sink, ...] = (Console(), print_memory, of_memory, self.chart, self.rows)
        self.sizes = choose_sizes(network, seed=seed)
        self.maps = choose_maps(net, epochs=wishes.map_epochs, every=wishes.map_every, pictures=len(lists.train))
        checkpoints = choose_checkpoints(datafile, net, save_every=wishes.save_every)
        print_settings(network, checkpoints, seed=seed)
        self.saver = Saver(
            network,
            folder,
            name,
            seen=lambda: self.trainer.iteration * net.images_per_iteration,
            state=self._state,
            emit=self._emit,
        )
        self.device = next(network.parameters()).device
        self.memory = training_memory(network.blueprint, self.sizes.largest, self.device)
        self.tell_memory = MemoryTeller(network, self.memory, self.device, self._emit)
        network.parking = self.memory.parking
        self.trainer = Trainer(
            network,
            Callbacks(
                emit=self._emit,
                save=self._save,
                measure_map=self._measure,
                should_stop=self.stop,
                on_problem=self.problems,
            ),
            position=Position.at_start(self.sizes, completed=start.completed),
            maps=self.maps,
            checkpoints=checkpoints,
            seed=seed,
            iou_threshold=wishes.iou_threshold,
            coefficient=self.sizes.factor,
            around_step=self.memory.step,
            rest=self.memory.rest,
        )
        self._rehearse()
        self._take_over(start)

    def _rehearse(self) -> None:
        """Meet memory that is short now; a CPU's is not so easily short that the time would be worth it."""
        if self.device.type == "cpu":
            return
        try:
            rehearse(self.network, self.trainer.update, self.memory, self.sizes.largest)
        except (RuntimeError, MemoryError) as error:
            self.memory.close()
            raise self._short(error, self.sizes.largest) from error

    def _short(self, error: Exception, size: tuple[int, int]) -> Exception:
        """Return the error to raise."""
        if not is_out_of_memory(error):
            return error
        return out_of_memory(self.network.blueprint, size, error, tier=self.memory.tier, device=self.device)

    def train(self) -> int:
        """Train to the end, or to a signal; return the exit status.

        Raises:
            TrainingError: If memory is short, or the loss no number.
            WeightsError: If the last weights cannot be written to the backup folder.
        """
        try:
            with stop_on_signals(self.stop):
                return self._train()
        finally:
            self.rows.close()
            self.memory.close()

    def _train(self) -> int:
        try:
            interrupted = self.trainer.run(self._plan(), self._batches())
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise self._short(error, self.tell_memory.size) from error
        if not self.trainer.update.has_finite_weights():
            raise TrainingError(
                f"iteration {self.trainer.iteration}: the weights are no finite numbers, and not saved. "
                "Go on from an earlier file, with a lower learning_rate."
            )
        self.saver.finish("last" if interrupted else "final")
        if interrupted:
            self.trainer.save_average()
        return self.stop.exit_status if interrupted else 0

    def _take_over(self, start: Start) -> None:
        """Go on with what an earlier run knew."""
        is_exact = start.state is not None and self._restore(start.state)
        progress = self.trainer.progress
        if start.completed:
            progress.best_map = self.best.known_map(in_state=progress.best_map)
        else:
            self.best.keep()
        try:
            begin_rows(self.rows.path, completed=self.trainer.iteration, is_exact=is_exact)
        except OSError as error:
            say(f"Note: {self.rows.path} cannot be written: {error.strerror}. Training goes on without it.")
            self.sinks = self.sinks[:-1]

    def _restore(self, state: RunState) -> bool:
        try:
            self.trainer.restore(state)
        except ValueError as error:
            say(f"Note: the state does not fit the network ({error}): momentum and averages begin anew.")
            return False
        self.chart.restore(state.arrays)
        stored = state.figures.get("fingerprint")
        if stored == self.fingerprint:
            if self.trainer.iteration < self.network.net.max_batches:
                say(f"The run goes on exactly after iteration {self.trainer.iteration}.")
            return True
        width, height = self.sizes.width, self.sizes.height
        self.trainer.position = replace(self.trainer.position, width=width, height=height)
        say("Momentum and averages go on, but the run is another one: the cfg, the train list or the seed changed.")
        return False

    def _state(self) -> RunState | None:
        trained = self.trainer.state()
        if trained is None:
            return None
        figures = {**trained.figures, **run_figures(self.network.net, seed=self.seed), "fingerprint": self.fingerprint}
        return RunState(figures, {**trained.arrays, **self.chart.state()})

    def _plan(self) -> Iterator[PlannedIteration]:
        return plan_iterations(self.sizes, self.maps, start=self.trainer.position)

    def _batches(self) -> Iterator[MiniBatch]:
        return training_batches(
            self.lists.train,
            augmentation(self.network),
            requests(self.network.net, self._plan()),
            seed=self.seed,
            workers=self.wishes.workers,
            pin_memory=next(self.network.parameters()).is_cuda,
            shown=self.wishes.shown,
        )

    def _emit(self, event: Event) -> None:
        for sink in self.sinks:
            sink(event)
        self.tell_memory(event)

    def _save(self, suffix: str) -> None:
        if suffix == "best":
            self.best.make_room()
        self.saver(suffix)
        if suffix == "best":
            self.best.note(self.trainer.progress.best_map)

    def _measure(self) -> float:
        return measure_and_print(
            self.network,
            self.lists,
            threshold=self.wishes.threshold,
            iou_threshold=self.wishes.iou_threshold,
            workers=self.wishes.workers,
            on_problem=self.problems,
        )
