"""Training pictures against the C reference, with every random draw pinned: pixels and truths, bit for bit."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from darkpy.data.augment import AugmentSpec, augment
from darkpy.data.image import read_picture
from darkpy.data.index import label_path
from darkpy.data.labels import read_labels
from darkpy.data.mixup import mixup, unit_levels
from darkpy.data.mosaic import mosaic

pytestmark = pytest.mark.reference

GOLDEN = Path(__file__).parents[1] / "golden" / "augment"
CASES = sorted(path.stem for path in GOLDEN.glob("*.json"))
ULP = 6e-8  # of figures below 1 in single precision


class Script:
    """A generator that returns what it is told, in order; truths keep the order of their file."""

    def __init__(self, values: list[float]) -> None:
        self.values = iter(values)

    def random(self, count: int | None = None) -> Any:
        return next(self.values) if count is None else np.array([next(self.values) for _ in range(count)])

    def uniform(self, low: float, high: float) -> float:
        return low + next(self.values) * (high - low)

    def integers(self, *_: int, endpoint: bool = False) -> float:
        return next(self.values)

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)


def script(case: dict[str, Any]) -> Script:
    values = list(case.get("cut", []))
    for draw in case["draws"]:
        values += draw["zoom"] + draw["shifts"]
        values += [draw[key] for key in ("flip", "push") if key in draw]
        values.append(draw["hue"])
        for factor, is_factor in (draw["sat"], draw["exp"]):
            values += [factor, 0.0 if is_factor else 0.9]  # else its inverse
        values += [draw[key] for key in ("blur",) if key in draw]
    return Script(values)


def made(case: dict[str, Any], shared: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return darkpy's picture, (C, H, W) in 0..1, and its truths."""
    spec = AugmentSpec(**case["spec"])
    rng: Any = script(case)

    def pictures() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for name in case["pictures"]:
            path = str(shared / name)
            picture = read_picture(path, channels=spec.channels)
            yield picture.pixels, read_labels(label_path(path), classes=spec.classes).truths

    draws = pictures()
    size = tuple(case["size"])
    if spec.mosaic or spec.mixup:
        mix = mosaic if spec.mosaic else mixup
        pixels, truths, _ = mix(rng, lambda: next(draws), spec=spec, network_size=size)
    else:
        pixels, truths, _ = augment(rng, *next(draws), spec=spec, network_size=size)
    assert next(rng.values, None) is None  # darkpy drew as much as darknet
    return unit_levels(pixels).transpose(2, 0, 1), truths


@pytest.mark.parametrize("name", CASES)
def test_pictures_and_truths_are_those_of_the_reference(shared: Path, name: str) -> None:
    """Also E04 (truncated), E05 (rgba), E08 (as_grey) and E11 (exif_orientation6)."""
    case = json.loads((GOLDEN / f"{name}.json").read_text())
    pixels, truths = made(case, shared)
    flat = pixels.ravel()
    samples = flat[[int(k * (flat.size - 1) / 63) for k in range(64)]]
    np.testing.assert_allclose(samples, case["samples"], rtol=0, atol=ULP)
    np.testing.assert_allclose(pixels.mean(axis=(1, 2), dtype=np.float64), case["mean"], rtol=0, atol=1e-9)
    rms = np.sqrt(np.square(pixels, dtype=np.float64).mean(axis=(1, 2)))
    np.testing.assert_allclose(rms, case["rms"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(truths, np.array(case["truths"]).reshape(-1, 5), rtol=0, atol=ULP)


def test_every_case_is_there() -> None:
    assert len(CASES) == 21
