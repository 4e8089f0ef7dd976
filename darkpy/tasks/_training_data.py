"""What `detector train` reads: its lists, its pictures and the mAP on the way."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from darkpy.cfg.datafile import DataFile
from darkpy.cfg.net import NetSpec
from darkpy.data.bad_lists import BadLists
from darkpy.data.index import read_image_list
from darkpy.data.labels import survey
from darkpy.data.loader import AugmentSpec, Request, evaluation_batches
from darkpy.engine.schedule import PlannedIteration
from darkpy.errors import DataError
from darkpy.evaluation.evaluator import measure_map
from darkpy.network import Network
from darkpy.report.map_report import map_heading, map_lines
from darkpy.structures import Problem
from darkpy.tasks._classes import class_names, difficult_list, tell_other_classes
from darkpy.tasks._network import say

_MAP_BATCH = 8  # pictures of one forward pass of mAP
_MOST_WORKERS = 8


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
        flip=net.flip,
        mosaic=net.mosaic,
        mosaic_bound=net.mosaic_bound,
        letter_box=net.letter_box and not net.mosaic,
        max_boxes=rule.max_boxes,
        classes=rule.classes,
        channels=net.channels,
        images_per_iteration=net.images_per_iteration,
    )


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
    """Measure and print mAP of the network as it stands, at its own size; return it (0..1)."""
    net = network.net
    print(map_heading(network.detection_layers), end="", flush=True)
    result = measure_map(
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
