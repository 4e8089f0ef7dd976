"""What `detector train` settles before the first iteration, and prints.  Source: darknet src/detector.c."""

import sys
from pathlib import Path

import torch

from darkpy.blueprint import check_size
from darkpy.cfg.datafile import DataFile
from darkpy.cfg.net import NetSpec
from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, SizeSchedule
from darkpy.errors import CfgError
from darkpy.network import Network
from darkpy.tasks._network import say

_FEW_IMAGES = 8  # below so many images an iteration darknet warns


def check_net(net: NetSpec, cfg: Path) -> None:
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
    if net.max_batches == 0:
        raise CfgError(
            f"{cfg}: max_batches=0: nothing to train. Set the number of iterations, such as max_batches=6000."
        )


def choose_sizes(network: Network, *, seed: int) -> SizeSchedule:
    """Return the network's sizes."""
    net = network.net
    return SizeSchedule(
        width=net.width,
        height=net.height,
        coefficient=network.last_head.data_rule.random,
        step=net.resize_step,
        max_batches=net.max_batches,
        seed=seed,
    )


def check_sizes(network: Network) -> None:
    """Look at every size that may be drawn.

    Raises:
        CfgError: If the layers cannot divide one of them.
    """
    for width, height in choose_sizes(network, seed=0).all_sizes():
        check_size(network.blueprint, width=width, height=height)


def choose_checkpoints(data: DataFile, net: NetSpec, *, save_every: int | None) -> CheckpointSchedule:
    """Return when weights are saved: the .data file's ``saveweights`` and ``savelast``, or darknet's defaults.

    Args:
        data: The .data file.
        net: For the default.
        save_every: Iterations between two ``_last`` files, whatever ``savelast`` says; None leaves it to that.
    """
    numbered, last = data.integer("saveweights"), save_every or data.integer("savelast")
    if numbered is None:
        numbered = 1000 if net.max_batches < 10000 else 10000
        say(f"saveweights: Using default '{numbered}'")
    if last is None:
        last = 100
        say(f"savelast: Using default '{last}'")
    return CheckpointSchedule(numbered, last)


def choose_maps(net: NetSpec, *, epochs: int, every: int | None, pictures: int) -> MapSchedule:
    """Return when mAP is measured.

    Args:
        net: For burn_in and the last iteration.
        epochs: Passes over the train list between two measurements; 0: never.
        every: Iterations between two, whatever ``epochs`` says; None leaves it to that.
        pictures: Length of the train list.
    """
    if not epochs:
        return MapSchedule(0, 0, 0)
    if every is not None:
        return MapSchedule(every, net.burn_in, net.max_batches)
    return MapSchedule.of_epochs(epochs, pictures=pictures, net=net)


def print_settings(network: Network, checkpoints: CheckpointSchedule, *, seed: int) -> None:
    """Print darknet's lines about a run that begins, and the seed."""
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


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error tells that memory is short."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "can't allocate memory" in str(error) or "not enough memory" in str(error)
