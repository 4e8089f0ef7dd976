"""Mini-batches for training, made by worker processes.

Every random draw comes from a generator keyed by (seed, iteration, row), so neither the number of workers nor the
split into mini-batches changes a picture.  Source: darknet src/data.c, load_threads, load_data_detection.
"""

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from darkpy.data.augment import AugmentSpec, Crop, Floats, augment
from darkpy.data.image import Bytes, import_cv2, read_picture
from darkpy.data.index import label_path
from darkpy.data.labels import read_labels
from darkpy.data.mixup import mixup, unit_levels
from darkpy.data.mosaic import job_of_row, mosaic
from darkpy.data.shown import save_row
from darkpy.errors import DarkpyError, DataError, SetupError
from darkpy.structures import MiniBatch, Problem

__all__ = ["AugmentSpec", "Request", "training_batches"]

_ROW_TAG, _JOB_TAG = 1, 2  # keep the draws of a row and of a loader job apart, and from those of other parts
_PATIENCE = 100  # unreadable pictures in a row before the list is given up
_AHEAD = 2  # batches that each worker prepares ahead

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class Request:
    """One mini-batch to make: rows ``first_row`` to ``first_row + rows - 1`` of an iteration, at a size in pixels."""

    iteration: int
    first_row: int
    rows: int
    width: int
    height: int


def training_batches(
    paths: Sequence[str],
    spec: AugmentSpec,
    requests: Iterable[Request],
    *,
    seed: int,
    workers: int,
    pin_memory: bool,
    shown: Path | None = None,
) -> Iterator[MiniBatch]:
    """Yield one mini-batch for each request, in order.

    Args:
        paths: Pictures to draw from, uniformly and with replacement.
        spec: Augmentation.
        requests: What to make; read only a few ahead, so it may be endless.
        seed: Key of every draw, at least 0.
        workers: Processes that prepare batches ahead; 0 makes them here.
        pin_memory: Whether to put batches into pinned memory, for copies to a GPU.
        shown: Folder that gets every row as a picture with its boxes, or None.

    Raises:
        DataError: If no picture can be read, or one cannot be written to ``shown``.
        SetupError: If OpenCV is missing or a worker dies.
    """
    return _stream(_TrainingSet(paths, spec, seed, shown).make, requests, workers=workers, pin_memory=pin_memory)


def _stream(make: Callable[[Any], Batch], keys: Iterable[object], *, workers: int, pin_memory: bool) -> Iterator[Batch]:
    """Yield ``make(key)`` for each key, made by worker processes; an error that came back as a value is raised."""
    import_cv2()  # here, because an error in a starting worker would come back wrapped in a traceback
    loader = DataLoader(
        _Guarded(make),
        batch_size=None,
        sampler=keys,
        num_workers=workers,
        collate_fn=_as_it_is,
        pin_memory=pin_memory,
        worker_init_fn=_start_worker,
        prefetch_factor=_AHEAD if workers else None,
    )
    batches = iter(loader)
    try:
        yield from _unwrapped(batches, workers)
    finally:
        # now, not when the garbage collector finds the iterator in an error's traceback, perhaps in another worker
        stop = getattr(batches, "_shutdown_workers", None)  # there is none without workers
        if stop is not None:
            stop()


def _unwrapped(batches: Iterator[Batch | DarkpyError], workers: int) -> Iterator[Batch]:
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except RuntimeError as error:
            if "DataLoader worker" not in str(error):
                raise
            raise SetupError(
                f"A worker process that prepares pictures died ({str(error).splitlines()[0]}). Mostly memory or shared "
                f"memory (/dev/shm) is short: use fewer than {workers} workers, or none."
            ) from error
        if isinstance(batch, DarkpyError):
            raise batch
        yield batch


def _as_it_is(batch: Batch) -> Batch:
    return batch


def _start_worker(_: int) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):  # for the main process, which ends its iteration first
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    import_cv2().setNumThreads(0)


class _Guarded(Dataset[Batch | DarkpyError], Generic[Batch]):
    """A dataset whose errors come back as values: across processes torch would wrap them in a traceback.

    Args:
        make: Returns the batch for a key; travels to the workers.
    """

    def __init__(self, make: Callable[[Any], Batch]) -> None:
        self.make = make

    def __getitem__(self, key: Any) -> Batch | DarkpyError:
        try:
            return self.make(key)
        except DarkpyError as error:
            return error


class _TrainingSet:
    def __init__(self, paths: Sequence[str], spec: AugmentSpec, seed: int, shown: Path | None) -> None:
        self.paths = paths
        self.spec = spec
        self.seed = seed
        self.shown = shown

    def make(self, key: Request) -> MiniBatch:
        spec = self.spec
        mixed = [self._is_mixed(key, index) for index in range(key.rows)]
        is_blended = any(mixed) and not spec.mosaic  # bytes cannot hold the mean of two pictures
        kind = torch.float32 if is_blended else torch.uint8
        images = torch.empty((key.rows, spec.channels, key.height, key.width), dtype=kind)
        truths = torch.zeros((key.rows, spec.max_boxes, 5))
        paths: list[str] = []
        problems: list[Problem] = []
        for index in range(key.rows):
            row = _Row(
                self.paths, spec, np.random.default_rng([self.seed, _ROW_TAG, key.iteration, key.first_row + index])
            )
            pixels, found = row.make(mixed[index], (key.width, key.height))
            if is_blended:
                pixels = unit_levels(pixels)
            images[index] = torch.from_numpy(pixels).permute(2, 0, 1)
            truths[index, : len(found)] = torch.from_numpy(found)
            if self.shown is not None:
                save_row(self.shown, pixels, found, key=(key.iteration + 1, key.first_row + index, self.seed))
            paths.append(" + ".join(row.drawn))
            problems += row.problems
        return MiniBatch(images, truths, tuple(paths), tuple(problems))

    def _is_mixed(self, key: Request, index: int) -> bool:
        """Return whether the row's whole loader job has mosaic or mixup: darknet draws it once a job, half of them."""
        if not (self.spec.mosaic or self.spec.mixup):
            return False
        job = job_of_row(key.first_row + index, images_per_iteration=self.spec.images_per_iteration)
        return bool(np.random.default_rng([self.seed, _JOB_TAG, key.iteration, job]).integers(2))


class _Row:
    """One row of an iteration: what was drawn for it, and what was wrong with that."""

    def __init__(self, paths: Sequence[str], spec: AugmentSpec, rng: np.random.Generator) -> None:
        self.paths = paths
        self.spec = spec
        self.rng = rng
        self.drawn: list[str] = []
        self.problems: list[Problem] = []

    def make(self, is_mixed: bool, network_size: tuple[int, int]) -> tuple[Bytes | Floats, Floats]:
        """Return the (H, W, C) pixels, bytes or in 0..1 by mixup, and the (M, 5) truths of the row."""
        pixels: Bytes | Floats
        crops: tuple[Crop, ...]
        if is_mixed:
            mix = mosaic if self.spec.mosaic else mixup
            pixels, truths, crops = mix(self.rng, self._draw, spec=self.spec, network_size=network_size)
        else:
            image, found = self._draw()
            pixels, truths, crop = augment(self.rng, image, found, spec=self.spec, network_size=network_size)
            crops = (crop,)
        for path, crop in zip(self.drawn, crops, strict=True):
            if crop.is_reset:
                self.problems.append(Problem("note", path, _nothing_left(path, self.spec)))
        return pixels, truths

    def _draw(self) -> tuple[Bytes, Floats]:
        """Return a picture and its truths; an unreadable picture is noted, and another one drawn."""
        for _ in range(_PATIENCE):
            path = self.paths[int(self.rng.integers(len(self.paths)))]
            try:
                picture = read_picture(path, channels=self.spec.channels)
            except DataError as error:
                failure = str(error)
                self.problems.append(Problem("image", path, failure))
                continue
            self.drawn.append(path)
            labels = read_labels(label_path(path), classes=self.spec.classes)
            self.problems += [*([picture.problem] if picture.problem else []), *labels.problems]
            return picture.pixels, labels.truths
        raise DataError(f"{_PATIENCE} pictures in a row cannot be read. The last: {failure}")


def _nothing_left(path: str, spec: AugmentSpec) -> str:
    return (
        f"{path}: jitter={spec.jitter:g} with resize={spec.resize:g} left nothing of the picture: it was used whole. "
        "Lower them in the [yolo] section."
    )
