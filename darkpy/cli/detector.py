"""``darkpy detector train | test | map | valid | recall | calc_anchors | memory``: darknet's commands, and one more.

Source: darknet src/detector.c, run_detector.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from darkpy import __version__
from darkpy.cfg.shipped import locate
from darkpy.cfg.text import unreadable
from darkpy.cli._darknet import DarknetGroup, darknet_settings
from darkpy.cli._openmp import let_idle_threads_sleep
from darkpy.cli._options import detector_options, word
from darkpy.cli._types import BYTES, BYTES_A_SECOND, CARD, FILE, POSITIVE, TFLOPS, WEIGHTS
from darkpy.errors import CfgError, WeightsError

F = TypeVar("F", bound=Callable[..., Any])


class DetectorGroup(DarknetGroup):
    """The commands of ``detector``."""

    absent = ("demo", "draw")


@click.group(cls=DetectorGroup, context_settings=darknet_settings())
def detector() -> None:
    """Detect objects: train a network, test it on pictures, measure its mAP."""


def _files(function: F) -> F:
    """Declare the files that every command of ``detector`` begins with."""
    for name, kind, required in (("weights", WEIGHTS, False), ("cfg", FILE, True), ("data", FILE, True)):
        function = click.argument(name, type=kind, required=required)(function)
    return function


@detector.command()
@_files
@detector_options("train")
def train(data: Path, cfg: Path, weights: Path | None, **options: Any) -> int:
    """Train a network.

    DATA names the lists and the backup folder, CFG the network, WEIGHTS a file to go on from. Writes
    BACKUP/NAME_last.weights, _best and _final, and chart.png here.
    """
    begin("train", data, cfg, weights, gpus=options["gpus"])
    from darkpy.tasks.train import train as task

    return task(data, cfg, weights, **_placed(options))


@detector.command()
@_files
@click.argument("image", type=FILE, required=False)
@detector_options("test")
def test(data: Path, cfg: Path, weights: Path | None, image: Path | None, **options: Any) -> int:
    """Detect objects in IMAGE.

    IMAGE is a picture; without it, paths are read from standard input, one a line. Writes predictions.jpg here.
    """
    begin("test", data, cfg, weights, gpus=options["gpus"])
    from darkpy.tasks.test import test as task

    return task(data, cfg, weights, image, **_placed(options))


@detector.command("map")
@_files
@detector_options("map")
def measure_map(data: Path, cfg: Path, weights: Path | None, **options: Any) -> int:
    """Measure the mAP of WEIGHTS on the valid list of DATA."""
    begin("map", data, cfg, weights, gpus=options["gpus"])
    from darkpy.tasks.map import measure as task

    return task(data, cfg, weights, **_placed(options))


@detector.command()
@_files
@detector_options("valid")
def valid(data: Path, cfg: Path, weights: Path | None, **options: Any) -> int:
    """Write what WEIGHTS finds in the valid list of DATA, for other programs to score.

    DATA says the form (eval = voc, coco, bdd, kitti or imagenet) and the folder (results = FOLDER).
    """
    begin("valid", data, cfg, weights, gpus=options["gpus"])
    from darkpy.tasks.valid import validate as task

    return task(data, cfg, weights, **_placed(options))


@detector.command()
@_files
@detector_options("recall")
def recall(data: Path, cfg: Path, weights: Path | None, **options: Any) -> int:
    """Measure how many objects of the valid list of DATA are found at all, whatever their class."""
    begin("recall", data, cfg, weights, gpus=options["gpus"])
    from darkpy.tasks.recall import recall as task

    return task(data, cfg, weights, **_placed(options))


@detector.command("calc_anchors")
@click.argument("data", type=FILE)
@click.argument("cfg", type=FILE, required=False)
@detector_options("calc_anchors")
@word("-genetic", help="Go on from k-means by mutations that raise the average IoU.")
@word("-cfg", FILE, keyword="net", help="A network: write a copy of it with these anchors, masks and this size.")
@word("-o", FILE, keyword="new_cfg", help="The copy (default: NAME-anchors.cfg here).")
@word("-force", help="Overwrite the copy if it exists.")
@click.pass_context
def calc_anchors(ctx: click.Context, /, data: Path, cfg: Path | None, **options: Any) -> int:
    """Calculate anchors that fit the labels of the train list of DATA.

    Prints them, and writes anchors.txt and counters_per_class.txt here. -width and -height are needed; a missing one is
    taken from -cfg, or from CFG, which has no other effect.
    """
    begin("calc_anchors", data, cfg or options["net"], None)
    if options["net"] is not None and ctx.get_parameter_source("num_of_clusters") is not ParameterSource.COMMANDLINE:
        options["num_of_clusters"] = None
    from darkpy.tasks.calc_anchors import calc_anchors as task

    return task(data, cfg, **options)


@detector.command()
@click.argument("net", type=FILE, metavar="NET.cfg")
@word("-vram", CARD, default="8GB", help="Memory of the card, as on its box.")
@word("-ram", BYTES, help="Memory of the machine (default: this one's).")
@word("-link", BYTES_A_SECOND, default="12GB/s", help="Between machine and card, each way: 12 is PCIe 3.0, 25 is 4.0.")
@word("-tflops", TFLOPS, default=7.5, help="Of the card, with 32 bits: 10**12 operations a second.")
@word("-membw", BYTES_A_SECOND, default="448GB/s", help="Of the card's memory.")
@word("-width", POSITIVE, help="Network width in pixels (default: the largest that random draws).")
@word("-height", POSITIVE, help="Network height in pixels.")
@word("-infer", help="Plan for detection, not for training.")
@word("-measure", help="Run a real step on the CPU, and compare.")
@word("-tier", click.IntRange(0, 3), help="Tier to measure and to draw (default: optimized_memory of the cfg).")
@word("-plot", FILE, help="Write a picture: bytes of each layer, and the timeline of a step.")
def memory(net: Path, **options: Any) -> int:
    """Say how much memory NET.cfg needs, and which mini-batch fits.

    Nothing is trained, and no GPU is needed. The rates that are assumed where none is given are an RTX 2070's.
    """
    begin("memory", net, None, None)
    from darkpy.tasks.memory import memory as task

    return task(net, **options)


def begin(
    command: str, data: Path, cfg: Path | None, weights: Path | None, *, gpus: Sequence[int] | None = None
) -> None:
    """Check that the files are there, and say that work begins, before seconds go into importing PyTorch.

    A list of GPUs is echoed on stdout, as darknet does.

    Raises:
        CfgError: If the .data file or the cfg is missing.
        WeightsError: If the weights file is missing.
    """
    for path in (data, cfg):
        if path is not None and not locate(path)[0].exists():
            raise CfgError(unreadable(path, FileNotFoundError()))
    if weights is not None and not weights.exists():
        raise WeightsError(unreadable(weights, FileNotFoundError()))
    if gpus is not None:
        click.echo(",".join(map(str, gpus)))
    if command != "train":
        let_idle_threads_sleep(os.environ)
    click.echo(f"darkpy {__version__}: detector {command}, loading PyTorch", err=True)


def _placed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with ``-i`` expressed by ``gpus`` and ``device``, which win over it as in darknet."""
    index = options.pop("gpu_index")
    if index is not None and options["gpus"] is None and options["device"] is None:
        options |= {"device": "cpu"} if index < 0 else {"gpus": (index,)}
    return options
