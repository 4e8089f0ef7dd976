"""What the picture of a network says about a layer, and how wide a text is at most."""

from collections.abc import Sequence

from darkpy.blueprint import LayerPlan

FAMILIES = {  # section type -> what its row is coloured as
    "convolutional": "conv",
    "maxpool": "pool",
    "avgpool": "pool",
    "route": "route",
    "shortcut": "shortcut",
    "scale_channels": "shortcut",
    "upsample": "upsample",
}
_NAMES = {"convolutional": "conv", "maxpool": "max"}  # as in the table printed at load
_LONGEST = 34  # characters of a row; the tooltip has the whole
_ANCHORS_A_LINE = 3
# Widths in em, those of DejaVu Sans rounded up: the widest of the fonts that a viewer may take.
_NARROW, _WIDE, _USUAL, _CAPITAL = 0.42, 1.0, 0.64, 0.78
_NARROW_LETTERS = frozenset("ijlftrI .,:;|/'()[]-!")
_WIDE_LETTERS = frozenset("mwMWOQ@%&+=<>~#^…")


def text_width(text: str, size: float) -> float:
    """Return the width of a text in pixels, on the safe side.

    Args:
        text: One line.
        size: Of the letters, in pixels.
    """
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter in _WIDE_LETTERS or ord(letter) > 0x2E7F:  # from there on letters are square
        return _WIDE
    return _CAPITAL if letter.isupper() or not letter.isascii() else _USUAL


def printable(text: str) -> str:
    """Return the text with a question mark for what XML or UTF-8 cannot hold; file names may have it."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def is_head(plan: LayerPlan) -> bool:
    """Return whether a layer finds objects."""
    return hasattr(plan.spec, "data_rule")


def family(plan: LayerPlan) -> str:
    """Return what a layer's row is coloured as: conv, pool, route, shortcut, upsample, head or other."""
    return "head" if is_head(plan) else FAMILIES.get(plan.kind, "other")


def row_text(plan: LayerPlan, *, names_sources: bool = True) -> str:
    """Return what a row says: ``conv 3x3 /2 mish``, ``route 118, 54``.

    Args:
        plan: The layer.
        names_sources: Whether to name the layers that it reads beside the one before; in a repeated block their
            numbers would be true only once.
    """
    spec = plan.spec
    parts = [_NAMES.get(plan.kind, plan.kind)]
    if getattr(spec, "out_channels", 0):  # a pool over channels
        parts.append("over channels")
    else:
        parts += _window(plan)
    if names_sources:
        parts += _sources(plan)
    if getattr(spec, "groups", 1) > 1:
        parts.append(_groups(plan))
    if hasattr(spec, "probability"):
        parts.append(f"{spec.probability:g}")
    if getattr(spec, "activation", "linear") != "linear":
        parts.append(spec.activation)  # type: ignore[attr-defined]  # hasattr by the line above
    if is_head(plan):
        parts.append(_count(spec.data_rule.classes, "class", "classes"))  # type: ignore[attr-defined]
    return _shortened(" ".join(parts))


def _window(plan: LayerPlan) -> list[str]:
    """Return size, stride and dilation, as far as the layer has them."""
    spec, parts = plan.spec, []
    if hasattr(spec, "size"):
        parts.append(f"{spec.size}x{spec.size}")
    if hasattr(spec, "stride_x"):
        across, down = spec.stride_x, spec.stride_y  # type: ignore[attr-defined]
        if (across, down) != (1, 1):
            parts.append(f"/{across}" if across == down else f"/{across}x{down}")
    elif hasattr(spec, "stride"):  # of an upsample: negative makes it smaller
        parts.append(f"{spec.stride}x" if spec.stride > 0 else f"1/{-spec.stride}x")
    if getattr(spec, "dilation", 1) > 1:
        parts.append(f"dilated {spec.dilation}")  # type: ignore[attr-defined]
    return parts


def _sources(plan: LayerPlan) -> list[str]:
    named = getattr(plan.spec, "layers", None) or ((plan.spec.source,) if hasattr(plan.spec, "source") else ())
    return [", ".join(map(str, named))] if named else []


def _groups(plan: LayerPlan) -> str:
    groups = plan.spec.groups  # type: ignore[attr-defined]
    if hasattr(plan.spec, "group_id"):
        return f"part {plan.spec.group_id + 1} of {groups}"
    return "depthwise" if groups == plan.inputs[0].channels else f"groups {groups}"


def head_details(plan: LayerPlan) -> tuple[str, ...]:
    """Return the lines below a head's row: its masks and their anchors."""
    rules = getattr(plan.spec, "rules", None)
    if rules is None:
        return ()
    mask = f"mask {', '.join(map(str, rules.mask))} of {_count(len(rules.anchors), 'anchor', 'anchors')}:"
    sizes = ["{:g}x{:g}".format(*rules.anchors[index]) for index in rules.mask]
    lines = [", ".join(sizes[at : at + _ANCHORS_A_LINE]) for at in range(0, len(sizes), _ANCHORS_A_LINE)]
    return (_shortened(mask), *lines)


def tooltip(plans: Sequence[LayerPlan]) -> str:
    """Return what a row says in full: where each of its layers stands in the cfg, and the first one's table row."""
    first = plans[0]
    row = " ".join(first.spec.row(first.inputs, first.output).split())
    return "\n".join([*(f"{plan.index}  {plan.where}" for plan in plans), row])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
