"""Rules about the network as a whole: sizes that the heads divide, layers that nothing reads, options side by side."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from darkpy.blueprint import Blueprint, check_size, read_blueprint
from darkpy.cfg.text import Entry, Section, read_sections
from darkpy.checks.cfg_survey import HEAD_KINDS, Survey, SurveyedLayer, survey_sections
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.engine.schedule import SizeSchedule
from darkpy.errors import CfgError

_STRIDES = (32, 64, 128)  # of the coarsest head; a network's width and height are multiples of it


def size_diagnostics(survey: Survey) -> tuple[Survey, list[Diagnostic]]:
    """Find a width or height that the heads cannot divide.

    Such a size makes layers misfit far away. If a larger one fits, the complaint is made where the size stands, and
    the other rules go on with the network at the size that fits.

    Returns:
        The survey to go on with, and what was found.
    """
    net = survey.net
    if net is None or not survey.is_detector or not _is_odd(survey):
        return survey, []
    for stride in _STRIDES:
        width, height = _raised(net.width, stride), _raised(net.height, stride)
        if (width, height) == (net.width, net.height):
            continue
        fitting = survey_sections(_resized(survey, width, height), survey.path)
        if not _is_odd(fitting):
            has_misfit = _has_misfit(survey)
            found = [
                _size_diagnostic(survey, key, value, stride, has_misfit=has_misfit)
                for key, value in (("width", net.width), ("height", net.height))
                if value % stride
            ]
            texts = [one for one in survey.diagnostics if one.code == "section"]  # of lines that the sections lack
            known = tuple(dict.fromkeys((*texts, *fitting.diagnostics)))
            return replace(fitting, diagnostics=known), found
    return survey, []


def _is_odd(survey: Survey) -> bool:
    """Return whether layers misfit, or a head's grid does not divide the network's size."""
    net = survey.net
    assert net is not None
    if _has_misfit(survey) or net.width % _STRIDES[0] or net.height % _STRIDES[0]:
        return True
    grids = [head.output.shape for head in survey.heads if head.output is not None and head.output.size_known]
    return not all(_divides(grid.width, net.width) and _divides(grid.height, net.height) for grid in grids)


def _divides(cells: int, pixels: int) -> bool:
    """Return whether a head's cells are as many pixels wide as its stride, a power of two."""
    stride = pixels // cells
    return pixels == stride * cells and stride & (stride - 1) == 0


def _has_misfit(survey: Survey) -> bool:
    return any(one.code == "shape" for one in survey.diagnostics)


def _raised(value: int, stride: int) -> int:
    return -(-value // stride) * stride


def _resized(survey: Survey, width: int, height: int) -> list[Section]:
    """Return the sections with another network size."""
    assert survey.net_options is not None
    first = survey.net_options.section
    sizes = {"width": str(width), "height": str(height)}
    entries = tuple(Entry(one.key, sizes.get(one.key, one.value), one.line) for one in first.entries)
    return [replace(first, entries=entries), *(layer.section for layer in survey.layers)]


def _size_diagnostic(survey: Survey, key: str, value: int, stride: int, *, has_misfit: bool) -> Diagnostic:
    assert survey.net_options is not None
    section = survey.net_options.section
    entry = section.find(key)
    up, down = _raised(value, stride), value // stride * stride
    choice = f"{down} or {up}" if down else f"{up}"
    text = f"[net] {key}={value}: must be a multiple of {stride}, the stride of the coarsest head. Set {key}={choice}."
    severity = Severity.ERROR if has_misfit else Severity.WARNING
    line = entry.line if entry else section.line
    return Diagnostic(severity, "size", section.path, line, text, f"{key}={up}")


def random_size_diagnostics(path: Path) -> Iterator[Diagnostic]:
    """Yield the sizes of multi-scale training that the layers cannot divide, of a cfg that loads."""
    blueprint = read_blueprint(path)
    head = next((layer for layer in reversed(blueprint.layers) if layer.kind == "yolo"), None)
    if head is None:
        return
    sizes = _sizes(blueprint, head.spec.data_rule.random)  # type: ignore[attr-defined]  # a [yolo] has one
    for width, height in sizes:
        try:
            check_size(blueprint, width=width, height=height)
        except CfgError as error:
            section = read_sections(path)[0]
            entry = section.find("resize_step")
            if entry is None:
                yield from_message(str(error), severity=Severity.ERROR, code="size", path=str(path))
            else:
                text = from_message(str(error), severity=Severity.ERROR, code="size", path=str(path)).message
                yield Diagnostic(Severity.ERROR, "size", section.path, entry.line, text, "resize_step=32")
            return


def _sizes(blueprint: Blueprint, coefficient: float) -> list[tuple[int, int]]:
    net = blueprint.net
    return SizeSchedule(
        width=net.width,
        height=net.height,
        coefficient=coefficient,
        step=net.resize_step,
        max_batches=net.max_batches,
        seed=0,
    ).all_sizes()


def unread_diagnostics(survey: Survey) -> Iterator[Diagnostic]:
    """Yield the layers that no other layer reads and that are no head: they, and what only they read, do nothing."""
    layers = survey.layers
    if not survey.is_whole or any(layer.spec is None and layer.kind not in HEAD_KINDS for layer in layers):
        return  # what the missing layers read is not known
    heads = {layer.index for layer in layers if layer.kind in HEAD_KINDS}
    ends = heads or {len(layers) - 1}
    useful = _feeding(layers, ends)
    read = {source for layer in layers for source in layer.sources}
    for layer in layers:
        if layer.index in useful or layer.index in read:
            continue
        lost = len(_feeding(layers, {layer.index}) - useful)
        also = f"; with it, {lost - 1} before it do{'es' if lost == 2 else ''} nothing" if lost > 1 else ""
        text = (
            f"[{layer.section.kind}] layer {layer.index} is read by no other layer and is no head{also}. Route it to "
            "where it is needed, or remove it."
        )
        yield Diagnostic(Severity.WARNING, "unread-layer", layer.section.path, layer.section.line, text)


def _feeding(layers: tuple[SurveyedLayer, ...], ends: set[int]) -> set[int]:
    """Return the layers whose output gets to one of ``ends``, these included."""
    found = set(ends)
    for layer in reversed(layers):  # a layer reads earlier ones only
        if layer.index in found:
            found.update(source for source in layer.sources if source >= 0)
    return found


def option_diagnostics(survey: Survey) -> Iterator[Diagnostic]:
    """Yield options of a layer that have no effect beside others of the same section."""
    for layer in survey.layers:
        if layer.kind != "convolutional" or layer.spec is None:
            continue
        section, has = layer.section, layer.options.has
        if has("pad") and has("padding") and layer.options.flag("pad"):
            yield _idle(section, "padding", "has no effect beside pad=1, which pads by size/2. Remove one of them.")
        if has("stride") and has("stride_x") and has("stride_y"):
            yield _idle(section, "stride", "has no effect beside stride_x and stride_y. Remove it.")
        if has("dilation") and layer.options.integer("size", 1) == 1 and layer.options.integer("dilation", 1) > 1:
            yield _idle(section, "dilation", "has no effect with size=1. Remove it, or set size=3.")
        net = survey.net
        stop = layer.options.integer("stopbackward", 0)
        if net is not None and 0 < net.max_batches <= stop and stop > 1:
            text = (
                f"layers up to this one never train: max_batches={net.max_batches}. Write stopbackward=1 if so meant."
            )
            yield _idle(section, "stopbackward", text)


def _idle(section: Section, key: str, text: str) -> Diagnostic:
    entry = section.find(key)
    assert entry is not None
    message = f"[{section.kind}] {key}={entry.value}: {text}"
    return Diagnostic(Severity.WARNING, "no-effect", section.path, entry.line, message)
