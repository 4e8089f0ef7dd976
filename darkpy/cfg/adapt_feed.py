"""Which layer gives a head its channels, and how wide it must be: known from the text alone.

Source: darknet src/parser.c, how each layer's parser sets out_c; src/blas.c for what must be of one size.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from darkpy.cfg.adapt_lines import Sheet, whole
from darkpy.cfg.options import Options
from darkpy.cfg.text import Section
from darkpy.errors import CfgError

_ALIASES = {
    "conv": "convolutional",
    "conn": "connected",
    "max": "maxpool",
    "avg": "avgpool",
    "local_avg": "local_avgpool",
    "lrn": "normalization",
    "soft": "softmax",
    "silence": "empty",
}
_WIDTH_KEYS = {"convolutional": "filters", "local": "filters", "connected": "output"}
_KEEP_CHANNELS = "dropout upsample shortcut activation batchnorm normalization empty local_avgpool crop cost".split()
_WITHOUT_PICTURE = "avgpool connected rnn gru lstm softmax detection implicit".split()  # their output is a vector
_STRIDED = {"convolutional": 1, "local": 1, "maxpool": 1, "local_avgpool": 1, "reorg": 1, "reorg3d": 1, "upsample": 2}
_NO_SHARE = -1_000_000_000  # darknet's mark for a share_index that is not there


@dataclass(frozen=True)
class Layers:
    """The layers of a cfg, by darknet's index."""

    net: Section
    sections: tuple[Section, ...]

    @classmethod
    def of(cls, sheet: Sheet) -> "Layers":
        """Return the layers of a cfg.

        Raises:
            CfgError: If it does not begin with [net], or has nothing else.
        """
        first, *rest = sheet.sections
        if first.kind not in ("net", "network"):
            raise CfgError(
                f"{sheet.path}:{first.line}: First section must be [net] or [network], but it is [{first.kind}]. "
                "Put [net] first."
            )
        if not rest:
            raise CfgError(f"{sheet.path}: [net] alone is no network. Add layer sections, such as [convolutional].")
        return cls(first, tuple(rest))

    def kind(self, index: int) -> str:
        """Return a layer's kind by its usual name."""
        kind = self.sections[index].kind
        return _ALIASES.get(kind, kind)

    def options(self, index: int) -> Options:
        """Return a layer's options."""
        return Options(self.sections[index], index=index)

    @cached_property
    def strides(self) -> tuple[Fraction | None, ...]:
        """Return the pixels of the network's input between two cells of each layer's output; None: it has no cells.

        Raises:
            CfgError: If a stride or a source is no number that fits.
        """
        strides: list[Fraction | None] = []
        for index in range(len(self.sections)):
            strides.append(self._stride(index, strides))
        return tuple(strides)

    def _stride(self, index: int, before: list[Fraction | None]) -> Fraction | None:
        kind, options = self.kind(index), self.options(index)
        if kind in _WITHOUT_PICTURE:
            return None
        if kind in ("route", "scale_channels"):
            return before[options.layers("layers" if kind == "route" else "from")[0]]
        stride = before[index - 1] if index else Fraction(1)
        if stride is None or kind not in _STRIDED:
            return stride
        step = options.integer("stride", _STRIDED[kind])
        across = options.integer("stride_x", -1) if kind in ("convolutional", "maxpool") else -1
        step = across if across >= 1 else step or 1
        outwards = (kind == "upsample") != (step < 0) or (kind in ("reorg", "reorg3d") and options.flag("reverse"))
        return stride / abs(step) if outwards else stride * abs(step)


@dataclass(frozen=True, slots=True)
class Need:
    """How many channels a head must read."""

    index: int  # of the head
    source: int  # the layer it reads
    what: str  # "[yolo] at line 135"
    channels: int
    cells: int | None  # of the map that the head reads, where a vector can stand for it; None: unknown
    reason: str  # "3 masks x (1 class + 5)"
    is_new: bool  # whether the cfg, as it was, asked for another number


@dataclass(frozen=True, slots=True)
class _Width:
    """A number for the width of one layer."""

    index: int
    number: int
    need: Need


def set_widths(sheet: Sheet, layers: Layers, needs: Iterable[Need]) -> None:
    """Write the filters= or output= of the layers that feed the heads.

    Raises:
        CfgError: If no layer's width serves a head, or one layer would have to serve two needs.
    """
    chosen: dict[int, _Width] = {}
    for need in needs:
        for width in _widths(layers, need):
            other = chosen.setdefault(width.index, width)
            if other.number != width.number:
                _refuse_both(layers, other, width)
    _check_shared(layers, chosen)
    for width in chosen.values():
        key = _WIDTH_KEYS[layers.kind(width.index)]
        sheet.put_whole(layers.sections[width.index], key, width.number, default=1)


def _widths(layers: Layers, need: Need) -> Iterator[_Width]:
    """Yield the layers whose width gives the head what it needs."""
    todo, seen = [(need.source, need)], set()
    while todo:
        index, wanted = todo.pop()
        if (index, wanted.channels) in seen:  # sources that meet again
            continue
        seen.add((index, wanted.channels))
        if index >= 0 and layers.kind(index) in _WIDTH_KEYS:
            yield from _own_width(layers, index, wanted)
            continue
        sources = _sources(layers, index, wanted) if index >= 0 else []
        if not sources:
            _refuse(layers, index, wanted)
        todo += sources


def _sources(layers: Layers, index: int, need: Need) -> list[tuple[int, Need]]:
    """Return the layers that give a layer its channels, each with what it must give; none where that is not plain."""
    kind, options = layers.kind(index), layers.options(index)
    if kind in _KEEP_CHANNELS or (kind == "maxpool" and not options.flag("maxpool_depth")):
        return [(index - 1, need)]
    if kind == "avgpool":
        return [(index - 1, replace(need, channels=need.channels * (need.cells or 1), cells=1))]
    if kind == "route" and len(options.layers("layers")) == 1:
        groups = max(options.integer("groups", 1), 1)
        return [(options.layers("layers")[0], replace(need, channels=need.channels * groups))]
    if kind in ("sam", "scale_channels"):  # two readings of one width, but for a map of scales
        scales = [(index - 1, need)] if kind == "sam" or not options.flag("scale_wh") else []
        return [(options.layers("from")[0], need), *scales]
    return []


def _own_width(layers: Layers, index: int, need: Need) -> Iterator[_Width]:
    if layers.kind(index) == "connected":
        yield _Width(index, need.channels * (need.cells or 1), need)
        return
    if need.cells is None and layers.strides[index] is not None:
        _refuse(layers, index, need)
        return
    groups = layers.options(index).integer("groups", 1)
    if groups > 1 and need.channels % groups:
        section = layers.sections[index]
        raise CfgError(
            f"{section.path}:{section.line}: [{section.kind}] groups={groups}, but {need.what} needs filters="
            f"{need.channels} = {need.reason}, which is no multiple of it. Set groups=1."
        )
    yield _Width(index, need.channels, need)


def _refuse(layers: Layers, index: int, need: Need) -> None:
    """Raise the error of a head that no width serves; nothing where the head needs what it needed before."""
    if need.is_new:
        head = layers.sections[need.index]
        reads = (
            f"[{layers.sections[index].kind}] of line {layers.sections[index].line}" if index >= 0 else "the picture"
        )
        mend = " and an [avgpool]" if need.cells is None else ""
        raise CfgError(
            f"{head.path}:{head.line}: [{head.kind}] needs {need.channels} channels = {need.reason}, but reads "
            f"{reads}, whose width no single filters= sets. "
            f"Put a [convolutional] with filters={need.channels}{mend} before it."
        )


def _refuse_both(layers: Layers, one: _Width, other: _Width) -> None:
    section = layers.sections[one.index]
    key = _WIDTH_KEYS[layers.kind(one.index)]
    raise CfgError(
        f"{section.path}:{section.line}: [{section.kind}] feeds {one.need.what}, which needs {key}={one.number} = "
        f"{one.need.reason}, and {other.need.what}, which needs {key}={other.number} = {other.need.reason}. "
        "Give each head its own [convolutional]."
    )


def _check_shared(layers: Layers, chosen: dict[int, _Width]) -> None:
    """Refuse a new width of one of two convolutions that share their weights."""
    for index, section in enumerate(layers.sections):
        share = (
            layers.options(index).integer("share_index", _NO_SHARE) if layers.kind(index) == "convolutional" else None
        )
        if share is None or share == _NO_SHARE:
            continue
        target = share if share >= 0 else index + share
        mine, others = (_width_after(layers, one, chosen) for one in (index, target))
        if mine != others and (index in chosen or target in chosen):
            raise CfgError(
                f"{section.path}:{section.line}: [{section.kind}] shares the weights of layer {target}, so both need "
                f"the same filters, but would have {mine} and {others}. Remove share_index={share}."
            )


def _width_after(layers: Layers, index: int, chosen: dict[int, _Width]) -> int | None:
    if index in chosen:
        return chosen[index].number
    return whole(layers.sections[index], "filters") if 0 <= index < len(layers.sections) else None
