"""Rules about the network as a whole: sizes that the heads divide, layers that nothing reads, options side by side."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from darkpy.blueprint import Blueprint, check_size, coarsest_stride, read_blueprint
from darkpy.cfg.text import Section, read_sections
from darkpy.checks.cfg_again import read_again
from darkpy.checks.cfg_survey import HEAD_KINDS, Survey, SurveyedLayer
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
        fitting = read_again(survey, net={"width": str(width), "height": str(height)})
        if not _is_odd(fitting) or (stride == _STRIDES[0] and _misfits(fitting) == _misfits(survey)):
            found = [
                _size_diagnostic(survey, key, value, stride, misfit=_cured(survey, fitting))
                for key, value in (("width", net.width), ("height", net.height))
                if value % stride
            ]
            return replace(fitting, net=net, net_options=survey.net_options), found
    return survey, []


def _is_odd(survey: Survey) -> bool:
    """Return whether layers misfit, heads do not fill the picture, or darknet warns of the size."""
    net = survey.net
    assert net is not None
    return bool(_misfits(survey) or net.width % _STRIDES[0] or net.height % _STRIDES[0] or not _fill(survey))


def _fill(survey: Survey) -> bool:
    """Return whether the cells of every head fill the picture."""
    net = survey.net
    assert net is not None
    grids = [head.output.shape for head in survey.heads if head.output is not None and head.output.size_known]
    return all(_divides(grid.width, net.width) and _divides(grid.height, net.height) for grid in grids)


def _divides(cells: int, pixels: int) -> bool:
    """Return whether a head's cells are as many pixels wide as its stride, a power of two."""
    stride = pixels // cells
    return pixels == stride * cells and stride & (stride - 1) == 0


def _misfits(survey: Survey) -> list[int | None]:
    """Return the lines of the layers that do not fit."""
    return [one.line for one in survey.diagnostics if one.code == "shape"]


def _cured(survey: Survey, fitting: Survey) -> int | None:
    """Return the line of the first layer that does not fit at the present size, but at another one."""
    return next((line for line in _misfits(survey) if line not in _misfits(fitting)), None)


def _raised(value: int, stride: int) -> int:
    return -(-value // stride) * stride


def _size_diagnostic(survey: Survey, key: str, value: int, stride: int, *, misfit: int | None) -> Diagnostic:
    assert survey.net_options is not None
    section = survey.net_options.section
    entry = section.find(key)
    up, down = _raised(value, stride), value // stride * stride
    choice = f"{down} or {up}" if down else f"{up}"
    is_needed = misfit or not _fill(survey)
    why = "the stride of the coarsest head" if is_needed else "as darknet asks of every detector"
    else_misfit = f", or layers misfit at line {misfit}" if misfit else ""
    or_strides = ", or mend a layer's stride" if stride > _STRIDES[0] else ""  # a 2 for a 1 somewhere looks the same
    text = f"[net] {key}={value}: must be a multiple of {stride}, {why}{else_misfit}. Set {key}={choice}{or_strides}."
    severity = Severity.ERROR if misfit else Severity.WARNING
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
            misfit = from_message(str(error), severity=Severity.ERROR, code="size", path=section.path)
            line = entry.line if entry else section.line
            text = f"layers misfit at line {misfit.line}: {misfit.message}"
            stride = coarsest_stride(blueprint)
            right = f"resize_step={stride}" if blueprint.net.resize_step % stride else None
            yield replace(misfit, line=line, message=text, expected=right)
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
