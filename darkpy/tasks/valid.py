"""`detector valid`: write what is found in the valid list, for other programs to score.

Source: darknet src/detector.c, validate_detector.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import torch

from darkpy.cfg.datafile import DataFile
from darkpy.errors import DataError, WeightsError
from darkpy.evaluation.pixel_detections import VALID_THRESHOLD, in_pixels, infinite_boxes
from darkpy.network import Network
from darkpy.report.result_files import FORMS, MOST_CLASSES, NAMES, class_files, result_files
from darkpy.report.result_rows import IMAGENET_CLASSES, base_name, coco_image_id
from darkpy.structures import EvaluationBatch, PictureResult, Problem
from darkpy.tasks._classes import class_names, open_datafile, tell_other_classes
from darkpy.tasks._device import use_device
from darkpy.tasks._folder import writable_folder
from darkpy.tasks._network import open_network, say
from darkpy.tasks._progress import ProblemLog
from darkpy.tasks._valid_list import share_cores, valid_batches, valid_list

_STEP = 4  # darknet counts its pictures by its loading threads


def validate(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    out: Path | None,
    device: str | None,
    gpus: tuple[int, ...] | None,
    threads: int | None,
    workers: int | None,
) -> int:
    """Write the result files of the valid list, and return the exit status: 1 if a picture is unreadable.

    Args:
        data: The .data file; ``eval`` there names the form, ``results`` the folder.
        cfg: The network.
        weights: Its weights.
        out: What the files' names begin with, in place of darknet's own name.
        device: Such as ``cpu`` or ``cuda:0``.
        gpus: GPU numbers; the first counts.
        threads: Of the CPU.
        workers: Threads that load pictures.

    Raises:
        DarkpyError: If a setting, a file or the list does not fit, or the results cannot be written.
    """
    if weights is None:
        raise WeightsError("detector valid: no weights given, so there is nothing to write. Name a .weights file.")
    chosen = use_device(device, gpus=gpus, threads=threads)
    datafile = open_datafile(data)
    form = _form(datafile)
    paths = valid_list(datafile, command="valid")
    folder = writable_folder(datafile, "results", default="results", holds="results")
    _tell_shared_names(paths, form)
    network = open_network(cfg, weights, device=chosen)
    share_cores(network, threads=threads)
    names = _names(datafile, form, network, cfg)
    net = network.net
    say(f"Learning Rate: {net.learning_rate:g}, Momentum: {net.momentum:g}, Decay: {net.decay:g}")
    print("".join(f" Detection layer: {index} - type = {kind} \n" for index, kind in network.detection_layers), end="")
    base = folder / (out or NAMES[form])
    if form == "kitti":
        print(out or NAMES[form])
    problems, started = ProblemLog(), time.monotonic()
    batches = valid_batches(paths, network, classes=network.classes, letter_box=net.letter_box, workers=workers)
    with result_files(form, base, class_names=names) as add:
        for result in _results(network, _counted(batches, len(paths)), device=chosen, on_problem=problems):
            add(result)
    say(f"Total Detection Time: {int(time.monotonic() - started):f} Seconds")
    if problems.unreadable:
        say(f"{problems.unreadable} pictures could not be read; nothing stands for them in {folder}/.")
    return 1 if problems.unreadable else 0


def _results(
    network: Network,
    batches: Iterable[EvaluationBatch],
    *,
    device: torch.device,
    on_problem: Callable[[Problem], None],
) -> Iterator[PictureResult]:
    """Yield what is found in each readable picture."""
    first = 0
    for batch in batches:
        for problem in batch.problems:
            if problem.path in batch.paths:  # of the picture: nobody needs labels here
                on_problem(problem)
        found = network.detect(batch.images.to(device, non_blocking=True), VALID_THRESHOLD)
        height, width = batch.images.shape[-2:]
        for index in (row for row, readable in enumerate(batch.readable) if readable):
            path, size = batch.paths[index], batch.sizes[index]
            note = infinite_boxes(found[index], path)
            if note:
                on_problem(note)
            letter_box = (width, height) if network.net.letter_box else None
            kept = in_pixels(found[index], network.nms_rule, image_size=size, network_size=letter_box)
            yield PictureResult(path, first + index, size, kept)
        first += len(batch.paths)


def _counted(batches: Iterable[EvaluationBatch], total: int) -> Iterator[EvaluationBatch]:
    """Yield the batches, and say on stderr how far darknet would be, in its steps of four pictures."""
    step, done, told = min(_STEP, total), 0, 0
    for batch in batches:
        done += len(batch.paths)
        while told < done:
            told += step
            say(str(told))
        yield batch


def _form(data: DataFile) -> str:
    """Return the form of the results: ``eval``; what darknet does not know is voc, and that is said."""
    if data.text("map") is not None:
        say(f"{data.asked_by('map')} has no effect: only the class trees of YOLO9000 have one.")
    form = data.text("eval") or FORMS[0]
    if form not in FORMS:
        say(f"{data.asked_by('eval')}={form} is unknown: voc is used, as in darknet. Write one of {', '.join(FORMS)}.")
        return FORMS[0]
    return form


def _names(data: DataFile, form: str, network: Network, cfg: Path) -> list[str]:
    """Return the class names if the form needs them, and hold the number of classes against what it can hold.

    Raises:
        CfgError: If names are needed and not given.
        DataError: If the classes are too many, or the names do not fit.
    """
    if form == "voc":
        names = class_names(data, classes=network.classes, cfg=cfg, exact=False)
        class_files(Path(NAMES[form]), names)
        return names
    tell_other_classes(data, classes=network.classes, cfg=cfg)
    most = MOST_CLASSES.get(form)
    if most is not None and network.classes > most:
        raise DataError(
            f"{data.asked_by('eval')}={form} has {most} categories, but classes={network.classes} in {cfg}. "
            "Set eval=voc."
        )
    if form == "imagenet" and network.classes > IMAGENET_CLASSES:
        say(f"{data.asked_by('eval')}={form}: the first {IMAGENET_CLASSES} of {network.classes} classes are written.")
    return []


def _tell_shared_names(paths: Sequence[str], form: str) -> None:
    """Say which pictures the results cannot tell apart, since darknet cuts their names at the first dot."""
    if form not in ("voc", "coco", "kitti"):
        return
    names: dict[str | int, str] = {}
    shared = 0
    for path in dict.fromkeys(paths):
        name = coco_image_id(path) if form == "coco" else base_name(path)
        if names.setdefault(name, path) != path:
            shared += 1
            example = f"{names[name]} and {path} are both {name}"
    if shared:
        say(f"Warning: {shared} pictures share their name in the results with another ({example}). Rename them.")
