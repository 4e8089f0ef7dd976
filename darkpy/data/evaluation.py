"""The pictures of a list as an evaluation wants them, prepared ahead by threads.

Decoding and resizing let go of Python's lock, so that threads keep the cores as busy as processes would; they start at
once, and hand over a picture without a copy.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch

from darkpy.data.image import Bytes, import_cv2, read_picture, resize_for_network
from darkpy.data.index import label_path
from darkpy.data.labels import Labels, read_labels
from darkpy.errors import DataError
from darkpy.structures import EvaluationBatch, Problem

_AHEAD = 2  # batches that each thread prepares ahead


def evaluation_batches(
    paths: Sequence[str],
    *,
    width: int,
    height: int,
    channels: int,
    letter_box: bool,
    classes: int,
    batch: int,
    workers: int,
    difficult: Sequence[str] | None,
) -> Iterator[EvaluationBatch]:
    """Yield the pictures of a list, in its order, resized as darknet's inference does, with all their truths.

    Args:
        paths: Pictures.
        width: Of the network, in pixels.
        height: Of the network, in pixels.
        channels: 3 or 1.
        letter_box: Keep the aspect, and fill with grey.
        classes: Number of classes.
        batch: Pictures a batch; the last may be smaller.
        workers: Threads that prepare batches ahead; 0 makes them here.
        difficult: The list of the same pictures whose labels are the difficult objects, or None.

    Raises:
        DataError: If the two lists are of different lengths.
        SetupError: If OpenCV is missing.
    """
    if difficult is not None and len(difficult) != len(paths):
        raise DataError(
            f"the difficult list names {len(difficult)} pictures, but the valid list {len(paths)}. "
            "Give both the same pictures, in the same order."
        )
    import_cv2().setNumThreads(1)  # the cores are busy with other pictures
    starts = (range(first, min(first + batch, len(paths))) for first in range(0, len(paths), batch))
    pictures = _EvaluationSet(paths, difficult, (width, height), channels, letter_box, classes)
    return _ahead(pictures.make, starts, workers=workers)


def _ahead(
    make: Callable[[range], EvaluationBatch], keys: Iterable[range], *, workers: int
) -> Iterator[EvaluationBatch]:
    """Yield ``make(key)`` for each key, in order, made a few ahead by threads, each of which computes alone."""
    if not workers:
        yield from map(make, keys)
        return
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        made: deque[Future[EvaluationBatch]] = deque()
        try:
            for key in keys:
                made.append(pool.submit(make, key))
                if len(made) > _AHEAD * workers:
                    yield made.popleft().result()
            while made:
                yield made.popleft().result()
        finally:
            for batch in made:
                batch.cancel()


class _EvaluationSet:
    def __init__(
        self,
        paths: Sequence[str],
        difficult: Sequence[str] | None,
        network_size: tuple[int, int],
        channels: int,
        letter_box: bool,
        classes: int,
    ) -> None:
        self.paths = paths
        self.difficult = difficult
        self.network_size = network_size
        self.channels = channels
        self.letter_box = letter_box
        self.classes = classes

    def make(self, key: range) -> EvaluationBatch:
        width, height = self.network_size
        images = torch.zeros((len(key), self.channels, height, width))
        problems: list[Problem] = []
        readable, sizes, truths, difficult = [], [], [], []
        for row, index in enumerate(key):
            pixels = self._load(self.paths[index], problems)
            readable.append(pixels is not None)
            sizes.append((pixels.shape[1], pixels.shape[0]) if pixels is not None else self.network_size)
            if pixels is not None:
                network_input = resize_for_network(pixels, width=width, height=height, letter_box=self.letter_box)
                images[row] = torch.from_numpy(network_input)
            truths.append(self._truths(self.paths[index], problems))
            difficult.append(self._truths(self.difficult[index] if self.difficult else None, problems))
        paths = tuple(self.paths[index] for index in key)
        return EvaluationBatch(
            images, tuple(sizes), tuple(truths), tuple(difficult), paths, tuple(readable), tuple(problems)
        )

    def _load(self, path: str, problems: list[Problem]) -> Bytes | None:
        try:
            picture = read_picture(path, channels=self.channels)
        except DataError as error:
            problems.append(Problem("image", path, str(error)))
            return None
        if picture.problem:
            problems.append(picture.problem)
        return picture.pixels

    def _truths(self, path: str | None, problems: list[Problem]) -> torch.Tensor:
        """Return the (T, 5) truths of a picture, also those outside of it, as darknet's map counts them."""
        if path is None:
            return torch.zeros((0, 5))
        labels: Labels = read_labels(label_path(path), classes=self.classes)
        problems += labels.problems
        return torch.from_numpy(np.concatenate([labels.truths, labels.outside]))
