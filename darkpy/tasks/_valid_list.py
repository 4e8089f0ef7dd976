"""The valid list of a .data file, and its pictures in batches."""

import os
from collections.abc import Iterator, Sequence

import torch

from darkpy.cfg.datafile import DataFile
from darkpy.cfg.net import NetSpec
from darkpy.data.evaluation import evaluation_batches
from darkpy.data.index import read_image_list
from darkpy.network import Network
from darkpy.structures import EvaluationBatch

_SMALLEST_BATCH, _LARGEST_BATCH = 8, 32
_PIXELS = 8 * 416 * 416  # of one forward pass, where that is no fewer pictures than 8
_SMALL_BFLOPS = 0.3  # of a picture: below it takes about as long to load as to look at
_MOST_WORKERS = 4  # as many as darknet has loading threads


def valid_list(data: DataFile, *, command: str) -> list[str]:
    """Return the pictures of the valid list.

    Raises:
        CfgError: If the list cannot be read, or the .data file has none.
        DataError: If it is empty.
    """
    path = data.required("valid", purpose=f"detector {command}")
    return read_image_list(path, asked_by=data.asked_by("valid"))


def valid_batches(
    paths: Sequence[str],
    network: Network,
    *,
    classes: int,
    letter_box: bool,
    workers: int | None,
    difficult: Sequence[str] | None = None,
) -> Iterator[EvaluationBatch]:
    """Yield the pictures in batches, resized for the network.

    Args:
        paths: The pictures.
        network: Gives the size.
        classes: Labels of a class beyond these are left out.
        letter_box: Keep the aspect, and fill with grey.
        workers: Threads that load pictures; None chooses.
        difficult: The list whose labels are the difficult objects, or None.
    """
    return evaluation_batches(
        paths,
        width=network.net.width,
        height=network.net.height,
        channels=network.net.channels,
        classes=classes,
        letter_box=letter_box,
        batch=pictures_at_once(network.net),
        difficult=difficult,
        workers=loading_threads() if workers is None else workers,
    )


def loading_threads() -> int:
    """Return how many threads load pictures: as many as cores, up to darknet's four."""
    return min(_MOST_WORKERS, os.cpu_count() or 1)


def pictures_at_once(net: NetSpec) -> int:
    """Return how many pictures an evaluation takes in one forward pass: more where they are small."""
    return min(max(_PIXELS // (net.width * net.height), _SMALLEST_BATCH), _LARGEST_BATCH)


def share_cores(network: Network, *, threads: int | None) -> None:
    """Let a small network compute on half of the cores: to load its pictures takes as long, and needs the others.

    Args:
        network: On its device; nothing is changed where that is no CPU.
        threads: What the command line asks for, which is left alone.
    """
    is_small = network.blueprint.bflops <= _SMALL_BFLOPS
    if threads is None and is_small and next(network.parameters()).device.type == "cpu":
        torch.set_num_threads(max((os.cpu_count() or 1) // 2, 1))
