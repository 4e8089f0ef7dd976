"""`detector recall`: how many objects are found at all, whatever their class.

Source: darknet src/detector.c, validate_detector_recall.
"""

from pathlib import Path

import torch

from darkpy.errors import WeightsError
from darkpy.evaluation.recall import RECALL_THRESHOLD, add_picture
from darkpy.network import Network
from darkpy.report.recall_report import recall_line
from darkpy.structures import Detections, EvaluationBatch, RecallResult
from darkpy.tasks._classes import open_datafile
from darkpy.tasks._device import use_device
from darkpy.tasks._network import open_network, say
from darkpy.tasks._progress import ProblemLog
from darkpy.tasks._valid_list import share_cores, valid_batches, valid_list

_ANY_CLASS = 2**31  # a label counts whatever its class


def recall(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    device: str | None,
    gpus: tuple[int, ...] | None,
    threads: int | None,
    workers: int | None,
) -> int:
    """Print a line for each picture of the valid list, and return the exit status: 1 if a picture is unreadable.

    The lines go to stderr, as darknet's do. Pictures are never letterboxed here, whatever the cfg says.

    Args:
        data: The .data file.
        cfg: The network.
        weights: Its weights.
        device: Such as ``cpu`` or ``cuda:0``.
        gpus: GPU numbers; the first counts.
        threads: Of the CPU.
        workers: Threads that load pictures.

    Raises:
        DarkpyError: If a setting, a file or the list does not fit.
    """
    if weights is None:
        raise WeightsError("detector recall: no weights given, so there is nothing to measure. Name a .weights file.")
    chosen = use_device(device, gpus=gpus, threads=threads)
    datafile = open_datafile(data)
    paths = valid_list(datafile, command="recall")
    network = open_network(cfg, weights, device=chosen)
    share_cores(network, threads=threads)
    if network.net.letter_box:
        say(f"{cfg}: letter_box=1 has no effect on 'detector recall', as in darknet: pictures are stretched.")
    problems = ProblemLog()
    result = RecallResult(pictures=0, correct=0, truths=0, proposals=0, iou_sum=0.0)
    for batch in valid_batches(paths, network, classes=_ANY_CLASS, letter_box=False, workers=workers):
        for problem in batch.problems:
            problems(problem)
        for found, truths in zip(_detect(network, batch, chosen), batch.truths, strict=True):
            result = add_picture(result, found, truths)
            say(recall_line(result))
    for line in problems.summary():
        say(line)
    return 1 if problems.unreadable else 0


def _detect(network: Network, batch: EvaluationBatch, device: torch.device) -> list[Detections]:
    """Return the detections of each picture, none of an unreadable one."""
    found = network.detect(batch.images.to(device, non_blocking=True), RECALL_THRESHOLD)
    return [
        one if readable else Detections(one.boxes[:0], one.objectness[:0], one.probabilities[:0])
        for one, readable in zip(found, batch.readable, strict=True)
    ]
