"""`detector train`: train a detector, with mAP on the way.  Source: darknet src/detector.c, train_detector."""

import os
import time
from pathlib import Path

import torch

from darkpy.errors import CfgError
from darkpy.network import Network
from darkpy.tasks._claim import base_name, claimed_name
from darkpy.tasks._classes import open_datafile
from darkpy.tasks._device import keep_freed_memory, use_device
from darkpy.tasks._early_checks import tell_further_errors, tell_of_anchors, tell_of_cfg, tell_of_lists
from darkpy.tasks._folder import writable_folder
from darkpy.tasks._interrupt import StopRequest
from darkpy.tasks._network import build_network, open_blueprint, say
from darkpy.tasks._output import patient_output
from darkpy.tasks._training_data import SHOW_IMGS_NOTE, read_lists, refuse_cutmix, worker_count
from darkpy.tasks._training_run import Wishes, begin
from darkpy.tasks._training_setup import check_net, check_sizes


def train(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    clear: bool = False,
    measure_map: bool = False,
    map_epochs: int = 4,
    map_every: int | None = None,
    save_every: int | None = None,
    threshold: float = 0.25,
    iou_threshold: float = 0.5,
    dont_show: bool = True,
    show_imgs: bool = False,
    chart: Path | None = None,
    device: str | None = None,
    gpus: tuple[int, ...] | None = None,
    seed: int | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> int:
    """Train and return the exit status: 130 after Ctrl-C, 143 after SIGTERM.

    Args:
        data: The .data file.
        cfg: The network.
        weights: Where to start from; None starts from random weights.
        clear: Forget the iterations that trained the weights.
        measure_map: Measure mAP on the valid list on the way.
        map_epochs: Passes over the train list between two measurements.
        map_every: Iterations between two measurements, in place of ``map_epochs``.
        save_every: Iterations between two ``_last`` files, in place of the .data file's ``savelast``.
        threshold: Confidence for the true and false positives of mAP.
        iou_threshold: A match overlaps more than this.
        dont_show: Open no window; darkpy's training never does.
        show_imgs: Save every training picture with its boxes in the current folder.
        chart: A chart to go on with; without effect: the state file holds the curves.
        device: Such as ``cpu`` or ``cuda:0``.
        gpus: GPU numbers.
        seed: Of every random draw; None takes that of the run that goes on, else one from the clock, and says it.
        threads: Of the CPU.
        workers: Processes that load pictures.

    Raises:
        DarkpyError: If a setting, a file or a list does not fit, or the loss is no number.
    """
    stop = StopRequest()
    with patient_output(stop):
        return _train(
            data,
            cfg,
            weights,
            device=device,
            gpus=gpus,
            threads=threads,
            chart=chart,
            wishes=Wishes(
                clear=clear,
                map_epochs=map_epochs if measure_map else 0,
                map_every=map_every,
                save_every=save_every,
                threshold=threshold,
                iou_threshold=iou_threshold,
                seed=seed,
                other_seed=int(time.time()) % 2**31,
                workers=worker_count(workers),
                shown=Path() if show_imgs else None,
            ),
            stop=stop,
        )


def _train(
    data: Path,
    cfg: Path,
    weights: Path | None,
    *,
    device: str | None,
    gpus: tuple[int, ...] | None,
    threads: int | None,
    chart: Path | None,
    wishes: Wishes,
    stop: StopRequest,
) -> int:
    """Prepare and train; arguments as those of ``train``."""
    keep_freed_memory(os.environ)
    chosen = use_device(device, gpus=gpus, threads=threads)
    if chart is not None:
        say(f"-chart {chart}: has no effect: the curves of a run that goes on come from its _last.state.")
    if wishes.shown is not None:
        say(SHOW_IMGS_NOTE)
    datafile = open_datafile(data)
    print(base_name(cfg))
    network = _build(cfg, chosen, seed=wishes.other_seed if wishes.seed is None else wishes.seed)
    lists = read_lists(datafile, network, cfg, with_map=bool(wishes.map_epochs))
    tell_of_lists(datafile, with_map=bool(wishes.map_epochs))
    tell_of_anchors(network.blueprint, lists.train)
    folder = writable_folder(datafile, "backup", default="backup", holds="weights")
    with claimed_name(folder, cfg, weights) as name:
        run = begin(datafile, network, lists, weights, folder=folder, name=name, wishes=wishes, stop=stop)
        return run.train()


def _build(cfg: Path, device: torch.device, *, seed: int) -> Network:
    """Return the network with random weights, in training mode.

    Raises:
        CfgError: If the cfg cannot be used, or cannot train.
    """
    try:
        blueprint = open_blueprint(cfg, inference=False)
    except CfgError as refusal:
        tell_further_errors(cfg, refusal)
        raise
    tell_of_cfg(blueprint)
    check_net(blueprint.net, cfg)
    refuse_cutmix(blueprint.net)
    torch.manual_seed(seed)  # initial weights
    network = build_network(blueprint, device)
    network.train()
    check_sizes(network)
    return network
