"""``darkpy cfg check | adapt | show``: look at a network's file, and fit it to other classes, without training."""

from pathlib import Path
from typing import Any

import click

from darkpy.cli._darknet import DarknetGroup, darknet_settings
from darkpy.cli._options import word
from darkpy.cli._types import FILE, POSITIVE


@click.group(cls=DarknetGroup, context_settings=darknet_settings())
def cfg() -> None:
    """Check a network's cfg, fit it to other classes, show it."""


@cfg.command()
@click.argument("net", type=FILE, metavar="NET.cfg")
@click.argument("data", type=FILE, required=False, metavar="[OBJ.data]")
@word("-json", keyword="as_json", help="Print JSON, for editors.")
def check(net: Path, data: Path | None, **options: Any) -> int:
    """Say everything that is wrong with NET.cfg, and whether it fits OBJ.data.

    Exit status: 0 nothing to mend, 3 warnings, 1 errors.
    """
    from darkpy.tasks.cfg_check import check as task

    return task(net, data, **options)


@cfg.command()
@click.argument("net", type=FILE, metavar="NET.cfg")
@word("-classes", POSITIVE, help="Number of classes.")
@word("-names", FILE, help="A .names file, whose lines are the classes.")
@word("-width", POSITIVE, help="Network width in pixels.")
@word("-height", POSITIVE, help="Network height in pixels.")
@word("-channels", POSITIVE, help="3 for colour, 1 for grey.")
@word("-anchors", click.STRING, help="Anchors 'w,h, w,h, ...' in pixels, or a file of them (anchors.txt).")
@word("-max_batches", POSITIVE, help="Iterations; steps go to 80 and 90 % of them.")
@word("-batch", POSITIVE, help="Images of an iteration.")
@word("-subdivisions", POSITIVE, help="Mini-batches of an iteration.")
@word("-o", FILE, keyword="out", help="The new file (default: NET-CLASSES.cfg here).")
@word("-force", help="Overwrite the new file if it exists.")
def adapt(net: Path, **options: Any) -> int:
    """Write a copy of NET.cfg that fits other classes, sizes or anchors, and print what changed."""
    if options["classes"] is not None and options["names"] is not None:
        raise click.UsageError("-classes and -names both say how many classes there are. Give one of them.")
    if all(value is None for key, value in options.items() if key not in ("out", "force")):
        raise click.UsageError("nothing to change. Give -classes, -names, -width or another option.")
    from darkpy.tasks.cfg_adapt import adapt as task

    return task(net, **options)


@cfg.command()
@click.argument("net", type=FILE, metavar="NET.cfg")
@word("-svg", FILE, help="Write a picture of the network's graph.")
def show(net: Path, **options: Any) -> int:
    """Print the table of layers; with -svg draw the network."""
    from darkpy.tasks.cfg_show import show as task

    return task(net, **options)
