"""Inputs of the measured figures: small networks, weights and batches, re-created by the rules of the measurement."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from darkpy.cfg.text import Entry, Section
from darkpy.network import Blueprint, LayerPlan, Network
from darkpy.weights import load_weights

FIGURES = Path(__file__).resolve().parents[1] / "golden"
DATA_SEED = 11
CLASSES = 3

Layer = tuple[str, dict[str, object]]


# --- the small networks of the training figures -----------------------------------------------------------------------


def conv(filters: int, size: int = 3, **options: object) -> Layer:
    """A normalised leaky convolution that keeps its input's size, unless told otherwise."""
    return "convolutional", {
        "batch_normalize": 1,
        "filters": filters,
        "size": size,
        "stride": 1,
        "pad": 1,
        "activation": "leaky",
        **options,
    }


def output() -> Layer:
    """The last convolution before a head: 3 masks x (3 classes + 5)."""
    return "convolutional", {"filters": 24, "size": 1, "stride": 1, "pad": 1, "activation": "linear"}


def yolo(**options: object) -> Layer:
    """A head on the first three of six anchors."""
    return "yolo", {
        "mask": "0,1,2",
        "anchors": "10,14,23,27,37,58,81,82,13,35,64,20",
        "classes": CLASSES,
        "num": 6,
        "jitter": 0.3,
        "ignore_thresh": 0.5,
        "truth_thresh": 1,
        "random": 0,
        **options,
    }


POOL: Layer = ("maxpool", {"size": 2, "stride": 2})
DOWN = {"stride": 2}
CHAIN: list[Layer] = [conv(8), POOL, conv(16), POOL, conv(32, **DOWN), conv(32), output()]


def activated(name: str) -> list[Layer]:
    """A chain whose first two convolutions have another activation."""
    return [conv(8, activation=name), POOL, conv(16, **DOWN, activation=name), conv(32, **DOWN), output(), yolo()]


def with_net(net: dict[str, object], layers: Sequence[Layer]) -> list[Layer]:
    """The layers behind a [net] section."""
    base = {
        "batch": 4,
        "subdivisions": 2,
        "width": 96,
        "height": 64,
        "channels": 3,
        "momentum": 0.9,
        "decay": 0.0005,
        "learning_rate": 0.0005,
        "burn_in": 0,
        "max_batches": 100,
        "policy": "constant",
    }
    return [("net", base | net), *layers]


def _heads() -> dict[str, list[Layer]]:
    mish = [
        (kind, options | ({"activation": "mish"} if kind == "convolutional" and options["filters"] != 24 else {}))
        for kind, options in CHAIN[:-1]
    ]
    logistic = ("convolutional", {"filters": 24, "size": 1, "stride": 1, "pad": 1, "activation": "logistic"})
    new_coords = yolo(
        ignore_thresh=0.7, iou_loss="ciou", new_coords=1, scale_x_y=2.0, objectness_smooth=1, iou_thresh=0.2,
        iou_normalizer=0.05, obj_normalizer=4.0, cls_normalizer=0.5, max_delta=2,
    )  # fmt: skip
    variants: dict[str, dict[str, object]] = {
        "mse": {},
        "iou": {"iou_loss": "iou", "iou_normalizer": 0.5},
        "giou": {"iou_loss": "giou", "iou_normalizer": 0.5, "scale_x_y": 1.05, "cls_normalizer": 0.5},
        "ciou": {
            "iou_loss": "ciou",
            "iou_normalizer": 0.07,
            "scale_x_y": 1.05,
            "iou_thresh": 0.213,
            "obj_normalizer": 0.7,
        },
        "counters": {"counters_per_class": "100,30,10"},
        "focal": {"focal_loss": 1},
        "label_smooth": {"label_smooth_eps": 0.1},
        "truth_thresh": {"truth_thresh": 0.6},
    }
    return {
        **{f"yolo_{name}": [*CHAIN, yolo(**options)] for name, options in variants.items()},
        "yolo_new_coords": [*mish, logistic, new_coords],
        "yolo_two_scales": [
            *[conv(8), POOL, conv(16), POOL, conv(32), POOL, conv(32), output(), yolo(mask="3,4,5")],
            *[("route", {"layers": -4}), conv(16, 1), ("upsample", {"stride": 2}), ("route", {"layers": "-1, 4"})],
            *[conv(32), output(), yolo()],
        ],
    }


def _layers() -> dict[str, list[Layer]]:
    stem = [conv(8), POOL, conv(16, **DOWN)]
    end = [conv(32, **DOWN), output(), yolo()]

    def weighted(kind: str, normalization: str) -> list[Layer]:
        shortcut = {"from": "-2,-3", "weights_type": kind, "weights_normalization": normalization}
        return [*stem, conv(16, 1), conv(16), ("shortcut", shortcut | {"activation": "linear"}), *end]

    leaky_sum = ("shortcut", {"from": -2, "activation": "leaky"})
    return {
        "shortcut_plain": [
            *[*stem, conv(8, 1), conv(16), ("shortcut", {"from": -3, "activation": "linear"})],
            *[conv(32, **DOWN), conv(32), leaky_sum, output(), yolo()],
        ],
        "shortcut_channels_differ": [*stem, conv(24, 1), ("shortcut", {"from": -2, "activation": "linear"}), *end],
        "shortcut_per_feature_relu": weighted("per_feature", "relu"),
        "shortcut_per_channel_softmax": weighted("per_channel", "softmax"),
        "squeeze_excite": [
            *[conv(8), POOL, conv(16, **DOWN, activation="swish"), ("avgpool", {})],
            ("convolutional", {"filters": 4, "size": 1, "stride": 1, "pad": 1, "activation": "swish"}),
            ("convolutional", {"filters": 16, "size": 1, "stride": 1, "pad": 1, "activation": "logistic"}),
            *[("scale_channels", {"from": -4}), *end],
        ],
        "conv_groups": [conv(8), POOL, conv(8, groups=8), conv(16, 1), conv(16, **DOWN, groups=4), *end],
        "conv_padding": [
            ("convolutional", {key: value for key, value in conv(8, padding=2)[1].items() if key != "pad"}),
            *[POOL, conv(16, pad=0), *end],
        ],
        "conv_stride_xy": [
            *[conv(8), conv(16, stride_x=2, stride_y=1), conv(16, stride_x=2, stride_y=2)],
            *[conv(32, stride_x=2, stride_y=4), output(), yolo()],
        ],
        "conv_even_size": [conv(8, 2), POOL, conv(16, 5, **DOWN), conv(32, 7, **DOWN), output(), yolo()],
        "maxpool_depth": [*stem, ("maxpool", {"maxpool_depth": 1, "out_channels": 8}), *end],
        "upsample_scale": [
            *[conv(8, **DOWN), conv(16, **DOWN), ("upsample", {"stride": 2, "scale": 0.5}), conv(16)],
            *[("upsample", {"stride": -2}), *end],
        ],
        "learning_rate_scale": [conv(8), POOL, conv(16, learning_rate=0.3), POOL, *end],
        **_plain_layers(stem, end),
        **{
            f"act_{name}": activated(name)
            for name in "linear logistic relu mish swish hard_mish tanh selu hardtan loggy ramp relie stair".split()
        },
    }


def _plain_layers(stem: list[Layer], end: list[Layer]) -> dict[str, list[Layer]]:
    """Section types without weights of their own, or with batch norm alone."""

    def bare(filters: int, **options: object) -> Layer:
        values = conv(filters, **options)[1]
        return "convolutional", {key: value for key, value in values.items() if key != "batch_normalize"}

    return {
        "batchnorm_layer": [bare(8), ("batchnorm", {}), POOL, bare(16, **DOWN), ("batchnorm", {}), *end],
        "activation_layer": [
            *[conv(8, activation="linear"), ("activation", {"activation": "leaky"}), POOL, conv(16, **DOWN), *end],
        ],
        "normalization_layer": [
            *[conv(8), ("normalization", {"size": 5, "alpha": 0.0001, "beta": 0.75, "kappa": 1}), POOL],
            *[conv(16, **DOWN), *end],
        ],
        "reorg": [conv(8), ("reorg3d", DOWN), conv(16), ("reorg", DOWN), *end],
        "reorg_reverse": [
            *[conv(8), POOL, conv(16), ("reorg", {"stride": 2, "reverse": 1}), conv(16, **DOWN)],
            *[conv(32, stride=4), output(), yolo()],
        ],
        "sam": [*stem, conv(16, 1, activation="logistic"), ("sam", {"from": -2}), *end],
    }


def _nets() -> dict[str, dict[str, object]]:
    return {
        "policy_step": {"policy": "step", "step": 2, "scale": 0.5},
        "policy_exp": {"policy": "exp", "gamma": 0.9},
        "policy_poly": {"policy": "poly", "power": 4, "max_batches": 6},
        "policy_sigmoid": {"policy": "sigmoid", "gamma": 0.9, "step": 3},
        "burn_in_steps": {
            "learning_rate": 0.001,
            "burn_in": 2,
            "policy": "steps",
            "steps": "3,4",
            "scales": ".1,.1",
        },
        "subdivisions_4": {"batch": 8, "subdivisions": 4},
    }


def _classifiers() -> dict[str, list[Layer]]:
    few: Layer = ("convolutional", output()[1] | {"filters": CLASSES})
    layers = [*CHAIN[:-1], few, ("avgpool", {}), ("softmax", {"groups": 1})]
    square = {"width": 64, "height": 64}
    return {
        "classifier": with_net(square, layers),
        "classifier_cost": with_net(square, [*layers, ("cost", {"type": "sse"})]),
    }


TRAINING_CASES: dict[str, list[Layer]] = {
    **_classifiers(),
    **{name: with_net({}, layers) for name, layers in (_heads() | _layers()).items()},
    **{name: with_net(net, [*CHAIN, yolo()]) for name, net in _nets().items()},
}


def sections(layers: Sequence[Layer]) -> list[Section]:
    """The layers as parsed sections."""
    return [
        Section(kind, 1, "case.cfg", tuple(Entry(key, str(value), 1) for key, value in options.items()))
        for kind, options in layers
    ]


# --- weights and batches ----------------------------------------------------------------------------------

_GAIN = {"linear": 1.0, "leaky": 1.98, "relu": 2.0, "logistic": 3.4}  # of the variance; 2 for all others


def weights_file(blueprint: Blueprint, seed: int) -> bytes:
    """A weights file that depends on the network and the seed alone: every layer draws from a generator of its own."""
    layers = blueprint.layers
    body = [
        array.astype("<f4").tobytes()
        for plan, following in zip(layers, [*layers[1:], None], strict=True)
        for array in _arrays(plan, following, np.random.default_rng([seed, plan.index]))
    ]
    return struct.pack("<iiiq", 0, 2, 5, 0) + b"".join(body)


def _arrays(plan: LayerPlan, following: LayerPlan | None, rng: np.random.Generator) -> list[np.ndarray]:
    spec: Any = plan.spec
    if plan.kind == "shortcut" and spec.weighted:
        rows = len(spec.layers) + 1
        return [_uniform(rng, rows * (plan.output.channels if spec.weighted == 2 else 1), 0.5, 1.5)]
    if plan.kind == "batchnorm":
        count = plan.output.channels
        shift, scale = _normal(rng, count, 0.1), _uniform(rng, count, 0.8, 1.2)
        return [shift, scale, _normal(rng, count, 0.1), _uniform(rng, count, 0.8, 1.2)]
    if plan.owner is not None:
        return []
    if plan.kind == "convolutional":
        count, fan_in = spec.filters, plan.inputs[0].channels // spec.groups * spec.size**2
    elif plan.kind == "connected":
        count, fan_in = spec.outputs, plan.inputs[0].size
    else:
        return []
    gain = _GAIN.get(spec.activation, 2.0)
    bias = _normal(rng, count, 0.1)
    of_norm = []
    if spec.batch_normalize:
        # A smaller branch in front of a sum keeps deep residual networks near unit size.
        shrink = 25.0 if following is not None and following.kind == "shortcut" else 1.0
        of_norm.append(_uniform(rng, count, 0.8, 1.2) * np.float32(gain**0.5))
        of_norm.append(_normal(rng, count, 0.1))
        of_norm.append(_uniform(rng, count, 0.8, 1.2) * np.float32(shrink))
    variance = (1.0 if spec.batch_normalize else gain) / fan_in
    weights = _normal(rng, count * fan_in, variance**0.5)
    return [bias, *of_norm, weights] if plan.kind == "convolutional" else [bias, weights, *of_norm]


def _normal(rng: np.random.Generator, count: int, deviation: float) -> np.ndarray:
    return (0.0 + deviation * rng.standard_normal(count)).astype("<f4")


def _uniform(rng: np.random.Generator, count: int, low: float, high: float) -> np.ndarray:
    return (low + (high - low) * rng.random(count)).astype("<f4")


def images_and_truths(blueprint: Blueprint, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, C, H, W) and truths (N, 200, 5) of a training case: all images are drawn first, truths next.

    The truths of a classifier are (N, classes).
    """
    net = blueprint.net
    count = net.batch * iterations
    rng = np.random.default_rng(DATA_SEED)
    images = rng.random((count, net.channels, net.height, net.width), dtype=np.float32)
    if any(plan.kind == "softmax" for plan in blueprint.layers):
        return images, np.eye(CLASSES, dtype=np.float32)[rng.integers(CLASSES, size=count)]
    truths = np.zeros((count, 200, 5), np.float32)
    for image in truths:
        for box in range(int(rng.integers(2, 6))):
            width, height = rng.uniform(0.08, 0.6, 2)
            x, y = rng.uniform(width / 2, 1 - width / 2), rng.uniform(height / 2, 1 - height / 2)
            image[box] = [x, y, width, height, int(rng.integers(CLASSES))]
    return images, truths


# --- figures ----------------------------------------------------------------------------------------------


def figures(kind: str, name: str) -> dict[str, Any]:
    """The measured figures of a case: ``kind`` is train or forward."""
    found: dict[str, Any] = json.loads((FIGURES / kind / f"{name}.json").read_text(encoding="utf-8"))
    return found


def sample_indices(size: int) -> list[int]:
    """Where the 16 samples of an array were taken."""
    return [int(k * (size - 1) / 15) for k in range(16)]


FORWARD = 1e-4  # of a layer's root mean square; absolute for heads
DEEP, DEEP_FORWARD = 100, 1e-3


def compare_forward(blueprint: Blueprint, measured: dict[str, Any], folder: Path) -> None:
    """Run a network on re-created weights and input, and compare every layer's shape, root mean square and samples.

    Args:
        blueprint: The network at the measured size.
        measured: weights_seed, input_seed, batch, weights_bytes, bflops and layers.
        folder: For the weights file.
    """
    weights = folder / "net.weights"
    weights.write_bytes(weights_file(blueprint, measured["weights_seed"]))
    assert weights.stat().st_size == measured["weights_bytes"]
    assert f"{blueprint.bflops:.3f}" == f"{measured['bflops']:.3f}"
    assert len(measured["layers"]) == len(blueprint.layers)
    network = Network(blueprint).eval()
    load_weights(network, weights, leftover_is_error=True)
    net = blueprint.net
    shape = (measured["batch"], net.channels, net.height, net.width)
    images = torch.from_numpy(np.random.default_rng(measured["input_seed"]).random(shape, dtype=np.float32))
    with torch.no_grad():
        for index, output in network.walk(images):
            theirs, tolerance = measured["layers"][index], DEEP_FORWARD if index > DEEP else FORWARD
            if not blueprint.layers[index].is_output:  # [cost]: zeros
                continue
            if theirs["c"]:  # the reference gives [softmax] no shape
                assert output.shape[1:] == (theirs["c"], theirs["h"], theirs["w"]), index
            ours = output.contiguous().view(-1).numpy()
            distance = np.abs(ours[sample_indices(ours.size)] - theirs["samples"]).max()
            is_absolute = index in network.head_indices or blueprint.layers[index].kind == "softmax"
            assert distance / (1.0 if is_absolute else theirs["rms"]) <= tolerance, index
            rms = float(np.sqrt(np.mean(np.square(ours, dtype=np.float64))))
            assert abs(rms / theirs["rms"] - 1) <= tolerance, index
