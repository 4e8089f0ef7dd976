"""The network that `detector calc_anchors` calculates for: its size, and the copy of its cfg that gets the anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from darkpy.cfg.adapt import Wishes
from darkpy.cfg.options import Options
from darkpy.cfg.shipped import locate
from darkpy.cfg.text import Section, read_sections
from darkpy.errors import CfgError
from darkpy.tasks._adapted import check_adapted, check_free, write_adapted
from darkpy.tasks._network import find, say

_NOT_GIVEN = -1  # darknet's default of -width and -height
_LARGEST = 2**20  # pixels; float32 loses fractions of a pixel beyond
_CELLS_UP_TO = 32  # darknet's bound between a size in grid cells and one in pixels
_HEADS = ("yolo", "Gaussian_yolo", "region")  # those with anchors


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """Size of the network's input, in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A cfg, and where its copy goes."""

    source: Path
    out: Path
    anchors: int  # of the cfg as it is
    force: bool  # whether to overwrite


def network_size(width: int, height: int, *, cfg: Path | None, net: Path | None) -> NetworkSize:
    """Return the size as given; what is missing comes from a cfg, and that is said.

    Args:
        width: In pixels; -1 if it is not given.
        height: As width.
        cfg: The network that stands behind the .data file, as scripts for other commands have it.
        net: The network whose copy gets the anchors; goes before ``cfg``.

    Raises:
        CfgError: If a number is missing, or is not above 0, or the cfg cannot be read.
    """
    given = {"width": width, "height": height}
    missing = [name for name, value in given.items() if value == _NOT_GIVEN]
    source = net or cfg
    if missing and source is not None:
        given |= _sizes_of(source, missing)
    elif missing:
        options = " and ".join(f"-{name}" for name in missing)
        raise CfgError(
            f"detector calc_anchors: {options} missing. Set width and height: -width and -height of the network in "
            "pixels, such as -width 416 -height 416, or name its cfg."
        )
    for name, value in given.items():
        if not 1 <= value <= _LARGEST:
            raise CfgError(f"-{name} {value}: must be from 1 to {_LARGEST} pixels, such as -{name} 416.")
    if cfg is not None and cfg != source:
        say(f"{cfg} has no effect beside -cfg {net}.")
    elif cfg is not None and not missing:
        say(f"{cfg} has no effect on 'detector calc_anchors' beside -width and -height. -cfg writes a copy of a cfg.")
    return NetworkSize(given["width"], given["height"])


def _sizes_of(cfg: Path, names: Sequence[str]) -> dict[str, int]:
    path = find(cfg)
    options = Options(_sections(path)[0])
    sizes = {name: options.integer(name, 0) for name in names}
    for name, value in sizes.items():
        if value < 1:
            raise CfgError(f"{path}: [net] has no {name}= above 0, and -{name} is missing. Write one of them.")
    said = " and ".join(f"-{name} {value}" for name, value in sizes.items())
    say(f"{said}: of {path}")
    return sizes


def _sections(path: Path) -> list[Section]:
    sections = read_sections(path)
    if sections[0].kind not in ("net", "network"):
        raise CfgError(
            f"{path}:{sections[0].line}: First section must be [net] or [network], but it is [{sections[0].kind}]. "
            "Name a network's cfg."
        )
    return sections


def open_copy(net: Path | None, out: Path | None, *, size: NetworkSize, force: bool) -> Copy | None:
    """Return what is to be copied, checked before anything slow; None without ``net``.

    Args:
        net: The cfg.
        out: The copy; None is NAME-anchors.cfg in the current folder.
        size: That the anchors are calculated for.
        force: Whether the copy may exist.

    Raises:
        CfgError: If the cfg cannot be read or has no anchors, the size is in grid cells, or the copy exists.
    """
    if net is None:
        for option, is_given in (("-o", out is not None), ("-force", force)):
            if is_given:
                say(f"{option} has no effect without -cfg.")
        return None
    path = locate(net)[0]
    sections = _sections(path)
    _refuse_cells(size, Options(sections[0]), path)
    heads = [Options(section) for section in sections if section.kind in _HEADS]
    if not heads:
        raise CfgError(f"-cfg {path}: has no [yolo] or other head with anchors. Name the cfg of a detector.")
    target = out or Path(f"{net.stem}-anchors.cfg")
    check_free(target, path, force=force)
    return Copy(path, target, max(head.integer("num", 1, at_least=1) for head in heads), force)


def _refuse_cells(size: NetworkSize, net: Options, path: Path) -> None:
    own = NetworkSize(net.integer("width", 0), net.integer("height", 0))
    if size.width <= _CELLS_UP_TO and size != own:
        raise CfgError(
            f"-cfg {path}: {size.width} x {size.height} is a size in grid cells, but the copy needs pixels, such as "
            f"the cfg's {own.width} x {own.height}. Leave -width and -height out."
        )


def check_copy(copy: Copy, clusters: int, size: NetworkSize) -> None:
    """Refuse a cfg that cannot take so many anchors or that size, before the labels are read.

    Raises:
        CfgError: If it cannot.
    """
    some = tuple((float(number), float(number)) for number in range(1, clusters + 1))
    check_adapted(copy.source, Wishes(width=size.width, height=size.height, anchors=some))


def write_copy(copy: Copy, anchors: Sequence[tuple[str, str]], size: NetworkSize) -> None:
    """Write the copy, print what changed on stdout, and notes on stderr.

    Args:
        copy: What and where.
        anchors: Widths and heights in pixels, as printed.
        size: The size that they are calculated for, which the copy gets too.

    Raises:
        CfgError: If the cfg cannot take the anchors, or the copy cannot be written.
    """
    pairs = tuple((float(width), float(height)) for width, height in anchors)
    wishes = Wishes(width=size.width, height=size.height, anchors=pairs)
    write_adapted(copy.source, wishes, out=copy.out, force=copy.force)
