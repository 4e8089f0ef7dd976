"""Rules about detection heads: classes, anchors, masks, the layer before, and values of which only one head's count."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields

from darkpy.checks.cfg_again import read_again
from darkpy.checks.cfg_survey import Survey, SurveyedLayer
from darkpy.diagnostics import Diagnostic, Severity
from darkpy.layers._head import HeadSpec
from darkpy.layers.yolo import YoloSpec

_DATA_KEYS = {"jitter": "jitter", "resize": "resize", "random": "random", "max": "max_boxes"}  # key -> DataRule's field


def head_diagnostics(survey: Survey) -> Iterator[Diagnostic]:
    """Yield what is wrong with the [yolo] heads, each readable by itself."""
    heads = [(layer, layer.spec) for layer in survey.heads if isinstance(layer.spec, YoloSpec)]
    for layer, spec in heads:
        yield from _anchors(layer, spec, survey)
        yield from _layer_before(layer, spec, survey)
    if len(heads) > 1:
        yield from _anchor_lists(heads)
        yield from _data_rules(heads)
    if heads:
        yield from _masks(heads, is_whole=survey.is_whole)
        yield from _idle_resize_step(*heads[-1], survey)


def class_diagnostics(survey: Survey) -> tuple[Survey, list[Diagnostic]]:
    """Find the heads that have another number of classes than most.

    Returns:
        The survey to go on with, in which these have the number of the others, and what was found.
    """
    usual = usual_classes(survey)
    heads = [(layer, layer.spec.data_rule) for layer in survey.heads if isinstance(layer.spec, HeadSpec)]
    heads = [(layer, rule) for layer, rule in heads if "classes" not in layer.left_out]
    others = [(layer, rule) for layer, rule in heads if rule.classes != usual]
    if not others:
        return survey, []
    example = next(layer for layer, rule in heads if rule.classes == usual)
    found = []
    for layer, rule in others:
        text = (
            f"{rule.classes} classes here, but classes={usual} in the [{example.section.kind}] of line "
            f"{example.section.line}. All heads need the same number: set classes={usual}."
        )
        found.append(_at(layer, "classes", Severity.ERROR, "classes", text, f"classes={usual}"))
    if survey.net_options is None:
        return survey, found
    return read_again(survey, layers={layer.index: {"classes": f"{usual}"} for layer, _ in others}), found


def usual_classes(survey: Survey) -> int | None:
    """Return the number of classes that most heads have, or None without a head that can be read.

    Heads that do not say it, and so have 20, count only where none does.
    """
    heads = [layer for layer in reversed(survey.heads) if "classes" not in layer.left_out]
    written = [layer for layer in heads if layer.options.has("classes")]
    numbers = [layer.spec.data_rule.classes for layer in written or heads if isinstance(layer.spec, HeadSpec)]
    return Counter(numbers).most_common(1)[0][0] if numbers else None


Head = tuple[SurveyedLayer, YoloSpec]


def _at(
    layer: SurveyedLayer, key: str, severity: Severity, code: str, text: str, expected: str | None = None
) -> Diagnostic:
    section = layer.section
    entry = section.find(key)
    shown = f"{key}={entry.value}: " if entry is not None and len(entry.value or "") < 40 else f"{key}: "
    line = entry.line if entry is not None else section.line
    return Diagnostic(severity, code, section.path, line, f"[{section.kind}] {shown}{text}", expected)


def _numbers(layer: SurveyedLayer, key: str) -> int:
    """Return how many numbers a list option has."""
    return len(layer.options.reals(key) or ())


def _anchors(layer: SurveyedLayer, spec: YoloSpec, survey: Survey) -> Iterator[Diagnostic]:
    if layer.left_out & {"anchors", "num"}:
        return
    num, given = len(spec.rules.anchors), _numbers(layer, "anchors")
    if given < 2 * num:
        fits = given % 2 == 0 and max(spec.rules.mask) < given // 2
        text = (
            f"{given} numbers, but num={num} needs {2 * num}, a width and a height for each anchor; the missing ones "
            f"count as 0.5 pixels. Give {2 * num}{f', or set num={given // 2}' if fits else ''}."
        )
        yield _at(layer, "anchors", Severity.ERROR, "anchors", text, f"{2 * num} numbers")
    elif _looks_like_cells(layer, spec):
        text = "seem to be in grid cells, as [region] has them, but [yolo] takes pixels. Multiply them by 32."
        yield _at(layer, "anchors", Severity.WARNING, "anchors", text)
    elif given > 2 * num:
        text = f"{given} numbers, but num={num} uses {2 * num}. Set num={given // 2}, or remove the others."
        yield _at(layer, "anchors", Severity.WARNING, "anchors", text, f"num={given // 2}")
    net, last = survey.net, survey.heads[-1]
    if net is not None and given >= 2 * num and layer is last:  # mostly the same list in all heads
        large = sum(w > net.width and h > net.height for w, h in spec.rules.anchors)
        if large:
            text = (
                f"{large} of {num} anchors are larger than the network ({net.width}x{net.height} pixels). Recompute "
                f"them: detector calc_anchors OBJ.data -num_of_clusters {num} -width {net.width} -height {net.height}."
            )
            yield _at(layer, "anchors", Severity.WARNING, "anchors", text)


def _looks_like_cells(layer: SurveyedLayer, spec: YoloSpec) -> bool:
    """Return whether all anchors are smaller than the head's grid, and some are fractions of what would be a pixel."""
    sides = [side for anchor in spec.rules.anchors for side in anchor]
    grid = layer.output.shape if layer.output is not None and layer.output.size_known else None
    return grid is not None and max(sides) <= min(grid.width, grid.height) and any(side % 1 for side in sides)


def _masks(heads: list[Head], *, is_whole: bool) -> Iterator[Diagnostic]:
    if any(layer.left_out & {"mask", "num"} for layer, _ in heads):
        return
    layer, last = heads[-1]
    used: Counter[int] = Counter()
    for head, spec in heads:
        double = [mask for mask, count in Counter(spec.rules.mask).items() if count > 1]
        if double:
            text = f"names anchor {double[0]} twice: the second never learns. Name each once."
            yield _at(head, "mask", Severity.WARNING, "mask", text)
        shared = sorted(set(spec.rules.mask) & set(used))
        if shared:
            text = f"anchor {shared[0]} is in an earlier head's mask too: that anchor is trained in both grids."
            whole = len(shared) == len(set(spec.rules.mask))
            yield _at(head, "mask", Severity.WARNING if whole else Severity.NOTE, "mask", text)
        used.update(set(spec.rules.mask))
    idle = sorted(set(range(len(last.rules.anchors))) - set(used))
    if idle and is_whole:
        numbers = ", ".join(map(str, idle))
        text = f"no head's mask names anchor {numbers}: a truth that fits it best is learnt by no head."
        yield _at(layer, "anchors", Severity.NOTE, "mask", text)


def _anchor_lists(heads: list[Head]) -> Iterator[Diagnostic]:
    heads = [
        (layer, spec)
        for layer, spec in heads
        if not layer.left_out & {"anchors", "num"} and _numbers(layer, "anchors") >= 2 * len(spec.rules.anchors)
    ]
    if not heads:
        return
    usual = Counter(spec.rules.anchors for _, spec in reversed(heads)).most_common(1)[0][0]
    for layer, spec in heads:
        if spec.rules.anchors != usual and len(spec.rules.anchors) == len(usual):
            example = next(other for other, rules in heads if rules.rules.anchors == usual)
            text = (
                f"other anchors than in the [yolo] of line {example.section.line}. A truth is given to the head that "
                "holds its best anchor, so all heads need the same list; mask says which are whose."
            )
            yield _at(layer, "anchors", Severity.WARNING, "anchors", text)


def _data_rules(heads: list[Head]) -> Iterator[Diagnostic]:
    """Yield the keys of which only the last head's value counts, and an earlier head says otherwise."""
    last_layer, last = heads[-1]
    names = {field.name for field in fields(last.data_rule)}
    for layer, spec in heads[:-1]:
        for key, name in _DATA_KEYS.items():
            assert name in names
            counts = getattr(last.data_rule, name)
            if key in last_layer.left_out:
                continue
            if layer.options.has(key) and getattr(spec.data_rule, name) != counts:
                text = (
                    f"has no effect: only the last head's counts (line {last_layer.section.line}: {key}={counts:g}). "
                    "Write the same value in all heads."
                )
                yield _at(layer, key, Severity.WARNING, "no-effect", text, f"{key}={counts:g}")


def _layer_before(layer: SurveyedLayer, spec: YoloSpec, survey: Survey) -> Iterator[Diagnostic]:
    """Yield where the convolution before a head has an activation that the head does not expect."""
    before = survey.layers[layer.index - 1] if layer.index else None
    if before is None or before.kind != "convolutional" or before.spec is None or "activation" in before.left_out:
        return
    activation = getattr(before.spec, "activation", "linear")
    wanted = "logistic" if spec.rules.new_coords else "linear"
    if activation == wanted:
        return
    why = "with new_coords=1 the head takes them as they are" if spec.rules.new_coords else "the head applies its own"
    text = f"the [yolo] at line {layer.section.line} needs activation={wanted} here ({why}). Set activation={wanted}."
    yield _at(before, "activation", Severity.WARNING, "activation", text, f"activation={wanted}")


def _idle_resize_step(layer: SurveyedLayer, last: YoloSpec, survey: Survey) -> Iterator[Diagnostic]:
    options = survey.net_options
    entry = options.section.find("resize_step") if options is not None else None
    if options is not None and entry is not None and not last.data_rule.random and "random" not in layer.left_out:
        text = f"[net] resize_step={entry.value}: has no effect without random=1 in the last head. Remove it."
        yield Diagnostic(Severity.WARNING, "no-effect", options.section.path, entry.line, text)
