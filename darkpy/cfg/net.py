"""[net]: the network's input, the training schedule and the augmentation.

Source: darknet src/parser.c, parse_net_options.
"""

import enum
from dataclasses import dataclass
from typing import Self

from darkpy.cfg.options import Options
from darkpy.errors import CfgError

POLICIES = ("constant", "step", "steps", "exp", "poly", "random", "sigmoid", "sgdr")

_HIGHEST_TIER = 3
# Keys that darkpy reads but does not act on yet: said once, so that nobody waits for an effect.
_NOT_YET = " in this version of darkpy"
OF_CLASSIFIERS = ": darknet turns and stretches only the pictures of classifiers"
_WITHOUT_EFFECT: dict[str, tuple[float, str]] = {  # the value that asks for nothing, and why another has no effect
    "attention": (0, _NOT_YET),
    "contrastive": (0, _NOT_YET),
    "dynamic_minibatch": (0, _NOT_YET),
    "show_receptive_field": (0, _NOT_YET),
    "time_steps": (1, _NOT_YET),
    "track": (0, _NOT_YET),
    "unsupervised": (0, _NOT_YET),
    "use_cuda_graph": (0, _NOT_YET),
    "angle": (0, OF_CLASSIFIERS),
    "aspect": (1, OF_CLASSIFIERS),
    "augment_speed": (2, " without track=1"),
}
# Keys of classifiers, of the options above, or without meaning in darknet itself: read in silence.
_SILENT = [
    "min_crop",
    "max_crop",
    "label_smooth_eps",
    "contrastive_jit_flip",
    "contrastive_color",
    "seq_scales",
    "inputs",
    "max_epochs",
    "seen",
]
_ADVICE = {
    "mini_batch": "The mini-batch is batch / subdivisions: use subdivisions.",
    "minibatch": "The mini-batch is batch / subdivisions: use subdivisions.",
    "epochs": "darknet counts iterations: use max_batches.",
    "lr": "Did you mean 'learning_rate'?",
}


class Mixing(enum.IntEnum):
    """How training mixes pictures: the numbers are darknet's, and those of the key ``mixup``."""

    NONE = 0
    MIXUP = 1
    CUTMIX = 2  # of classifiers
    MOSAIC = 3
    CUTMIX_MOSAIC = 4


@dataclass(frozen=True, slots=True)
class NetSpec:
    """What [net] says. Sizes in pixels; ``batch`` counts the images of an iteration, as written."""

    batch: int
    subdivisions: int
    width: int
    height: int
    channels: int
    max_batches: int
    learning_rate: float
    learning_rate_min: float
    momentum: float
    decay: float
    policy: str
    burn_in: int
    power: float
    step: int
    scale: float
    gamma: float
    steps: tuple[int, ...]
    scales: tuple[float, ...]
    sgdr_cycle: int
    sgdr_mult: int
    flip: bool
    saturation: float
    exposure: float
    hue: float
    mosaic: bool
    mosaic_bound: bool
    letter_box: bool
    mixup: int  # darknet's mode: 1 blends pictures; 2 to 4 are cutmix and mosaic by other names
    cutmix: bool
    blur: int
    gaussian_noise: int
    resize_step: int
    max_chart_loss: float
    adam: bool
    adam_b1: float
    adam_b2: float
    adam_eps: float
    loss_scale: float
    ema_alpha: float
    try_fix_nan: bool
    adversarial_lr: float
    weights_reject_freq: int
    equidistant_point: int
    badlabels_rejection_percentage: float
    num_sigmas_reject_badlabels: float
    sequential_subdivisions: int
    optimized_memory: int | None  # the memory tier; None: the lowest that fits
    workspace_size_limit_MB: int | None  # of cuDNN's scratch; None: what darknet takes
    offload_file: str  # takes the place of RAM at tiers 2 and 3; empty: RAM

    @property
    def mini_batch(self) -> int:
        """Images of one forward pass: batch / subdivisions, at least 1."""
        return max(self.batch // self.subdivisions, 1)

    @property
    def mixing(self) -> Mixing:
        """How training mixes pictures: ``cutmix`` and ``mosaic`` win over ``mixup``."""
        if self.cutmix:
            return Mixing.CUTMIX_MOSAIC if self.mosaic else Mixing.CUTMIX
        return Mixing.MOSAIC if self.mosaic else Mixing(self.mixup)

    @property
    def images_per_iteration(self) -> int:
        """Images of one weight update: the mini-batch times subdivisions."""
        return self.mini_batch * self.subdivisions

    @classmethod
    def parse(cls, options: Options) -> Self:
        """Read a [net] section.

        Raises:
            CfgError: If a value is no number, out of its bounds, or the schedule does not fit together.
        """
        max_batches = options.integer("max_batches", 0, at_least=0, loud=True)
        batch = options.integer("batch", 1, at_least=1, loud=True)
        learning_rate = options.real("learning_rate", 0.001, loud=True)
        momentum = options.real("momentum", 0.9, loud=True)
        decay = options.real("decay", 0.0001, loud=True)
        subdivisions = options.integer("subdivisions", 1, at_least=1, loud=True)
        policy = options.choice("policy", "constant", POLICIES, loud=True)
        steps, scales = _steps(options, policy)
        adam = options.flag("adam")
        spec = cls(
            batch=batch,
            subdivisions=subdivisions,
            width=options.integer("width", 0, at_least=0),
            height=options.integer("height", 0, at_least=0),
            channels=options.integer("channels", 0, at_least=0),
            max_batches=max_batches,
            learning_rate=learning_rate,
            learning_rate_min=options.real("learning_rate_min", 0.00001),
            momentum=momentum,
            decay=decay,
            policy=policy,
            burn_in=options.integer("burn_in", 0, at_least=0),
            power=options.real("power", 4.0),
            step=options.integer("step", 1, at_least=1, loud=policy in ("step", "sigmoid")),
            scale=options.real("scale", 1.0, loud=policy == "step"),
            gamma=options.real("gamma", 1.0, loud=policy in ("exp", "sigmoid")),
            steps=steps,
            scales=scales,
            sgdr_cycle=options.integer("sgdr_cycle", max_batches, at_least=1),
            sgdr_mult=options.integer("sgdr_mult", 2, at_least=1),
            flip=options.integer("flip", 1) != 0,
            saturation=options.real("saturation", 1.0) or 1.0,  # 0 counts as 1, as in darknet's loader
            exposure=options.real("exposure", 1.0) or 1.0,
            hue=options.real("hue", 0.0),
            mosaic=options.flag("mosaic"),
            mosaic_bound=options.flag("mosaic_bound"),
            letter_box=options.flag("letter_box"),
            mixup=options.integer("mixup", 0, at_least=0, at_most=4),
            cutmix=options.flag("cutmix"),
            blur=options.integer("blur", 0, at_least=0),
            gaussian_noise=options.integer("gaussian_noise", 0, at_least=0),
            resize_step=options.integer("resize_step", 32, at_least=1),
            max_chart_loss=options.real("max_chart_loss", 20.0, above=0.0),
            adam=adam,
            adam_b1=options.real("B1", 0.9, at_least=0, below=1, loud=adam),
            adam_b2=options.real("B2", 0.999, at_least=0, below=1, loud=adam),
            adam_eps=options.real("eps", 0.000001, above=0, loud=adam),
            loss_scale=options.real("loss_scale", 1.0, above=0.0),
            ema_alpha=options.real("ema_alpha", 0.0, at_least=0, below=1),
            try_fix_nan=options.flag("try_fix_nan"),
            adversarial_lr=options.real("adversarial_lr", 0.0),
            weights_reject_freq=options.integer("weights_reject_freq", 0, at_least=0),
            equidistant_point=options.integer("equidistant_point", 0, at_least=0),
            badlabels_rejection_percentage=options.real("badlabels_rejection_percentage", 0.0),
            num_sigmas_reject_badlabels=options.real("num_sigmas_reject_badlabels", 0.0),
            sequential_subdivisions=min(
                options.integer("sequential_subdivisions", subdivisions, at_least=1), subdivisions
            ),
            optimized_memory=_tier(options),
            workspace_size_limit_MB=(
                options.integer("workspace_size_limit_MB", 0, at_least=0)
                if options.has("workspace_size_limit_MB")
                else None
            ),
            offload_file=options.text("offload_file", ""),
        )
        _check_input(spec, options)
        _note_without_effect(options)
        return spec


def _steps(options: Options, policy: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    steps = options.integers("steps") or ()
    scales = options.reals("scales") or ()
    if policy == "steps":
        if not steps or not scales:
            missing = "steps" if not steps else "scales"
            options.fail(
                "policy",
                f"STEPS policy must have steps and scales, but {missing} is missing. "
                "Add steps=... and scales=... of equal length.",
            )
        if len(scales) < len(steps):
            options.fail("scales", f"{len(steps)} steps but {len(scales)} scales. Give one scale for each step.")
    return steps, scales[: len(steps)]


def _tier(options: Options) -> int | None:
    """Return ``optimized_memory``; None for ``auto``."""
    if options.text("optimized_memory", "0").strip().lower() == "auto":
        return None
    return options.integer("optimized_memory", 0, at_least=0, at_most=_HIGHEST_TIER)


def _check_input(spec: NetSpec, options: Options) -> None:
    if not (spec.width and spec.height and spec.channels):
        raise CfgError(
            f"{options.where} No input parameters supplied: width={spec.width}, height={spec.height}, "
            f"channels={spec.channels}. Give all three, such as width=416 height=416 channels=3."
        )
    if spec.channels not in (1, 3):
        options.fail(
            "channels", f"{spec.channels} channels not supported: pictures load as 1 (grey) or 3 (RGB). Set channels=3."
        )


def _note_without_effect(options: Options) -> None:
    for key, (neutral, why) in _WITHOUT_EFFECT.items():
        value = options.real(key, neutral)
        entry = options.section.find(key)
        if key == "augment_speed" and options.flag("track"):
            why = _NOT_YET
        if entry is not None and value != neutral:
            options.notes.append(f"{options.section.path}:{entry.line}: [net] {key}={value:g} has no effect{why}.")
    for key in _SILENT:
        options.has(key)


def net_warnings(options: Options) -> list[str]:
    """Return the warnings for repeated keys of [net], and those that darkpy does not know."""
    return [*options.repeated(), *unknown_keys(options)]


def unknown_keys(options: Options) -> list[str]:
    """Return the warnings for keys of [net] that darkpy does not know, with advice where the meaning is plain."""
    warnings = options.unknown()
    for key, advice in _ADVICE.items():
        entry = options.section.find(key)
        if entry is not None:
            warnings = [
                f"{options.section.path}:{entry.line}: Unused field: '{key} = {entry.value}'. {advice}"
                if f"Unused field: '{key} = " in warning
                else warning
                for warning in warnings
            ]
    return warnings
