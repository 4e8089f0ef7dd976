"""The measured figures kept here are those that were measured, and their inputs are re-created byte for byte."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import golden
import numpy as np
import pytest

from darkpy.cfg.text import read_sections
from darkpy.network import plan_network, read_blueprint

pytestmark = [pytest.mark.reference, pytest.mark.slow]

FORWARD = (  # not shipped in cfg/
    "alexnet",
    "cifar",
    "csresnext50-panet-spp",
    "darknet19",
    "darknet53",
    "densenet201",
    "efficientnet_b0",
    "enet-coco",
    "resnet152_trident",
    "vgg-16",
    "yolov3-tiny-prn",
    "yolov4-csp-swish",
    "yolov4-sam-mish-csp-reorg-bfm",
)


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", golden.TRAINING_CASES)
def test_training_case_is_the_measured_one(case: str, shared: Path, tmp_path: Path) -> None:
    cfg = shared / f"golden/train/{case}.cfg"
    theirs, ours = read_sections(cfg), golden.sections(golden.TRAINING_CASES[case])
    assert [section.kind for section in ours] == [section.kind for section in theirs]
    for mine, measured in zip(ours, theirs, strict=True):
        assert {e.key: _number(e.value) for e in mine.entries} == {e.key: _number(e.value) for e in measured.entries}
    measured = json.loads((shared / f"golden/train/{case}.json").read_text())
    kept = golden.figures("train", case)
    assert kept["costs"] == measured["costs"]
    assert {int(index): arrays for index, arrays in kept["layers"].items()} == {
        layer.pop("i"): layer for layer in measured["layers"]
    }
    blueprint = plan_network(ours, cfg)
    script = _module(shared / "golden/make_batch.py")
    images, truths = script.images_and_truths(cfg.read_text(), kept["iterations"])
    own_images, own_truths = golden.images_and_truths(blueprint, kept["iterations"])
    assert np.array_equal(own_images, images)
    assert np.array_equal(own_truths, truths if own_truths.ndim == 2 else truths.reshape(len(images), -1, 6)[:, :, :5])
    assert golden.weights_file(blueprint, seed=7) == _their_weights(shared, cfg, tmp_path, seed=7)


def _number(value: str | None) -> str | list[float]:
    try:
        return [float(part) for part in str(value).split(",")]
    except ValueError:
        return str(value)


def _their_weights(shared: Path, cfg: Path, folder: Path, *, seed: int) -> bytes:
    out = folder / "theirs.weights"
    subprocess.run([sys.executable, str(shared / "golden/make_weights.py"), str(cfg), str(out), str(seed)], check=True)
    return out.read_bytes()


@pytest.mark.parametrize("name", FORWARD)
def test_forward_agrees_with_the_reference(name: str, shared: Path, tmp_path: Path) -> None:
    measured = json.loads((shared / f"golden/forward/{name}.json").read_text())
    about = measured["about"]
    path = tmp_path / about["cfg"]
    text = (shared / "cfg-reference" / about["cfg"]).read_text(encoding="utf-8-sig", errors="replace")
    head = "\n".join(f"{key}={value}" for key, value in about["overrides"].items())
    path.write_text(text.replace("[net]", f"[net]\n{head}", 1), encoding="utf-8")  # the first of equal keys counts
    blueprint = read_blueprint(path)
    golden.compare_forward(blueprint, about | {"layers": measured["layers"]}, tmp_path)
    theirs = _their_weights(shared, path, tmp_path, seed=about["weights_seed"])
    assert golden.weights_file(blueprint, about["weights_seed"]) == theirs
