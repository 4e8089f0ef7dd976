"""What `detector train` says before its first iteration: the cheap part of `cfg check` and `data check`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from darkpy.blueprint import Blueprint
from darkpy.cfg.datafile import DataFile
from darkpy.cfg.shipped import locate
from darkpy.checks.cfg_check import check_cfg
from darkpy.checks.data_advice import quick_anchor_diagnostics
from darkpy.checks.data_lists import quick_list_diagnostics
from darkpy.checks.data_network import network_facts
from darkpy.diagnostics import Diagnostic, Severity
from darkpy.errors import CfgError
from darkpy.report.diagnostics import diagnostic_lines
from darkpy.tasks._network import say

_FEW = 3  # lines of one kind
# Of these training itself tells, when it knows more than the cfg says.
_TOLD_BY_TRAINING = ("ema_alpha", "loss_scale", "equidistant_point", "adversarial_lr", "weights_reject_freq")


def tell_further_errors(cfg: Path, refusal: CfgError) -> None:
    """Say on stderr what else is wrong with a cfg that is refused, so that all can be mended at once."""
    errors = [one for one in check_cfg(locate(cfg)[0]) if one.severity is Severity.ERROR]
    _say(one for one in errors if not str(refusal).startswith(f"{one.where}: "))


def tell_of_cfg(blueprint: Blueprint) -> None:
    """Say on stderr what is odd in a cfg that loads, as far as loading it has not said so."""
    told = [*blueprint.notes, *(note for layer in blueprint.layers for note in layer.notes)]
    places = {one.partition(": ")[0] for one in told}
    _say(
        one
        for one in check_cfg(blueprint.path)
        if one.severity > Severity.NOTE and one.where not in places and not _is_told_elsewhere(one, blueprint)
    )


def _is_told_elsewhere(one: Diagnostic, blueprint: Blueprint) -> bool:
    if one.code in ("batch", "max_batches"):
        return True  # training refuses it, or warns, in darknet's words
    if one.code == "size":  # darknet's own warning has no line
        return any("divisible by 32" in note for note in blueprint.notes)
    return one.message.startswith(tuple(f"[net] {key}=" for key in _TOLD_BY_TRAINING))


def tell_of_lists(data: DataFile, *, with_map: bool) -> None:
    """Say on stderr what is odd in the lists of a run; no picture and no label is opened.

    Args:
        data: Names the lists, which can be read.
        with_map: Whether the valid list is used.
    """
    train, valid = data.file("train"), data.file("valid") if with_map else None
    if train is None:
        return
    line = data.values["valid"][1] if "valid" in data.values else None
    found = quick_list_diagnostics(train, valid, data=data.path, valid_line=line)
    serious = [one for one in found if one.severity > Severity.NOTE]
    missing = [one for one in serious if one.code == "picture-missing"]
    _say([one for one in serious if one.code != "picture-missing"])
    if missing:  # each is named when its turn comes
        say(f"{missing[0].where}: error: {len(missing)} listed pictures are not there, the first in this line.")
    if serious:
        say(f"(darkpy data check {data.path} looks at every picture and label.)")


def tell_of_anchors(blueprint: Blueprint, train: Sequence[str]) -> None:
    """Say on stderr if the anchors seem to be those of another set.

    Args:
        blueprint: Of the network.
        train: Pictures of the train list.
    """
    _say(quick_anchor_diagnostics(train, network_facts(blueprint, str(blueprint.path))))


def _say(found: Iterable[Diagnostic]) -> None:
    for line in diagnostic_lines(found, most=_FEW, hint=""):
        say(line)
