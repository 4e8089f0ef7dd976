"""`detector map`: mAP over the valid list.  Source: darknet src/detector.c, validate_detector_map."""

import os
import time
from pathlib import Path

from darkpy.cfg.datafile import DataFile
from darkpy.errors import DarkpyError, WeightsError
from darkpy.evaluation.coco_tap import CocoTap
from darkpy.evaluation.evaluator import measure_map
from darkpy.evaluation.pixel_detections import VALID_NMS_THRESHOLD, VALID_THRESHOLD
from darkpy.report.coco_report import coco_heading, coco_lines
from darkpy.report.map_report import absent_classes_note, map_heading, map_lines
from darkpy.tasks._classes import class_names, difficult_list, open_datafile
from darkpy.tasks._device import keep_freed_memory, use_device
from darkpy.tasks._network import open_network, say
from darkpy.tasks._progress import ProblemLog, with_progress
from darkpy.tasks._valid_list import share_cores, valid_batches, valid_list


def measure(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    threshold: float,
    iou_threshold: float,
    points: int,
    device: str | None,
    gpus: tuple[int, ...] | None,
    threads: int | None,
    workers: int | None,
    coco: bool = False,
) -> int:
    """Print what the network scores on the valid list, and return the exit status: 1 if a picture is unreadable.

    Args:
        data: The .data file.
        cfg: The network.
        weights: Its weights.
        threshold: Confidence above which a detection counts as true or false positive.
        iou_threshold: A match overlaps more than this.
        points: 0 for the area under the curve, else the number of recall points, at least 2.
        device: Such as ``cpu`` or ``cuda:0``.
        gpus: GPU numbers; the first counts.
        threads: Of the CPU.
        workers: Threads that load pictures.
        coco: Print MS COCO's figures too.

    Raises:
        DarkpyError: If a setting, a file or a list does not fit.
    """
    if points < 0 or points == 1:
        raise DarkpyError(f"-points {points}: must be 0 (area under the curve) or at least 2, such as 11 or 101.")
    if weights is None:
        raise WeightsError("detector map: no weights given, so there is nothing to measure. Name a .weights file.")
    keep_freed_memory(os.environ)  # the loading processes, forked, inherit it
    chosen = use_device(device, gpus=gpus, threads=threads)
    datafile = open_datafile(data)
    paths, difficult = _lists(datafile)
    network = open_network(cfg, weights, device=chosen)
    share_cores(network, threads=threads)
    names = class_names(datafile, classes=network.classes, cfg=cfg, exact=True)
    print(map_heading(network.detection_layers), end="", flush=True)
    problems, started = ProblemLog(), time.monotonic()
    letter_box = network.net.letter_box
    batches = valid_batches(
        paths, network, classes=network.classes, letter_box=letter_box, difficult=difficult, workers=workers
    )
    tap = CocoTap(network, letter_box=letter_box, on_problem=problems) if coco else None
    if tap and difficult:
        say("-coco: the difficult list has no effect on COCO's figures, which know no such objects.")
    result = measure_map(
        tap or network,
        with_progress(tap.watch(batches) if tap else batches, len(paths)),
        device=chosen,
        on_problem=problems,
        threshold=threshold,
        iou_threshold=iou_threshold,
        points=points,
        letter_box=letter_box,
    )
    say(f"Total Detection Time: {int(time.monotonic() - started)} Seconds")
    print(map_lines(result, names), end="", flush=True)
    if tap:
        print(coco_heading(VALID_THRESHOLD, VALID_NMS_THRESHOLD) + coco_lines(tap.result()), end="", flush=True)
    absent = absent_classes_note(result, names)
    for line in ([absent] if absent else []) + problems.summary():
        say(line)
    return 1 if problems.unreadable else 0


def _lists(data: DataFile) -> tuple[list[str], list[str] | None]:
    """Return the pictures of the valid list, and those of the difficult list if there is one.

    Raises:
        CfgError: If a list cannot be read, or the .data file has no valid list.
        DataError: If the valid list is empty, or the difficult one has another length.
    """
    paths = valid_list(data, command="map")
    return paths, difficult_list(data, paths, data.required("valid", purpose="detector map"))
