"""`detector train`: train a detector, with mAP on the way.  Source: darknet src/detector.c, train_detector."""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from darkpy.blueprint import check_size
from darkpy.cfg.datafile import DataFile
from darkpy.cfg.net import NetSpec
from darkpy.data.loader import training_batches
from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, PlannedIteration, SizeSchedule, plan_iterations
from darkpy.engine.trainer import Callbacks, Trainer
from darkpy.errors import CfgError, TrainingError
from darkpy.events import Event, Sink
from darkpy.network import Network
from darkpy.report.chart import Chart
from darkpy.report.console import Console
from darkpy.tasks._backup import backup_folder, base_name, saver
from darkpy.tasks._classes import open_datafile
from darkpy.tasks._device import keep_freed_memory, use_device
from darkpy.tasks._interrupt import stop_on_interrupt
from darkpy.tasks._network import build_network, open_blueprint, read_weights, say
from darkpy.tasks._training_data import (
    Lists,
    ProblemSink,
    augmentation,
    measure_and_print,
    read_lists,
    requests,
    worker_count,
)

INTERRUPTED = 130  # exit status after Ctrl-C
_FEW_IMAGES = 8  # below so many images an iteration darknet warns


@dataclass(frozen=True, slots=True)
class _Run:
    """A run, ready to begin."""

    network: Network
    lists: Lists
    folder: Path  # of weights
    cfg: Path
    start: int  # iterations that trained the weights
    checkpoints: CheckpointSchedule
    maps: MapSchedule
    sizes: SizeSchedule
    seed: int
    workers: int


def train(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    clear: bool = False,
    measure_map: bool = False,
    map_epochs: int = 4,
    threshold: float = 0.25,
    iou_threshold: float = 0.5,
    dont_show: bool = True,
    chart: Path | None = None,
    device: str | None = None,
    gpus: tuple[int, ...] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> int:
    """Train and return the exit status: 130 after Ctrl-C.

    Args:
        data: The .data file.
        cfg: The network.
        weights: Where to start from; None starts from random weights.
        clear: Forget the iterations that trained the weights.
        measure_map: Measure mAP on the valid list on the way.
        map_epochs: Passes over the train list between two measurements.
        threshold: Confidence for the true and false positives of mAP.
        iou_threshold: A match overlaps more than this.
        dont_show: Open no window; darkpy's training never does.
        chart: A chart to go on with; without effect so far.
        device: Such as ``cpu`` or ``cuda:0``.
        gpus: GPU numbers.
        seed: Of every random draw; None takes one from the clock, and says it.
        threads: Of the CPU.
        workers: Processes that load pictures.

    Raises:
        DarkpyError: If a setting, a file or a list does not fit, or the loss is no number.
    """
    keep_freed_memory(os.environ)
    chosen = use_device(device, gpus=gpus, threads=threads)
    if chart is not None:
        say(f"-chart {chart}: a finished chart cannot be continued in this version; a new one is drawn.")
    run = _prepare(
        data,
        cfg,
        weights,
        device=chosen,
        clear=clear,
        map_epochs=map_epochs if measure_map else 0,
        seed=int(time.time()) % 2**31 if seed is None else seed,
        workers=worker_count(workers),
    )
    try:
        return _train(run, threshold=threshold, iou_threshold=iou_threshold)
    except (RuntimeError, MemoryError) as error:
        if not _is_out_of_memory(error):
            raise
        net = run.network.net
        width, height = run.sizes.largest
        raise TrainingError(
            f"{cfg}: out of memory at {width}x{height} with a mini-batch of {net.mini_batch} images "
            f"(batch={net.batch} / subdivisions={net.subdivisions}). Raise subdivisions, or lower width and height."
        ) from error


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "can't allocate memory" in str(error) or "not enough memory" in str(error)


def _prepare(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    device: torch.device,
    clear: bool,
    map_epochs: int,
    seed: int,
    workers: int,
) -> _Run:
    """Read and check everything that a run needs, before its first iteration.

    Raises:
        DarkpyError: If a setting, a file or a list does not fit.
    """
    datafile = open_datafile(data)
    print(base_name(cfg))
    blueprint = open_blueprint(cfg, inference=False)
    net = blueprint.net
    _check_net(net, cfg)
    torch.manual_seed(seed)  # initial weights
    network = build_network(blueprint, device)
    network.train()
    sizes = _sizes(network, seed)
    for width, height in sizes.all_sizes():
        check_size(blueprint, width=width, height=height)
    lists = read_lists(datafile, network, cfg, with_map=bool(map_epochs))
    folder = backup_folder(datafile, cfg)
    start = _start(network, weights, clear=clear)
    checkpoints = _checkpoints(datafile, net, start)
    _print_settings(network, checkpoints, seed)
    maps = MapSchedule(0, 0, 0)
    if map_epochs:
        maps = MapSchedule.of_epochs(map_epochs, pictures=len(lists.train), net=net)
    return _Run(network, lists, folder, cfg, start, checkpoints, maps, sizes, seed, workers)


def _train(run: _Run, *, threshold: float, iou_threshold: float) -> int:
    """Train to the end, or to Ctrl-C; return the exit status."""
    network, net = run.network, run.network.net
    sinks: list[Sink] = [Console(), Chart(base_name(run.cfg), max_loss=net.max_chart_loss)]
    problems = ProblemSink()

    def emit(event: Event) -> None:
        for sink in sinks:
            sink(event)

    def measure() -> float:
        return measure_and_print(
            network,
            run.lists,
            threshold=threshold,
            iou_threshold=iou_threshold,
            workers=run.workers,
            on_problem=problems,
        )

    def plan() -> Iterator[PlannedIteration]:
        return plan_iterations(run.sizes, run.maps, start=run.start)

    with stop_on_interrupt() as stop:
        trainer: Trainer  # the saver asks it for the iteration
        save = saver(network, run.folder, run.cfg, iteration=lambda: trainer.iteration, emit=emit)
        batches = training_batches(
            run.lists.train,
            augmentation(network),
            requests(net, plan()),
            seed=run.seed,
            workers=run.workers,
            pin_memory=next(network.parameters()).is_cuda,
        )
        trainer = Trainer(
            network,
            batches,
            Callbacks(emit=emit, save=save, measure_map=measure, should_stop=stop, on_problem=problems),
            maps=run.maps,
            checkpoints=run.checkpoints,
            seed=run.seed,
            iou_threshold=iou_threshold,
            coefficient=run.sizes.factor,
        )
        interrupted = trainer.run(plan(), start=run.start)
    if interrupted:
        return INTERRUPTED
    save("final")
    return 0


# --- before the run -------------------------------------------------------------------------------------------------


def _check_net(net: NetSpec, cfg: Path) -> None:
    """Refuse settings that cannot train.

    Raises:
        CfgError: If batch is 1, or max_batches 0.
    """
    images = net.images_per_iteration
    if images == 1:
        raise CfgError(
            f"{cfg}: Error: You set incorrect value batch=1 for Training! You should set batch=64 subdivision=64 "
            "(batch=1 subdivisions=1 is for detector test)."
        )
    if images < _FEW_IMAGES:
        print(f"\n Warning: You set batch={images} lower than 64! It is recommended to set batch=64 subdivision=64 ")
    if images != net.batch:
        say(
            f"{cfg}: batch={net.batch} is not a multiple of subdivisions={net.subdivisions}: "
            f"an iteration has {images} images."
        )
    if net.max_batches == 0:
        raise CfgError(
            f"{cfg}: max_batches=0: nothing to train. Set the number of iterations, such as max_batches=6000."
        )
    if net.mosaic and net.letter_box:
        say(f"{cfg}: mosaic=1 with letter_box=1: training uses mosaic without letter_box, mAP keeps letter_box.")


def _start(network: Network, weights: Path | None, *, clear: bool) -> int:
    """Read the weights to start from; return the iterations that trained them."""
    if weights is None:
        return 0
    loaded = read_weights(network, weights, leftover_is_error=True)
    start = 0 if clear else loaded.seen // network.net.images_per_iteration
    if start >= network.net.max_batches:
        say(
            f"{weights}: trained for {start} iterations, and max_batches={network.net.max_batches}: none is left. "
            "Raise max_batches, or count from 0 with -clear."
        )
    return start


def _checkpoints(data: DataFile, net: NetSpec, start: int) -> CheckpointSchedule:
    """Return when weights are saved: the .data file's ``saveweights`` and ``savelast``, or darknet's defaults."""
    save_every, save_last = data.integer("saveweights"), data.integer("savelast")
    if save_every is None:
        save_every = 1000 if net.max_batches < 10000 else 10000
        say(f"saveweights: Using default '{save_every}'")
    if save_last is None:
        save_last = 100
        say(f"savelast: Using default '{save_last}'")
    return CheckpointSchedule(save_every, save_last, saved=start, saved_last=start)


def _print_settings(network: Network, checkpoints: CheckpointSchedule, seed: int) -> None:
    net = network.net
    print(
        f"Weights are saved after: {checkpoints.save_every} iterations. Last weights (*_last.weight) are stored every "
        f"{checkpoints.save_last} iterations. "
    )
    print(f"Learning Rate: {net.learning_rate:g}, Momentum: {net.momentum:g}, Decay: {net.decay:g}")
    for index, kind in network.detection_layers:
        print(f" Detection layer: {index} - type = {kind} ")
    sys.stdout.flush()
    say(f"seed: {seed} (-seed {seed} repeats this run's random draws)")
    boxes = {network.head(index).data_rule.max_boxes for index in network.head_indices}
    if len(boxes) > 1:
        say(f"{network.blueprint.path}: heads with different max ({sorted(boxes)}): the last one's counts for all.")


def _sizes(network: Network, seed: int) -> SizeSchedule:
    net, rule = network.net, network.last_head.data_rule
    return SizeSchedule(
        width=net.width,
        height=net.height,
        coefficient=rule.random,
        step=net.resize_step,
        max_batches=net.max_batches,
        seed=seed,
    )
