"""`detector train`: train a detector, with mAP on the way.  Source: darknet src/detector.c, train_detector."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from darkpy.cfg.datafile import DataFile
from darkpy.cfg.net import NetSpec
from darkpy.data.bad_lists import BadLists
from darkpy.data.index import read_image_list
from darkpy.data.labels import survey
from darkpy.data.loader import AugmentSpec, Request, evaluation_batches, training_batches
from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, PlannedIteration, SizeSchedule, plan_iterations
from darkpy.engine.trainer import Callbacks, Trainer
from darkpy.errors import CfgError, DataError
from darkpy.evaluation.evaluator import measure_map as measure
from darkpy.events import Event, Sink
from darkpy.layers._head import DataRule
from darkpy.network import Network
from darkpy.report.chart import Chart
from darkpy.report.console import Console
from darkpy.report.map_report import map_heading, map_lines
from darkpy.structures import Problem
from darkpy.tasks._backup import backup_folder, base_name, saver
from darkpy.tasks._classes import class_names, difficult_list, open_datafile
from darkpy.tasks._device import choose_device, set_threads
from darkpy.tasks._interrupt import stop_on_interrupt
from darkpy.tasks._network import build_network, open_blueprint, read_weights, say

INTERRUPTED = 130  # exit status after Ctrl-C
_MAP_BATCH = 8  # pictures of one forward pass of mAP
_MOST_WORKERS = 8
_FEW_IMAGES = 8  # below so many images an iteration darknet warns


@dataclass(frozen=True, slots=True)
class _Lists:
    """Pictures of a run."""

    train: list[str]
    valid: list[str]  # empty without mAP
    difficult: list[str] | None
    names: list[str]


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
    set_threads(threads)
    chosen, notes = choose_device(device, gpus=gpus)
    for note in notes:
        say(note)
    if chart is not None:
        say(f"-chart {chart}: a finished chart cannot be continued in this version; a new one is drawn.")
    seed = int(time.time()) % 2**31 if seed is None else seed
    datafile = open_datafile(data)
    print(base_name(cfg))
    blueprint = open_blueprint(cfg, inference=False)
    _check_net(blueprint.net, cfg)
    torch.manual_seed(seed)  # initial weights
    network = build_network(blueprint, chosen)
    network.train()
    lists = _read_lists(datafile, network, cfg, with_map=measure_map)
    folder = backup_folder(datafile, cfg)
    start = _start(network, weights, clear=clear)
    checkpoints = _checkpoints(datafile, blueprint.net, start)
    _print_settings(network, checkpoints, seed)
    loaders = _worker_count(workers)
    sinks: list[Sink] = [Console(), Chart(base_name(cfg), max_loss=blueprint.net.max_chart_loss)]
    problems = _ProblemSink()

    def emit(event: Event) -> None:
        for sink in sinks:
            sink(event)

    def evaluate() -> float:
        return _evaluate(
            network, lists, threshold=threshold, iou_threshold=iou_threshold, workers=loaders, on_problem=problems
        )

    epochs = map_epochs if measure_map else 0
    maps = (
        MapSchedule.of_epochs(epochs, pictures=len(lists.train), net=blueprint.net) if epochs else MapSchedule(0, 0, 0)
    )
    sizes = _sizes(network, seed)
    with stop_on_interrupt() as stop:
        trainer: Trainer  # the saver asks it for the iteration
        save = saver(network, folder, cfg, iteration=lambda: trainer.iteration, emit=emit)
        requests = _requests(blueprint.net, plan_iterations(sizes, maps, start=start))
        trainer = Trainer(
            network,
            training_batches(
                lists.train,
                _augmentation(network),
                requests,
                seed=seed,
                workers=loaders,
                pin_memory=chosen.type == "cuda",
            ),
            Callbacks(emit=emit, save=save, measure_map=evaluate, should_stop=stop, on_problem=problems),
            maps=maps,
            checkpoints=checkpoints,
            seed=seed,
            iou_threshold=iou_threshold,
            coefficient=sizes.factor,
        )
        interrupted = trainer.run(plan_iterations(sizes, maps, start=start), start=start)
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


def _read_lists(data: DataFile, network: Network, cfg: Path, *, with_map: bool) -> _Lists:
    """Read the lists that the run needs, and look at their labels' classes.

    Raises:
        CfgError: If a list is missing.
        DataError: If a list is empty, or names or labels do not fit the network's classes.
    """
    classes = network.classes
    listed = data.required("train", purpose="detector train")
    train = read_image_list(listed, asked_by=data.asked_by("train"))
    for problem in survey(train, classes=classes):
        say(problem.message)
    if not with_map:
        return _Lists(train, [], None, [])
    valid = data.file("valid") or listed
    if not os.path.isfile(valid):
        raise DataError(
            f"{data.asked_by('valid')}: Error: There is no {valid} file for mAP calculation! "
            f"Don't use -map flag, or set valid={valid.name} in your {data.path} file to a file that exists."
        )
    names = class_names(data, classes=classes, cfg=cfg, exact=True)
    paths = read_image_list(valid, asked_by=data.asked_by("valid"))
    return _Lists(train, paths, difficult_list(data, paths, valid), names)


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


def _worker_count(workers: int | None) -> int:
    return min(_MOST_WORKERS, os.cpu_count() or 1) if workers is None else workers


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


def _augmentation(network: Network) -> AugmentSpec:
    """Return what the loader does with pictures: [net]'s colours, the last head's geometry."""
    net = network.net
    rule: DataRule = network.last_head.data_rule
    return AugmentSpec(
        jitter=rule.jitter,
        resize=rule.resize,
        hue=net.hue,
        saturation=net.saturation,
        exposure=net.exposure,
        flip=net.flip,
        mosaic=net.mosaic,
        mosaic_bound=net.mosaic_bound,
        letter_box=net.letter_box and not net.mosaic,
        max_boxes=rule.max_boxes,
        classes=rule.classes,
        channels=net.channels,
        images_per_iteration=net.images_per_iteration,
    )


def _requests(net: NetSpec, plan: Iterator[PlannedIteration]) -> Iterator[Request]:
    """Yield the mini-batches of the planned iterations."""
    for planned in plan:
        for subdivision in range(net.subdivisions):
            yield Request(
                iteration=planned.completed,
                first_row=subdivision * net.mini_batch,
                rows=net.mini_batch,
                width=planned.width,
                height=planned.height,
            )


# --- during the run -------------------------------------------------------------------------------------------------


class _ProblemSink:
    """Names each problem once on stderr, and writes bad.list and bad_label.list as darknet does."""

    def __init__(self) -> None:
        self._lists = BadLists(Path())

    def __call__(self, problem: Problem) -> None:
        """Take note of a problem."""
        for fresh in self._lists.add([problem]):
            say(fresh.message)


def _evaluate(
    network: Network,
    lists: _Lists,
    *,
    threshold: float,
    iou_threshold: float,
    workers: int,
    on_problem: Callable[[Problem], None],
) -> float:
    """Measure and print mAP of the network as it stands, at its own size; return it (0..1)."""
    net = network.net
    print(map_heading(network.detection_layers), end="", flush=True)
    result = measure(
        network,
        evaluation_batches(
            lists.valid,
            width=net.width,
            height=net.height,
            channels=net.channels,
            letter_box=net.letter_box,
            classes=network.classes,
            batch=_MAP_BATCH,
            workers=min(workers, len(lists.valid) // (2 * _MAP_BATCH)),
            difficult=lists.difficult,
        ),
        device=next(network.parameters()).device,
        threshold=threshold,
        iou_threshold=iou_threshold,
        letter_box=net.letter_box,
        on_problem=on_problem,
    )
    print(map_lines(result, lists.names), end="", flush=True)
    return result.mean_average_precision
