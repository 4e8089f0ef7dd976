"""Rules about [net]: what an iteration is made of, the schedule, and keys that do nothing beside others."""

from collections.abc import Iterator
from dataclasses import replace

from darkpy.cfg.net import Mixing, NetSpec
from darkpy.checks.cfg_survey import Survey
from darkpy.diagnostics import Diagnostic, Severity
from darkpy.engine.ema import idle_average
from darkpy.engine.training_keys import late_keys

# key -> policies that read it
_POLICY_KEYS = {
    "steps": ("steps",),
    "scales": ("steps",),
    "step": ("step", "sigmoid"),
    "scale": ("step",),
    "gamma": ("exp", "sigmoid"),
    "sgdr_cycle": ("sgdr",),
    "sgdr_mult": ("sgdr",),
    "learning_rate_min": ("sgdr",),
}
_NEEDS = {  # key -> the switch without which nothing reads it
    "B1": "adam",
    "B2": "adam",
    "eps": "adam",
    "mosaic_bound": "mosaic",
}


def net_diagnostics(survey: Survey) -> Iterator[Diagnostic]:
    """Yield what is wrong with the values of [net], each readable by itself."""
    net = survey.net
    if net is None:
        return
    place = _Places(survey)
    yield from _batch(net, place)
    yield from _rates(net, place)
    yield from _schedule(net, place)
    yield from _policy_keys(net, place)
    yield from _switches(net, place)
    if survey.is_detector:
        yield from _mixing(net, place)
    yield from _averages(net, place)


class _Places:
    """Makes diagnostics at the lines of keys."""

    def __init__(self, survey: Survey) -> None:
        assert survey.net_options is not None
        self.options = survey.net_options
        self.section = survey.net_options.section
        self.left_out = survey.left_out

    def has(self, key: str) -> bool:
        """Return whether the section gives the key a value."""
        entry = self.section.find(key)
        return entry is not None and entry.value is not None

    def length(self, key: str) -> int:
        """Return how many numbers a list option has."""
        return len(self.options.reals(key) or ())

    def warn(self, key: str, code: str, text: str, *, expected: str | None = None) -> Diagnostic:
        """Return a warning at the key's line, or the section's; ``KEY=VALUE: text``."""
        entry = self.section.find(key)
        shown = f"{key}={entry.value}: " if entry is not None else f"no {key}=: "
        line = entry.line if entry is not None else self.section.line
        return Diagnostic(Severity.WARNING, code, self.section.path, line, f"[net] {shown}{text}", expected)


def _batch(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    if place.left_out & {"batch", "subdivisions"}:
        return
    if net.images_per_iteration == 1:
        text = "good for testing, but training refuses it. Set batch=64 and subdivisions=16 or the like to train."
        yield place.warn("batch", "batch", text, expected="batch=64")
    elif not place.has("batch"):
        text = (
            f"counts as 1, so an iteration has {net.images_per_iteration} images, one by one. Set batch=64 or the like."
        )
        yield place.warn("batch", "batch", text, expected="batch=64")
    elif net.images_per_iteration != net.batch:
        near = min(_divisors(net.batch), key=lambda one: (abs(one - net.subdivisions), one))
        text = (
            f"does not divide batch={net.batch}: an iteration has {net.images_per_iteration} images "
            f"(mini-batches of {net.mini_batch}). Set subdivisions={near}."
        )
        yield place.warn("subdivisions", "subdivisions", text, expected=f"subdivisions={near}")


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, min(number, 4096) + 1) if number % one == 0]


def _rates(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    if net.learning_rate <= 0 and "learning_rate" not in place.left_out:
        text = "a rate that is not above 0 learns nothing. Set learning_rate=0.001 or the like."
        yield place.warn("learning_rate", "learning_rate", text)
    if not 0 <= net.momentum < 1 and "momentum" not in place.left_out:
        yield place.warn("momentum", "momentum", "must be from 0 to below 1, or updates grow without end. Set 0.9.")


def _schedule(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    if "max_batches" in place.left_out:
        return
    if net.max_batches == 0:
        yield place.warn(
            "max_batches", "max_batches", "no iterations, so nothing to train. Set max_batches=6000 or the like."
        )
        return
    if net.burn_in >= net.max_batches:
        text = f"the rate is still rising when training ends, at max_batches={net.max_batches}. Lower burn_in."
        yield place.warn("burn_in", "schedule", text)
    if net.policy != "steps":
        return
    if list(net.steps) != sorted(set(net.steps)):
        yield place.warn("steps", "steps", "steps must rise: those behind a larger one take effect late or together.")
    beyond = [step for step in net.steps if step >= net.max_batches]
    if beyond:
        usual = f"steps={net.max_batches * 8 // 10},{net.max_batches * 9 // 10}"
        right = usual if len(net.steps) == 2 else None  # other numbers of steps have scales of their own
        text = f"step {beyond[0]} comes too late: max_batches={net.max_batches}. 80 and 90 % of it are usual"
        yield place.warn("steps", "steps", f"{text}{f': {right}' if right else ''}.", expected=right)
    scales = place.length("scales")
    if scales > len(net.steps):
        text = f"{scales} scales but {len(net.steps)} steps: those left over are not used. Give one for each step."
        yield place.warn("scales", "steps", text)


def _policy_keys(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    if "policy" in place.left_out:
        return
    for key, policies in _POLICY_KEYS.items():
        if place.has(key) and net.policy not in policies:
            text = (
                f"has no effect with policy={net.policy}, only with {' or '.join(policies)}. Remove it, or set policy."
            )
            yield place.warn(key, "no-effect", text)
    has_burn_in = net.burn_in or "burn_in" in place.left_out
    if place.has("power") and net.policy not in ("poly", "random") and not has_burn_in:
        yield place.warn("power", "no-effect", f"has no effect with policy={net.policy} and no burn_in. Remove it.")


def _switches(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    for key, switch in _NEEDS.items():
        if place.has(key) and not getattr(net, switch) and switch not in place.left_out:
            yield place.warn(key, "no-effect", f"has no effect without {switch}. Remove it, or set {switch}.")


def _mixing(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    mode = net.mixing
    has_mosaic = mode in (Mixing.MOSAIC, Mixing.CUTMIX_MOSAIC)
    if mode in (Mixing.CUTMIX, Mixing.CUTMIX_MOSAIC):
        key = "cutmix" if net.cutmix else "mixup"
        instead = "uses mosaic alone" if has_mosaic else "mixes no pictures"
        text = f"cutmix has no effect on detectors, as in darknet: training {instead}. Set {key}=0."
        yield place.warn(key, "no-effect", text, expected=f"{key}=0")
    if net.mixup and mode != net.mixup:
        other = "mosaic" if net.mosaic else "cutmix"
        yield place.warn("mixup", "no-effect", f"has no effect beside {other}=1, as in darknet. Remove one of them.")
    if has_mosaic and net.letter_box:
        text = "training uses mosaic without letter_box, mAP keeps letter_box (darknet stops). Remove one of them."
        yield place.warn("letter_box", "no-effect", text)


def _averages(net: NetSpec, place: _Places) -> Iterator[Diagnostic]:
    if not net.max_batches:
        return
    idle = idle_average(net)
    if idle is not None:
        yield place.warn("ema_alpha", "no-effect", idle)
    for key, text in late_keys(net).items():
        yield place.warn(key, "no-effect", text)
    if net.loss_scale != 1:
        begins = 3 * net.burn_in + 1
        text = (
            f"darkpy trains in float32 whatever it says; darknet would use half precision from iteration {begins} on."
        )
        yield replace(place.warn("loss_scale", "no-effect", text), severity=Severity.NOTE)
