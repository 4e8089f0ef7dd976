"""What `detector train` reads: its lists, its pictures and the mAP on the way."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from darkpy.cfg.datafile import DataFile
from darkpy.cfg.net import Mixing, NetSpec
from darkpy.data.bad_lists import BadLists
from darkpy.data.evaluation import evaluation_batches
from darkpy.data.index import read_image_list
from darkpy.data.labels import survey
from darkpy.data.loader import AugmentSpec, Request
from darkpy.engine.schedule import PlannedIteration
from darkpy.errors import DataError
from darkpy.evaluation.evaluator import measure_map
from darkpy.network import Network
from darkpy.report.map_report import map_heading, map_lines
from darkpy.structures import EvaluationBatch, MapResult, Problem
from darkpy.tasks._classes import class_names, difficult_list, tell_other_classes
from darkpy.tasks._network import say
from darkpy.tasks._training_setup import is_out_of_memory
from darkpy.tasks._valid_list import pictures_at_once

_MOST_WORKERS = 8
SHOW_IMGS_NOTE = (
    "-show_imgs: every training picture is saved here with its boxes, as aug_ITERATION_ROW_SEED.jpg; "
    "no window is opened."
)


@dataclass(frozen=True, slots=True)
class Lists:
    """Pictures of a run, and the names of their classes."""

    train: list[str]
    valid: list[str]  # empty without mAP
    difficult: list[str] | None
    names: list[str]


def read_lists(data: DataFile, network: Network, cfg: Path, *, with_map: bool) -> Lists:
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
        tell_other_classes(data, classes=classes, cfg=cfg)
        return Lists(train, [], None, [])
    if data.text("valid") is None:
        say(f"{data.path}: no 'valid = ...' line: mAP is measured on the train list, {listed}.")
    valid = data.file("valid") or listed
    if not os.path.isfile(valid):
        raise DataError(
            f"{data.asked_by('valid')}: Error: There is no {valid} file for mAP calculation! "
            f"Don't use -map flag, or set valid={valid.name} in your {data.path} file to a file that exists."
        )
    names = class_names(data, classes=classes, cfg=cfg, exact=True)
    paths = read_image_list(valid, asked_by=data.asked_by("valid"))
    return Lists(train, paths, difficult_list(data, paths, valid), names)


def worker_count(workers: int | None) -> int:
    """Return how many processes load pictures: as many as cores that this process may use, unless told."""
    if workers is not None:
        return workers
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST_WORKERS, usable)


def augmentation(network: Network) -> AugmentSpec:
    """Return what the loader does with pictures: [net]'s colours, the last head's geometry."""
    net = network.net
    rule = network.last_head.data_rule
    return AugmentSpec(
        jitter=rule.jitter,
        resize=rule.resize,
        hue=net.hue,
        saturation=net.saturation,
        exposure=net.exposure,
        blur=net.blur,
        gaussian_noise=net.gaussian_noise,
        flip=net.flip,
        mosaic=net.mixing in (Mixing.MOSAIC, Mixing.CUTMIX_MOSAIC),
        mosaic_bound=net.mosaic_bound,
        mixup=net.mixing is Mixing.MIXUP,
        letter_box=net.letter_box,
        max_boxes=rule.max_boxes,
        classes=rule.classes,
        channels=net.channels,
        images_per_iteration=net.images_per_iteration,
    )


def refuse_cutmix(net: NetSpec) -> None:
    """Print darknet's line about cutmix, which detectors are trained without."""
    if net.mixing in (Mixing.CUTMIX, Mixing.CUTMIX_MOSAIC):
        print("\n cutmix=1 - isn't supported for Detector (use cutmix=1 only for Classifier) ", flush=True)


def requests(net: NetSpec, plan: Iterator[PlannedIteration]) -> Iterator[Request]:
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


class ProblemSink:
    """Names each problem once on stderr, and writes bad.list and bad_label.list as darknet does."""

    def __init__(self) -> None:
        self._lists = BadLists(Path())

    def __call__(self, problem: Problem) -> None:
        """Take note of a problem."""
        for fresh in self._lists.add([problem]):
            say(fresh.message)


def measure_and_print(
    network: Network,
    lists: Lists,
    *,
    threshold: float,
    iou_threshold: float,
    workers: int,
    on_problem: Callable[[Problem], None],
) -> float:
    """Measure and print mAP of the network as it stands, at its own size; return it (0..1).

    It runs in the training network, one picture at a time where there is no memory for more.
    """
    print(map_heading(network.detection_layers), end="", flush=True)

    def measured(batch: int) -> MapResult:
        return measure_map(
            network,
            _valid_batches(network.net, lists, classes=network.classes, batch=batch, workers=workers),
            device=next(network.parameters()).device,
            threshold=threshold,
            iou_threshold=iou_threshold,
            letter_box=network.net.letter_box,
            on_problem=on_problem,
        )

    batch = pictures_at_once(network.net)
    try:
        result = measured(batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        say(f"Note: no memory for {batch} pictures at a time; mAP is measured one by one.")
        result = measured(1)
    print(map_lines(result, lists.names), end="", flush=True)
    return result.mean_average_precision


def _valid_batches(net: NetSpec, lists: Lists, *, classes: int, batch: int, workers: int) -> Iterator[EvaluationBatch]:
    return evaluation_batches(
        lists.valid,
        width=net.width,
        height=net.height,
        channels=net.channels,
        letter_box=net.letter_box,
        classes=classes,
        batch=batch,
        workers=workers,
        difficult=lists.difficult,
    )
