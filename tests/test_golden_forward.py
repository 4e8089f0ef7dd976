"""Forward passes of the shipped networks against the figures of the reference."""

from pathlib import Path

import golden
import pytest

from darkpy.cfg.shipped import shipped_folder
from darkpy.cfg.text import Entry, Section, read_sections
from darkpy.network import Blueprint, plan_network

SHIPPED = ("yolov3-tiny", "yolov3", "yolov3-spp", "yolov4-tiny", "yolov4", "yolov4-csp", "yolov7-tiny")


def resized(path: Path, overrides: dict[str, object]) -> Blueprint:
    """The network of a cfg with other values in [net]."""
    net, *layers = read_sections(path)
    entries = [Entry(key, str(value), net.line) for key, value in overrides.items()]
    entries += [entry for entry in net.entries if entry.key not in overrides]
    return plan_network([Section("net", net.line, net.path, tuple(entries)), *layers], path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_layer_agrees_with_the_reference(name: str, tmp_path: Path) -> None:
    figures = golden.figures("forward", name)
    golden.compare_forward(resized(shipped_folder("cfg") / f"{name}.cfg", figures["net"]), figures, tmp_path)
