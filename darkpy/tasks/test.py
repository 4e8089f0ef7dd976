"""`detector test`: detect in one picture, or in those that stdin names.  Source: darknet detector.c, test_detector."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import torch
from numpy.typing import NDArray

from darkpy.data.image import read_picture, resize_for_network
from darkpy.errors import DataError
from darkpy.evaluation.evaluator import without_duplicates
from darkpy.network import Network
from darkpy.report.detections_json import JsonFile
from darkpy.report.detections_text import printed_lines
from darkpy.report.findings import select
from darkpy.report.label_file import save_labels as write_labels
from darkpy.report.predictions import draw, save_picture
from darkpy.report.window import can_show, show
from darkpy.structures import Detections
from darkpy.tasks._classes import class_names, open_datafile
from darkpy.tasks._device import use_device
from darkpy.tasks._network import open_network, say

_PICTURE = Path("predictions.jpg")


@dataclass(frozen=True, slots=True)
class _Run:
    """What stays the same from picture to picture."""

    network: Network
    names: Sequence[str]
    device: torch.device
    threshold: float
    letter_box: bool
    ext_output: bool
    save_labels: bool
    show_window: bool
    json_file: JsonFile | None


def test(
    data: Path,
    cfg: Path,
    weights: Path | None,
    image: Path | None,
    *,
    threshold: float,
    letter_box: bool,
    ext_output: bool,
    save_labels: bool,
    out: Path | None,
    dont_show: bool,
    device: str | None,
    gpus: tuple[int, ...] | None,
    seed: int | None,
    threads: int | None,
) -> int:
    """Print, draw and save what the network detects, and return the exit status: 1 if a picture could not be used.

    Args:
        data: The .data file.
        cfg: The network.
        weights: Its weights; without, the weights are random.
        image: The picture; without, paths are read from stdin, one a line.
        threshold: Objectness and probability must be above this.
        letter_box: Keep the pictures' aspect, as ``letter_box=1`` in [net] does.
        ext_output: Print boxes too.
        save_labels: Write each picture's label file.
        out: JSON file to write.
        dont_show: Open no window.
        device: Such as ``cpu`` or ``cuda:0``.
        gpus: GPU numbers; the first counts.
        seed: Of random weights.
        threads: Of the CPU.

    Raises:
        DarkpyError: If a file is missing or does not fit, or ``image`` cannot be read.
    """
    with JsonFile(out) if out else nullcontext() as json_file:
        chosen = use_device(device, gpus=gpus, threads=threads)
        datafile = open_datafile(data)
        if seed is not None:
            torch.manual_seed(seed)
        network = open_network(cfg, weights, device=chosen)
        run = _Run(
            network=network,
            names=class_names(datafile, classes=network.classes, cfg=cfg, exact=False),
            device=chosen,
            threshold=threshold,
            letter_box=letter_box or network.net.letter_box,
            ext_output=ext_output,
            save_labels=save_labels,
            show_window=not dont_show and _has_window(),
            json_file=json_file,
        )
        if image is not None:
            _process(run, str(image).rstrip("\r"))
            return 0
        return _process_all(run, asked_paths(sys.stdin))


def asked_paths(stream: TextIO) -> Iterator[str]:
    """Prompt for picture paths and yield them until the stream ends; blank lines are skipped.

    Args:
        stream: One path a line, with any line ends.
    """
    while True:
        print("Enter Image Path: ", end="", flush=True)
        line = stream.readline()
        if not line:
            return
        path = line.strip().lstrip("\ufeff")
        if path:
            yield path


def _has_window() -> bool:
    """Return whether windows can be opened, and say once if not."""
    possible = can_show()
    if not possible:
        say(f"No display: no window. The picture is in {_PICTURE}; -dont_show silences this.")
    return possible


def _process_all(run: _Run, paths: Iterator[str]) -> int:
    """Process each picture, name those that fail, and return the exit status."""
    failed = 0
    for path in paths:
        try:
            _process(run, path)
        except DataError as error:
            failed += 1
            say(f"Error: {error}")
    if failed:
        say(f"{failed} pictures could not be used.")
    return 1 if failed else 0


def _process(run: _Run, path: str) -> None:
    """Detect in one picture, and print, draw and save the result.

    Raises:
        DataError: If the picture cannot be read, or its label file not be written.
    """
    picture = read_picture(path, channels=run.network.net.channels)
    if picture.problem:
        say(picture.problem.message)
    image = picture.pixels
    height, width = image.shape[:2]
    detections = _detect(run, path, image)
    findings = select(detections, run.names, threshold=run.threshold)
    for line in printed_lines(findings, run.names, image_size=(width, height) if run.ext_output else None):
        print(line)
    sys.stdout.flush()
    drawn = draw(image, findings, run.names)
    if not save_picture(_PICTURE, drawn):
        say(f"Failed to write image {_PICTURE}")
    if run.json_file:
        run.json_file.add(path, detections, run.names)
    if run.save_labels:
        note = write_labels(path, detections, threshold=run.threshold)
        if note:
            say(note)
    if run.show_window:
        show("predictions", drawn)


def _detect(run: _Run, path: str, image: NDArray[np.uint8]) -> Detections:
    """Return the picture's detections after suppression, with darknet's lines printed."""
    net = run.network.net
    pixels = resize_for_network(image, width=net.width, height=net.height, letter_box=run.letter_box)
    for index, kind in run.network.detection_layers:
        print(f" Detection layer: {index} - type = {kind} ")
    started = time.perf_counter()
    with torch.no_grad():
        (found,) = run.network.detect(torch.from_numpy(pixels)[None].to(run.device), run.threshold)
    print(f"{path}: Predicted in {(time.perf_counter() - started) * 1000:f} milli-seconds.", flush=True)
    kept = without_duplicates(
        found,
        run.network.nms_rule,
        network_size=(net.width, net.height) if run.letter_box else None,
        image_size=(image.shape[1], image.shape[0]),
    )
    return _finite(kept, path)


def _finite(detections: Detections, path: str) -> Detections:
    """Return the detections whose box is a number, and say how many are not."""
    good = torch.isfinite(detections.boxes).all(dim=1)
    if bool(good.all()):
        return detections
    say(f"{path}: {int((~good).sum())} boxes are no finite numbers and are left out. Do the weights fit the cfg?")
    return Detections(detections.boxes[good], detections.objectness[good], detections.probabilities[good])
