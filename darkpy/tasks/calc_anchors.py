"""`detector calc_anchors`: anchors that fit the labels of the train list.

Source: darknet src/detector.c, calc_anchors. darknet uses boxes without size and those in pixels, which pull the
anchors away; here they are named and left out. It draws the first centres once, and otherwise in every run; here the
best of ten draws counts, and a seed repeats them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darkpy.cfg.datafile import DataFile
from darkpy.data.anchors import Clusters, Sizes, cluster, evolve
from darkpy.data.bad_lists import BadLists
from darkpy.data.index import label_path, read_image_list
from darkpy.data.labels import Floats, Labels, read_labels
from darkpy.errors import DataError
from darkpy.report import window
from darkpy.report.anchor_files import ANCHORS, COUNTERS, anchor_text, counters_text, rounded, write_result
from darkpy.report.cloud import draw_cloud, write_cloud
from darkpy.structures import Problem
from darkpy.tasks._anchor_cfg import Copy, NetworkSize, check_copy, network_size, open_copy, write_copy
from darkpy.tasks._classes import open_datafile
from darkpy.tasks._network import say
from darkpy.tasks._progress import ProblemLog

_RESTARTS = 10
_SEED = 0
_GENERATIONS = 1000
_MOST_CLASSES = 100_000  # beyond, an id is a slip, such as a column too few; darknet's table grows until memory ends
_CLOUD = Path("cloud.png")


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """The usable boxes of all label files."""

    sizes_rel: Floats  # (N, 2) width and height relative to the picture
    ids: NDArray[np.int64]  # (N,) classes


def calc_anchors(
    data: Path,
    cfg: Path | None,
    *,
    num_of_clusters: int | None,
    width: int,
    height: int,
    show: bool,
    dont_show: bool,
    seed: int | None,
    genetic: bool,
    net: Path | None,
    new_cfg: Path | None,
    force: bool,
) -> int:
    """Print the anchors, write anchors.txt and counters_per_class.txt here, and return the exit status.

    Args:
        data: The .data file, whose train list counts.
        cfg: A network to take a missing width or height from.
        num_of_clusters: Number of anchors; None takes that of ``net``.
        width: Of the network in pixels; -1 takes that of ``net`` or ``cfg``.
        height: As width.
        show: Draw cloud.png, and show it where there is a display.
        dont_show: Open no window.
        seed: Of the draws; None is 0.
        genetic: Go on from k-means by mutations.
        net: A network whose copy gets the anchors.
        new_cfg: That copy; None makes a name.
        force: Overwrite it.

    Raises:
        DarkpyError: If a setting, a file or the labels do not fit.
    """
    size = network_size(width, height, cfg=cfg, net=net)
    copy = open_copy(net, new_cfg, size=size, force=force)
    clusters = _number(num_of_clusters, copy)
    if copy is not None:
        check_copy(copy, clusters, size)
    print(f"\n num_of_clusters = {clusters}, width = {size.width}, height = {size.height} ")
    datafile = open_datafile(data)
    boxes = _read(datafile)
    sizes = (boxes.sizes_rel * np.array([size.width, size.height], np.float32)).astype(np.float64)
    print("\n calculating k-means++ ...")
    found = _cluster(sizes, clusters, seed=_SEED if seed is None else seed, genetic=genetic)
    _report(found, boxes.ids, datafile, width=size.width)
    if show:
        _show(sizes, found, size, dont_show=dont_show)
    if copy is not None:
        write_copy(copy, rounded(found.anchors, width=size.width), size)
    return 0


def _number(num_of_clusters: int | None, copy: Copy | None) -> int:
    if num_of_clusters is not None:
        return num_of_clusters
    assert copy is not None  # the command line has a default where there is no -cfg
    say(f"{copy.source} has {copy.anchors} anchors, and so many are calculated; -num_of_clusters asks for others.")
    return copy.anchors


def _read(datafile: DataFile) -> _Boxes:
    """Read the labels of the train list, print darknet's counter, and name what is left out.

    Raises:
        CfgError: If the list cannot be read, or the .data file has none.
        DataError: If there is no picture or no box.
    """
    train = datafile.required("train", purpose="detector calc_anchors")
    paths = read_image_list(train, asked_by=datafile.asked_by("train"))
    print(f" read labels from {len(paths)} images ")
    most = max(datafile.integer("classes") or 1, _MOST_CLASSES)
    bad_lists, log = BadLists(Path()), ProblemLog()
    truths: list[Floats] = []
    problems: list[Problem] = []
    overhanging: list[Problem] = []
    count = 0
    for number, path in enumerate(paths, start=1):
        file = label_path(path)
        labels = read_labels(file, classes=most)
        problems += bad_lists.add(labels.problems)
        overhanging += bad_lists.add(_overhanging(labels, file))
        truths.append(labels.truths)
        count += len(labels.truths)
        if len(labels.truths):  # darknet moves the counter at every box
            print(f"\r loaded \t image: {number} \t box: {count}", end="")
    print("\n all loaded. ", flush=True)
    _tell(problems, overhanging, log)
    if not count:
        raise DataError(f"{train}: no box in the labels of its {len(paths)} pictures, so there is nothing to cluster.")
    table = np.concatenate(truths)
    return _Boxes(table[:, 2:4], table[:, 4].astype(np.int64))


def _overhanging(labels: Labels, file: str) -> Sequence[Problem]:
    """Return darknet's complaint about usable boxes with a value outside (0, 1]."""
    boxes = labels.truths[:, :4]
    if ((boxes > 0) & (boxes <= 1)).all():
        return ()
    rows = np.flatnonzero(((boxes <= 0) | (boxes > 1)).any(axis=1))
    return [
        Problem("truth", file, f"{file}:{line}: Wrong label: x = {x:f}, y = {y:f}, width = {w:f}, height = {h:f}")
        for line, (x, y, w, h) in zip(labels.lines[rows].tolist(), boxes[rows].tolist(), strict=True)
    ]


def _tell(problems: Sequence[Problem], overhanging: Sequence[Problem], log: ProblemLog) -> None:
    for problem in problems:
        log(problem)
    for line in log.summary():
        say(line)
    if overhanging:
        say(
            f"{overhanging[0].message}. Boxes with a value outside (0, 1], as this one: {len(overhanging)}. They count "
            "all the same, as in darknet; bad_label.list names them."
        )


def _cluster(sizes: Sizes, clusters: int, *, seed: int, genetic: bool) -> Clusters:
    """Return the anchors, and say on stderr by which draws."""
    generator = np.random.default_rng(seed)
    found = cluster(sizes, clusters, generator=generator, restarts=_RESTARTS)
    print(f"\n iterations = {found.iterations} \n", flush=True)
    say(
        f"The best average IoU of {_RESTARTS} draws of first centres counts, with seed {seed}; darknet draws once, and "
        "differently in every run."
    )
    different = len(np.unique(sizes, axis=0))
    if different < clusters:
        say(f"Warning: only {different} different box sizes for {clusters} clusters: some anchors are equal.")
    if genetic:
        better = evolve(sizes, found, generator=generator, generations=_GENERATIONS)
        before, after = 100 * found.average_iou, 100 * better.average_iou
        say(f"-genetic: {_GENERATIONS} mutations raise the average IoU from {before:.2f} % to {after:.2f} %.")
        found = better
    return found


def _report(found: Clusters, ids: NDArray[np.int64], datafile: DataFile, *, width: int) -> None:
    """Print darknet's results and write its two files."""
    counts = np.bincount(ids, minlength=datafile.integer("classes") or 1)
    _tell_classes(counts, datafile)
    anchors = anchor_text(rounded(found.anchors, width=width))
    print(f"\n{counters_text(counts)}")
    print(f"\n avg IoU = {100 * found.average_iou:2.2f} % ")
    print(f"\nSaving anchors to the file: {ANCHORS} \nanchors = {anchors}", flush=True)
    write_result(COUNTERS, counters_text(counts))
    write_result(ANCHORS, anchors)


def _tell_classes(counts: NDArray[np.int64], datafile: DataFile) -> None:
    told = datafile.integer("classes")
    if told is None:
        say(f"{datafile.path}: no 'classes = ...' line: the classes up to {len(counts) - 1}, as found, are counted.")
    elif len(counts) > told:
        say(
            f"Warning: {datafile.asked_by('classes')}={told}, but {counts[told:].sum()} boxes have a higher class than "
            f"{told - 1}, up to {len(counts) - 1}: they count all the same. Set classes={len(counts)}, or mend the ids."
        )


def _show(sizes: Sizes, found: Clusters, size: NetworkSize, *, dont_show: bool) -> None:
    picture = draw_cloud(sizes, found, width=size.width, height=size.height)
    write_cloud(_CLOUD, picture)
    say(f"-show: the cloud of boxes and anchors is in {_CLOUD}")
    if dont_show:
        return
    if window.can_show():
        window.show("clusters", picture)
    else:
        say("No display: no window. -dont_show silences this.")
