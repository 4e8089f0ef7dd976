"""Forward passes of the shipped networks against the figures of the reference."""

from pathlib import Path

import golden
import numpy as np
import pytest
import torch

from darkpy.cfg.shipped import shipped_folder
from darkpy.cfg.text import Entry, Section, read_sections
from darkpy.network import Blueprint, Network, plan_network
from darkpy.weights import load_weights

SHIPPED = ("yolov3-tiny", "yolov3", "yolov3-spp", "yolov4-tiny", "yolov4", "yolov4-csp", "yolov7-tiny")
TOLERANCE = 1e-4  # of a layer's root mean square; absolute for heads
DEEP, DEEP_TOLERANCE = 100, 1e-3


def resized(path: Path, overrides: dict[str, object]) -> Blueprint:
    """The network of a cfg with other values in [net]."""
    net, *layers = read_sections(path)
    entries = [Entry(key, str(value), net.line) for key, value in overrides.items()]
    entries += [entry for entry in net.entries if entry.key not in overrides]
    return plan_network([Section("net", net.line, net.path, tuple(entries)), *layers], path)


def compare(path: Path, figures: dict, folder: Path) -> None:
    """Run a network and compare every layer's samples."""
    blueprint = resized(path, figures["net"])
    weights = folder / "net.weights"
    weights.write_bytes(golden.weights_file(blueprint, figures["weights_seed"]))
    assert weights.stat().st_size == figures["weights_bytes"]
    assert f"{blueprint.bflops:.3f}" == f"{figures['bflops']:.3f}"
    network = Network(blueprint).eval()
    load_weights(network, weights, leftover_is_error=True)
    net = blueprint.net
    shape = (figures["batch"], net.channels, net.height, net.width)
    images = torch.from_numpy(np.random.default_rng(figures["input_seed"]).random(shape, dtype=np.float32))
    with torch.no_grad():
        for index, output in network.walk(images):
            theirs = figures["layers"][index]
            assert output.shape[1:] == (theirs["c"], theirs["h"], theirs["w"]), index
            ours = output.contiguous().view(-1).numpy()
            distance = np.abs(ours[golden.sample_indices(ours.size)] - theirs["samples"]).max()
            scale = 1.0 if index in network.head_indices else theirs["rms"]
            assert distance / scale <= (DEEP_TOLERANCE if index > DEEP else TOLERANCE), index
            rms = float(np.sqrt(np.mean(np.square(ours, dtype=np.float64))))
            assert abs(rms / theirs["rms"] - 1) <= (DEEP_TOLERANCE if index > DEEP else TOLERANCE), index
    assert len(figures["layers"]) == len(blueprint.layers)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_layer_agrees_with_the_reference(name: str, tmp_path: Path) -> None:
    compare(shipped_folder("cfg") / f"{name}.cfg", golden.figures("forward", name), tmp_path)
