"""`cfg adapt`: a copy of a cfg for other classes, sizes, anchors or lengths of training. Imports no torch."""

from pathlib import Path

from darkpy.cfg.adapt import Wishes
from darkpy.cfg.adapt_anchors import read_anchors
from darkpy.cfg.datafile import read_names
from darkpy.cfg.shipped import locate
from darkpy.errors import CfgError
from darkpy.tasks._adapted import write_adapted


def adapt(
    net: Path,
    *,
    classes: int | None,
    names: Path | None,
    width: int | None,
    height: int | None,
    channels: int | None,
    anchors: str | None,
    max_batches: int | None,
    batch: int | None,
    subdivisions: int | None,
    out: Path | None,
    force: bool,
) -> int:
    """Write the copy, print the difference, and return the exit status.

    Args:
        net: The cfg, or the name of one that comes with darkpy.
        classes: Number of classes.
        names: A .names file whose lines are counted; excludes ``classes``.
        width: Of the network's input, in pixels.
        height: As width.
        channels: 3 for colour, 1 for grey.
        anchors: Numbers in pixels, or the path of a file of them.
        max_batches: Iterations of a training.
        batch: Images of an iteration.
        subdivisions: Mini-batches of an iteration.
        out: The new file; by default NET-CLASSES.cfg, or NET-adapted.cfg, in the current folder.
        force: Whether to overwrite it.

    Raises:
        CfgError: If a file cannot be read or written, or the cfg cannot fulfil the wishes.
    """
    wishes = Wishes(
        classes=_count(names) if names is not None else classes,
        width=width,
        height=height,
        channels=channels,
        anchors=read_anchors(anchors) if anchors is not None else None,
        max_batches=max_batches,
        batch=batch,
        subdivisions=subdivisions,
    )
    default = Path(f"{net.stem}-{wishes.classes or 'adapted'}.cfg")
    write_adapted(net, wishes, out=out or default, force=force)
    return 0


def _count(names: Path) -> int:
    """Return the number of names in a file."""
    found, _ = locate(names)
    count = len(read_names(found, asked_by="-names"))
    if not count:
        raise CfgError(f"{names}: has no names. Write one class name on each line.")
    return count
