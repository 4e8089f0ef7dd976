"""``darkpy cfg show``: the table of layers, and a picture of the graph."""

import os
import sys
from pathlib import Path

import torch

from darkpy.errors import CfgError
from darkpy.files import replaced
from darkpy.network import Blueprint, Network, read_blueprint
from darkpy.report.graph import lay_out
from darkpy.report.graph_svg import MARK
from darkpy.report.graph_svg import svg as draw
from darkpy.tasks._network import find, say

_HEAD = 1 << 16  # bytes of a file in which the mark must stand


def show(net: Path, *, svg: Path | None = None) -> int:
    """Print the table that is printed at load; draw the network if a file is named. Return the exit status, 0.

    Args:
        net: The cfg.
        svg: The picture to write; an earlier one of this command is replaced.

    Raises:
        CfgError: If the cfg cannot be used, or the picture cannot be written or would replace another file.
        SetupError: If the package that draws is not installed.
    """
    if svg is not None:
        _check_target(svg)
    blueprint = read_blueprint(find(net))
    picture = None if svg is None else _picture(blueprint)
    _print_table(blueprint)
    if svg is not None and picture is not None:
        _write(svg, picture)
        say(f"{svg}: the network's graph.")
    return 0


def _print_table(blueprint: Blueprint) -> None:
    """Print the table on stdout, what the cfg gives occasion to say on stderr."""
    for note in blueprint.notes:
        say(note)
    notes = {note for layer in blueprint.layers for note in layer.notes}
    for line in blueprint.table():
        if line in notes:
            sys.stdout.flush()  # below its row, on a terminal
            say(line)
        else:
            print(line)


def _picture(blueprint: Blueprint) -> str:
    with torch.device("meta"):  # shapes without memory
        network = Network(blueprint)
    return draw(lay_out(blueprint, parameters=sum(value.numel() for value in network.parameters())))


def _check_target(path: Path) -> None:
    """Raise CfgError for a name that no picture should have, and for a file that is something else."""
    if os.path.isdir(path):
        raise CfgError(f"-svg {path}: is a folder. Name a file in it, such as {path / 'net.svg'}.")
    if path.suffix.lower() != ".svg":
        raise CfgError(f"-svg {path}: the picture is an SVG file. Let its name end in .svg: {path.stem}.svg.")
    if not os.path.exists(path):
        return
    try:
        is_ours = os.path.isfile(path) and _is_ours(path)
    except OSError as error:
        raise CfgError(f"-svg {path}: cannot be read: {error.strerror}. Choose another name.") from error
    if not is_ours:
        raise CfgError(f"-svg {path}: is there already, and not from cfg show, so it is kept. Choose another name.")


def _is_ours(path: Path) -> bool:
    """Return whether a file holds a picture that this command drew, or nothing."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return not head or MARK.encode() in head


def _write(path: Path, picture: str) -> None:
    try:
        with replaced(path) as file:
            file.write(picture.encode())
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise CfgError(
            f"-svg {path}: cannot be written: {why}. Name a file in a folder that can be written."
        ) from error
