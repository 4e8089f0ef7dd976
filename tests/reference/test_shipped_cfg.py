"""The cfg files that come with darkpy against those of the C darknet, and what darkpy makes of all of the latter."""

import dataclasses
from pathlib import Path

import pytest
import torch

from darkpy.cfg.net import NetSpec
from darkpy.cfg.shipped import shipped_folder
from darkpy.errors import CfgError
from darkpy.network import Blueprint, LayerPlan, Network, read_blueprint

pytestmark = pytest.mark.reference

SHIPPED = ("yolov3", "yolov3-spp", "yolov3-tiny", "yolov4", "yolov4-csp", "yolov4-tiny", "yolov7-tiny")
# The reference's file has batch=1 for testing and these values in a comment.
TRAINING_BATCH = {"yolov3": (64, 16), "yolov3-spp": (64, 16), "yolov3-tiny": (64, 2)}
LOADED = 59  # of the reference's cfg files, those whose every section darkpy has
REFUSED_BY_C = {"resnet50.cfg", "resnet101.cfg", "resnet152.cfg", "resnext152-32x4d.cfg"}  # shortcuts between sizes


def values(layer: LayerPlan) -> dict[str, object]:
    """Return all that a layer is, save where it stands in the file and what it says about that."""
    spec = {field.name: getattr(layer.spec, field.name) for field in dataclasses.fields(layer.spec)}  # type: ignore[arg-type]
    spec.pop("where", None)
    return {
        "kind": layer.kind,
        "spec": spec,
        "common": layer.common,
        "sources": layer.sources,
        "inputs": layer.inputs,
        "output": layer.output,
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_layer_by_layer_the_same(shared: Path, name: str) -> None:
    ours = read_blueprint(shipped_folder("cfg") / f"{name}.cfg")
    theirs = read_blueprint(shared / "cfg-reference" / f"{name}.cfg")
    for own, other in zip(ours.layers, theirs.layers, strict=True):
        assert values(own) == values(other), f"layer {own.index}"


@pytest.mark.parametrize("name", SHIPPED)
def test_net_the_same_but_for_the_batch_of_testing(shared: Path, name: str) -> None:
    ours = read_blueprint(shipped_folder("cfg") / f"{name}.cfg").net
    theirs = read_blueprint(shared / "cfg-reference" / f"{name}.cfg").net
    batch, subdivisions = TRAINING_BATCH.get(name, (theirs.batch, theirs.subdivisions))
    expected: NetSpec = dataclasses.replace(
        theirs, batch=batch, subdivisions=subdivisions, sequential_subdivisions=subdivisions
    )
    assert ours == expected


@pytest.mark.parametrize("name", SHIPPED)
def test_the_text_is_our_own(shared: Path, name: str) -> None:
    ours = (shipped_folder("cfg") / f"{name}.cfg").read_text(encoding="utf-8")
    theirs = (shared / "cfg-reference" / f"{name}.cfg").read_text(encoding="utf-8")
    comments = {line.strip("# ") for line in ours.splitlines() if line.startswith("#")} - {""}
    assert comments.isdisjoint({line.strip("# ") for line in theirs.splitlines() if line.startswith("#")})


def measured(shared: Path) -> dict[str, tuple[int, str, int]]:
    """Return layers, BFLOPS and floats of each cfg that the C darknet loads, from the table in its description."""
    text = (shared / "spec" / "cfg-layers-weights.md").read_text(encoding="utf-8").partition("\n## 10. ")[2]
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 10 and ".cfg" in cells[1] and cells[7] not in ("—", "-"):
            rows[cells[1].removesuffix("‡").strip()] = (int(cells[3]), cells[6], int("".join(cells[7].split())))
    return rows


def load(path: Path) -> Blueprint | str:
    """Return the blueprint of a cfg, or the line that says why there is none."""
    try:
        return read_blueprint(path)
    except CfgError as error:
        return str(error)


@pytest.mark.slow
def test_every_cfg_of_darknet_loads_with_its_figures_or_says_why_not(shared: Path) -> None:
    rows = measured(shared)
    folder = shared / "cfg-reference"
    loaded = 0
    for path in sorted(folder.rglob("*.cfg")):
        blueprint = load(path)
        if isinstance(blueprint, str):
            assert blueprint.startswith(f"{path}:")
            assert "\n" not in blueprint
            continue
        with torch.device("meta"):
            network = Network(blueprint)
        layers = zip(blueprint.layers, network.layers, strict=True)
        floats = sum(blob.numel() for layer, module in layers for blob in layer.spec.blobs(module))
        name = path.relative_to(folder).as_posix()
        if name in REFUSED_BY_C:
            assert name not in rows
            continue
        assert (len(blueprint.layers), f"{blueprint.bflops:.3f}", floats) == rows[name], name
        loaded += 1
    assert loaded >= LOADED
