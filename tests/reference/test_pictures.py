"""Pictures against the C reference: what its inference makes of a file, and which odd files it loads."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.data.evaluation import evaluation_batches
from darkpy.data.image import letterbox_size, load_image, read_picture, resize_for_network
from darkpy.data.index import read_image_list
from darkpy.errors import DataError

pytestmark = pytest.mark.reference

NETWORK = 320
SUMS = [  # picture, sum of the plain input, fitted size, sum of the letterboxed input
    ("dog", 154246.2525, (320, 240), 154071.9432),
    ("eagle", 95544.2640, (320, 211), 115307.7905),
    ("giraffe", 97151.0481, (320, 320), 97151.0481),
    ("horses", 155260.3461, (320, 211), 154720.1251),
    ("person", 193323.2305, (320, 212), 179950.9547),
]
PIXELS = [  # picture, letterboxed, channel, row, column, value
    ("dog", False, 0, 0, 0, 0.223529),
    ("dog", False, 0, 0, 1, 0.236880),
    ("dog", False, 0, 0, 2, 0.239966),
    ("dog", False, 1, 160, 160, 0.200844),
    ("dog", False, 0, 100, 200, 0.575416),
    ("dog", False, 2, 319, 319, 0.137255),
    ("eagle", False, 1, 160, 160, 0.330787),
    ("eagle", False, 0, 100, 200, 0.337968),
    ("dog", True, 1, 160, 160, 0.216150),
    ("dog", True, 0, 100, 200, 0.295485),
    ("dog", True, 0, 0, 0, 0.5),
    ("dog", True, 2, 319, 319, 0.5),
]


def network_input(shared: Path, name: str, *, letter_box: bool = False) -> np.ndarray:
    image = load_image(str(shared / "golden" / "evaluation" / "data" / f"{name}.jpg"), channels=3)
    return resize_for_network(image, width=NETWORK, height=NETWORK, letter_box=letter_box)


@pytest.mark.parametrize(("name", "plain", "fitted", "boxed"), SUMS)
def test_sums_of_network_inputs(shared: Path, name: str, plain: float, fitted: tuple[int, int], boxed: float) -> None:
    image = load_image(str(shared / "golden" / "evaluation" / "data" / f"{name}.jpg"), channels=3)
    assert letterbox_size(image.shape[1], image.shape[0], width=NETWORK, height=NETWORK) == fitted
    assert network_input(shared, name).sum(dtype=np.float64) == pytest.approx(plain, abs=2e-4)
    assert network_input(shared, name, letter_box=True).sum(dtype=np.float64) == pytest.approx(boxed, abs=2e-4)


@pytest.mark.parametrize(("name", "letter_box", "channel", "row", "column", "value"), PIXELS)
def test_single_values(
    shared: Path, name: str, letter_box: bool, channel: int, row: int, column: int, value: float
) -> None:
    assert network_input(shared, name, letter_box=letter_box)[channel, row, column] == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize("name", ["dog", "eagle", "giraffe", "horses", "person"])
def test_samples_of_network_inputs(shared: Path, name: str) -> None:
    golden = json.loads((shared / "golden" / "evaluation" / "vectors" / "network_inputs.json").read_text())
    expected = golden[f"small_map_{name}"]
    values = network_input(shared, name)
    assert list(values.shape) == expected["shape"]
    indices = [int(k * (values.size - 1) / 63) for k in range(64)]
    np.testing.assert_allclose(values.ravel()[indices], expected["samples"], atol=5e-7)
    assert values.mean(dtype=np.float64) == pytest.approx(expected["mean"], abs=1e-6)
    assert np.sqrt(np.square(values, dtype=np.float64).mean()) == pytest.approx(expected["rms"], abs=1e-6)


def test_evaluation_reads_the_reference_set(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "golden" / "evaluation")
    paths, difficult = read_image_list(Path("valid.txt")), read_image_list(Path("difficult.txt"))
    batches = evaluation_batches(
        paths,
        width=NETWORK,
        height=NETWORK,
        channels=3,
        letter_box=False,
        classes=80,
        batch=2,
        workers=0,
        difficult=difficult,
    )
    seen = list(batches)
    assert [path for batch in seen for path in batch.paths] == paths
    assert all(batch.problems == () and all(batch.readable) for batch in seen)
    assert sum(len(rows) for batch in seen for rows in batch.truths) == 16
    assert seen[0].sizes == ((768, 576), (773, 512))


ODD = {  # file -> width, height
    "gray.jpg": (384, 288),
    "cmyk.jpg": (480, 318),
    "progressive.jpg": (480, 318),
    "subsampling444_q100.jpg": (384, 288),
    "exif_orientation3.jpg": (384, 288),
    "exif_orientation6.jpg": (384, 288),
    "exif_orientation8.jpg": (384, 288),
    "rgb16.png": (256, 192),
    "gray16.png": (256, 192),
    "rgba.png": (384, 288),
    "gray_alpha.png": (384, 288),
    "palette_transparent.png": (384, 288),
    "alpha.webp": (384, 288),
    "palette.png": (384, 288),
    "palette8.bmp": (256, 192),
    "bilevel.png": (480, 318),
    "rgb24.bmp": (256, 192),
    "lzw.tif": (384, 288),
    "lossy.webp": (384, 288),
    "png_named.jpg": (384, 288),
    "two words.JPG": (384, 288),
    "UPPER.JPEG": (384, 288),
    "one_pixel.png": (1, 1),
    "very_wide.jpg": (1200, 6),
}


@pytest.mark.parametrize(("name", "size"), ODD.items(), ids=list(ODD))
def test_odd_pictures_load(shared: Path, name: str, size: tuple[int, int]) -> None:
    picture = read_picture(str(shared / "images" / "odd" / name), channels=3)
    assert picture.pixels.shape == (size[1], size[0], 3)
    assert picture.problem is None


@pytest.mark.parametrize("name", ["exif_orientation3.jpg", "exif_orientation6.jpg", "exif_orientation8.jpg"])
def test_e11_turned_pictures_come_out_upright(shared: Path, name: str) -> None:
    odd = shared / "images" / "odd"
    turned = load_image(str(odd / name), channels=3).astype(int)
    upright = load_image(str(odd / "subsampling444_q100.jpg"), channels=3).astype(int)
    assert np.abs(turned - upright).mean() < 12  # the same scene, compressed harder


@pytest.mark.parametrize("name", ["rgba.png", "palette_transparent.png"])
def test_e05_alpha_is_ignored(shared: Path, name: str) -> None:
    odd = shared / "images" / "odd"
    other = "png_named.jpg" if name == "rgba.png" else "palette.png"
    difference = np.abs(
        load_image(str(odd / name), channels=3).astype(int) - load_image(str(odd / other), channels=3).astype(int)
    )
    assert difference.mean() < 12


def test_e04_a_jpeg_cut_at_60_percent_loads_as_in_the_reference(shared: Path) -> None:
    path = str(shared / "images" / "odd" / "truncated.jpg")
    picture = read_picture(path, channels=3)
    assert picture.pixels.shape == (318, 480, 3)
    assert (picture.pixels[-1] == 128).all()
    np.testing.assert_array_equal(picture.pixels[:, :, ::-1], cv2.imread(path))  # the reference uses imread
    assert picture.problem is not None
    assert f"{path}: the JPEG is cut off after 30474 bytes" in picture.problem.message


@pytest.mark.parametrize("name", ["truncated_header.jpg", "empty.jpg", "text.jpg"])
def test_e16_files_that_the_reference_cannot_load(shared: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"Cannot load image .*{name}: "):
        load_image(str(shared / "images" / "odd" / name), channels=3)
