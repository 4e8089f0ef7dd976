"""Reads a whole cfg in spite of its mistakes: every refusal becomes a diagnostic, and reading goes on.

The strict reader (darkpy.blueprint) stops at the first mistake. Here a section that is refused is read again without
the refused option, and a layer whose inputs do not fit gets the output that it would most likely have; where that is
a guess, later complaints that rest on it are not made.
"""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from darkpy.blueprint import LostNet, filters_message, kind_of, read_layer
from darkpy.cfg.adapt_feed import Layers
from darkpy.cfg.adapt_heads import find_heads
from darkpy.cfg.net import OF_CLASSIFIERS, NetSpec, unknown_keys
from darkpy.cfg.options import Options
from darkpy.cfg.text import Entry, Section, read_sections
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.errors import CfgError
from darkpy.layers._base import LayerSpec, Shape, WrongChannels, registered, spec_class

T = TypeVar("T")

HEAD_KINDS = ("yolo", "Gaussian_yolo", "region", "detection")
_OF_CHANNELS = frozenset(("filters", "groups", "layers", "out_channels", "maxpool_depth", "classes", "num", "mask"))
_OF_SIZE = frozenset(
    ("size", "stride", "stride_x", "stride_y", "pad", "padding", "dilation", "layers", "width", "height")
)
_USUAL_INPUT = {"width": "416", "height": "416", "channels": "3"}
_WITH = {  # refused key -> those that make no sense without it
    "steps": ("policy",),
    "scales": ("policy",),
    "num": ("mask",),
    "groups": ("group_id",),
}
_RIGHT_VALUE = re.compile(r"(?:Write (?P<number>-?\d+)|Set (?P<option>\w+=[\w.]+))\.$")  # at the end of a refusal
_NOT_YET = "in this version of darkpy"  # of notes and errors: nothing that a user did wrong


class Output(NamedTuple):
    """What a layer puts out, as far as it is known."""

    shape: Shape
    channels_known: bool = True
    size_known: bool = True


@dataclass(frozen=True, slots=True)
class SurveyedLayer:
    """One layer section, read as far as possible."""

    index: int
    section: Section
    options: Options
    spec: LayerSpec | None  # None: cannot be read
    kind: str  # the canonical name, or the one that the cfg has
    sources: tuple[int, ...]
    output: Output | None  # None: unknown
    left_out: frozenset[str] = frozenset()  # refused keys: the spec has their defaults


@dataclass(frozen=True, slots=True)
class Survey:
    """A cfg as far as it can be read, and what its reader refused."""

    path: Path
    net: NetSpec | None
    net_options: Options | None
    layers: tuple[SurveyedLayer, ...]
    diagnostics: tuple[Diagnostic, ...]
    left_out: frozenset[str] = frozenset()  # refused keys of [net]
    is_whole: bool = True  # False: a second network begins, and reading stops there

    @property
    def heads(self) -> list[SurveyedLayer]:
        """The detection heads that could be read."""
        return [layer for layer in self.layers if layer.kind == "yolo" and layer.spec is not None]

    @property
    def is_detector(self) -> bool:
        """Whether there is a detection head, also of a kind that cannot be read."""
        return any(layer.kind in HEAD_KINDS for layer in self.layers)


class _Findings(list[Diagnostic]):
    """Diagnostics of one file."""

    def __init__(self, path: Path | str) -> None:
        super().__init__()
        self.path = str(path)

    def take(self, text: str, severity: Severity, code: str, expected: str | None = None) -> None:
        """Add one of darkpy's messages."""
        self.append(from_message(text, severity=severity, code=code, path=self.path, expected=expected))


def survey_cfg(path: Path) -> Survey:
    """Read a cfg file; what is wrong with it is in ``diagnostics``.

    Args:
        path: The file; it need not be there.
    """
    found = _Findings(path)
    try:
        sections = read_sections(path, refused=lambda error: found.take(str(error), Severity.ERROR, "section"))
    except CfgError as error:
        only = from_message(str(error), severity=Severity.ERROR, code="unreadable", path=str(path))
        return Survey(path, None, None, (), (only,))
    return survey_sections(sections, path, found=found)


def survey_sections(sections: Sequence[Section], path: Path, *, found: Sequence[Diagnostic] = ()) -> Survey:
    """Read the sections of a cfg; ``found`` are diagnostics of their text."""
    findings = _Findings(path)
    findings.extend(found)
    net, net_options, left_out, layer_sections = _read_net(sections, findings)
    if net_options is not None and not layer_sections:
        text = f"{path}: [net] alone is no network. Add layer sections, such as [convolutional]."
        findings.take(text, Severity.ERROR, "section")
    layers = _read_layers(layer_sections, _picture(net, net_options, left_out), findings)
    is_whole = len(layers) == len(layer_sections)
    survey = Survey(path, net, net_options, layers, tuple(findings), left_out, is_whole)
    if survey.is_detector:
        return survey
    return replace(survey, diagnostics=tuple(one for one in findings if OF_CLASSIFIERS not in one.message))


def _picture(net: NetSpec | None, options: Options | None, left_out: frozenset[str]) -> Output | None:
    """Return what the first layer reads, as far as [net] says it."""
    if net is None or options is None:
        return None
    size_known = not left_out & {"width", "height"}
    return Output(Shape(net.channels, net.height, net.width), "channels" not in left_out, size_known)


def _read_net(
    sections: Sequence[Section], findings: _Findings
) -> tuple[NetSpec | None, Options | None, frozenset[str], Sequence[Section]]:
    first = sections[0]
    if not _is_net(first, findings):
        return None, None, frozenset(), [section for section in sections if section.kind not in ("net", "network")]
    options = Options(first)
    net, options, left_out = _read_leniently(first, _net_of, findings, fallback=options)
    if net is None:  # no input size: the rest is read as if it had the usual one
        lacking = [key for key in _USUAL_INPUT if key in left_out or options.integer(key, 0) <= 0]
        mended = tuple(Entry(key, _USUAL_INPUT[key], first.line) for key in lacking)
        kept = tuple(one for one in first.entries if one.key not in lacking)
        mended_net = replace(first, entries=(*kept, *mended))
        net, options, left_out = _read_leniently(mended_net, _net_of, _Findings(findings.path), fallback=options)
        left_out |= set(lacking)
        options.section = first
    _take_notes(options, unknown_keys(options), findings)
    return net, options, left_out, sections[1:]


def _is_net(first: Section, findings: _Findings) -> bool:
    """Return whether the first section is [net], be it mistyped, which is said."""
    if first.kind in ("net", "network"):
        return True
    text = f"{first.path}:{first.line}: the first section must be [net], but it is [{first.kind}]. Put [net] first."
    is_mistyped = bool(difflib.get_close_matches(first.kind.lower(), ("net", "network"), n=1))
    findings.take(text, Severity.ERROR, "section", "[net]" if is_mistyped else None)
    return is_mistyped


def _net_of(section: Section) -> tuple[NetSpec, Options]:
    options = Options(section)
    return NetSpec.parse(options), options


def _read_leniently(
    section: Section,
    read: Callable[[Section], tuple[T, Options]],
    findings: _Findings,
    *,
    fallback: Options,
) -> tuple[T | None, Options, frozenset[str]]:
    """Read a section, again without each option that is refused.

    Returns:
        What was read (None if nothing helps), the options, and the keys that were left out.
    """
    left_out: set[str] = set()
    while True:
        try:
            value, options = read(section)
        except LostNet:
            raise
        except CfgError as error:
            refusal = from_message(
                str(error),
                severity=Severity.ERROR,
                code="unsupported" if _NOT_YET in str(error) else "value",
                path=findings.path,
            )
            entry = next((one for one in section.entries if one.line == refusal.line), None)
            refusal = replace(refusal, expected=_expected(refusal.message, entry))
            if entry is not None or not left_out:  # else it misses what was left out
                findings.append(refusal)
            if entry is None:
                return None, fallback, frozenset(left_out)
            keys = {entry.key, *_WITH.get(entry.key, ())}
            left_out |= keys
            section = replace(section, entries=tuple(one for one in section.entries if one.key not in keys))
        else:
            return value, options, frozenset(left_out)


def _expected(message: str, entry: Entry | None) -> str | None:
    """Return what a refusal says to write, where that is one value."""
    right = _RIGHT_VALUE.search(message)
    if right is None or entry is None or "," in (entry.value or ""):
        return None
    return right["option"] or f"{entry.key}={right['number']}"


def _take_notes(options: Options, unknown: Sequence[str], findings: _Findings) -> None:
    """Add what the reader noted about a section."""
    for text in options.repeated():
        findings.take(text, Severity.WARNING, "duplicate-key")
    for text in unknown:
        findings.take(text, Severity.WARNING, "unknown-key")
    for text in options.notes:
        if text in options.section.notes:
            findings.take(text, Severity.WARNING, "no-value")
        elif text.startswith(f"{options.section.path}:") and " anchors has " not in text:  # of that checks tell more
            not_yet = _NOT_YET in text or OF_CLASSIFIERS in text
            code = "no-effect" if not_yet or " has no effect" in text else "value"
            findings.take(text, Severity.NOTE if not_yet else Severity.WARNING, code)


def _read_layers(sections: Sequence[Section], picture: Output | None, findings: _Findings) -> tuple[SurveyedLayer, ...]:
    layers: list[SurveyedLayer] = []
    outputs: dict[int, Output | None] = {-1: picture}
    for index, section in enumerate(sections):
        try:
            layer = _read_one(section, index, sections, outputs, findings)
        except LostNet as error:
            findings.take(str(error), Severity.ERROR, "lost-net")
            break
        if layer is None:  # a second [net]: what follows belongs to another network
            break
        layers.append(layer)
        outputs[index] = layer.output
    return tuple(layers)


def _read_one(
    section: Section,
    index: int,
    sections: Sequence[Section],
    outputs: dict[int, Output | None],
    findings: _Findings,
) -> SurveyedLayer | None:
    options = Options(section, index=index)
    try:
        spec_class(section)
    except CfgError as error:
        not_yet = _NOT_YET in str(error)
        findings.take(str(error), Severity.ERROR, "unsupported" if not_yet else "section")
        if section.kind in ("net", "network"):
            return None
        if section.kind in HEAD_KINDS:
            _check_later_head(section, index, sections, outputs[index - 1], findings)
        return SurveyedLayer(index, section, options, None, section.kind, (index - 1,), None)

    def read(mended: Section) -> tuple[LayerSpec, Options]:
        spec, _, read_options = read_layer(mended, index)
        return spec, read_options

    spec, options, left_out = _read_leniently(section, read, findings, fallback=options)
    if spec is None:
        kind = registered()[section.kind].kind  # type: ignore[attr-defined]  # set by @layer
        return SurveyedLayer(index, section, options, None, kind, (), None)
    _take_notes(options, options.unknown(), findings)
    sources = spec.sources(index)
    inputs = [outputs[source] for source in sources]
    known = [one for one in inputs if one is not None]
    output = None
    if len(known) == len(inputs):
        output = _output_of(spec, section, sources, known, sections, left_out, findings)
    if output is None and kind_of(spec) == "convolutional":  # it has as many channels as filters, whatever it reads
        output = Output(Shape(spec.filters, 1, 1), not left_out & _OF_CHANNELS, False)  # type: ignore[attr-defined]
    return SurveyedLayer(index, section, options, spec, kind_of(spec), sources, output, left_out)


def _check_later_head(
    section: Section, index: int, sections: Sequence[Section], source: Output | None, findings: _Findings
) -> None:
    """Compare the channels before a head of a kind that this version cannot run with what the head needs."""
    try:
        head = next(one for one in find_heads(Layers(section, tuple(sections))) if one.index == index)
    except CfgError as error:
        findings.take(str(error), Severity.ERROR, "value")
        return
    need = head.need(head.classes or 1, head.boxes)
    if source is None or not source.channels_known or head.classes is None or need.cells != 1:
        return
    if source.shape.channels != need.channels:
        misfit = WrongChannels(need.channels, need.reason, found=source.shape.channels)
        _take_misfit(findings, filters_message(section, index - 1, sections, misfit), misfit)


def _output_of(
    spec: LayerSpec,
    section: Section,
    sources: tuple[int, ...],
    inputs: Sequence[Output],
    sections: Sequence[Section],
    left_out: frozenset[str],
    findings: _Findings,
) -> Output | None:
    kind = kind_of(spec)
    channels_known = (
        kind == "convolutional" or all(one.channels_known for one in inputs)
    ) and not left_out & _OF_CHANNELS
    size_known = all(one.size_known for one in inputs) and not left_out & _OF_SIZE
    shapes = [one.shape for one in inputs]
    try:
        return Output(spec.output_shape(shapes), channels_known, size_known)
    except WrongChannels as misfit:
        if channels_known:
            _take_misfit(findings, filters_message(section, sources[0], sections, misfit), misfit)
        return inputs[0]
    except CfgError as error:
        if all(one.channels_known and one.size_known for one in inputs) and not left_out:
            findings.take(str(error), Severity.ERROR, "shape")
        return _likely_output(kind, spec, inputs)


def _take_misfit(findings: _Findings, text: str, misfit: WrongChannels) -> None:
    """Add the complaint about the channels before a head."""
    option = f"filters={misfit.needed}"
    findings.take(text, Severity.ERROR, "filters", option if text.endswith(f" Set {option}.") else None)


def _likely_output(kind: str, spec: LayerSpec, inputs: Sequence[Output]) -> Output | None:
    """Return what a layer whose inputs do not fit would most likely put out."""
    first = inputs[0]
    if kind == "route":
        groups = max(int(getattr(spec, "groups", 1)), 1)
        channels = sum(one.shape.channels // groups for one in inputs)
        return Output(first.shape._replace(channels=channels), all(one.channels_known for one in inputs), False)
    if kind in ("shortcut", "scale_channels", "maxpool"):
        return first._replace(size_known=kind == "shortcut" and first.size_known)
    return None
