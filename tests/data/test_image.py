import builtins
import struct
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from darkpy.data.image import import_cv2, letterbox_size, load_image, read_picture, resize_for_network
from darkpy.errors import DataError, SetupError


def noise(height: int, width: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    ramp = np.linspace(0, 250, height * width).reshape(height, width)
    return np.stack([ramp, ramp[::-1], np.full_like(ramp, 90)], axis=-1).astype(np.uint8)


def encode(rgb: np.ndarray, extension: str = ".png") -> bytes:
    return cv2.imencode(extension, rgb[:, :, ::-1])[1].tobytes()


def write(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    return str(path)


def with_orientation(jpeg: bytes, orientation: int) -> bytes:
    tiff = b"II*\0" + struct.pack("<IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    exif = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + jpeg[2:]


def test_rgb_order(tmp_path: Path) -> None:
    rgb = noise(5, 7)
    np.testing.assert_array_equal(load_image(write(tmp_path / "a.png", encode(rgb)), channels=3), rgb)


def test_c02_blanks_and_letters_of_any_script_in_a_path(tmp_path: Path) -> None:
    rgb = noise(3, 4)
    np.testing.assert_array_equal(load_image(write(tmp_path / "a ü 画.png", encode(rgb)), channels=3), rgb)


def test_the_content_decides_not_the_extension(tmp_path: Path) -> None:
    rgb = noise(3, 4)
    np.testing.assert_array_equal(load_image(write(tmp_path / "a.jpg", encode(rgb)), channels=3), rgb)


def test_e05_alpha_is_dropped(tmp_path: Path) -> None:
    rgb = noise(5, 7)
    bgra = np.dstack([rgb[:, :, ::-1], noise(5, 7, 1)])
    path = write(tmp_path / "a.png", cv2.imencode(".png", bgra)[1].tobytes())
    np.testing.assert_array_equal(load_image(path, channels=3), rgb)


def test_16_bits_become_8(tmp_path: Path) -> None:
    deep = noise(5, 7).astype(np.uint16) * 257
    path = write(tmp_path / "a.png", cv2.imencode(".png", deep[:, :, ::-1])[1].tobytes())
    np.testing.assert_allclose(load_image(path, channels=3), noise(5, 7), atol=1)


def test_e08_one_channel_of_colour_and_of_grey_files(tmp_path: Path) -> None:
    rgb, grey = smooth(6, 8), noise(6, 8, 1)
    assert load_image(write(tmp_path / "a.png", encode(rgb)), channels=1).shape == (6, 8, 1)
    path = write(tmp_path / "b.png", cv2.imencode(".png", grey)[1].tobytes())
    np.testing.assert_array_equal(load_image(path, channels=1), grey)
    np.testing.assert_array_equal(load_image(path, channels=3), np.repeat(grey, 3, axis=2))


def test_e11_exif_orientation_6_is_turned_upright(tmp_path: Path) -> None:
    jpeg = encode(smooth(20, 40), ".jpg")
    flat = load_image(write(tmp_path / "a.jpg", jpeg), channels=3)
    turned = load_image(write(tmp_path / "b.jpg", with_orientation(jpeg, 6)), channels=3)
    assert (flat.shape, turned.shape) == ((20, 40, 3), (40, 20, 3))
    np.testing.assert_array_equal(turned, np.rot90(flat, -1))


@pytest.mark.parametrize("scans", [0, 1], ids=["baseline", "progressive"])
@pytest.mark.parametrize("thumbnail", [False, True])
def test_e04_a_jpeg_cut_at_60_percent_loads_and_is_named(tmp_path: Path, scans: int, thumbnail: bool) -> None:
    rgb = noise(64, 64)
    whole = cv2.imencode(".jpg", rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_PROGRESSIVE, scans])[1].tobytes()
    if thumbnail:  # its own end mark must not count
        small = encode(noise(8, 8), ".jpg")
        whole = whole[:2] + b"\xff\xe2" + struct.pack(">H", len(small) + 2) + small + whole[2:]
    cut = whole[: len(whole) * 6 // 10]
    path = write(tmp_path / "cut.jpg", cut)
    picture = read_picture(path, channels=3)
    assert picture.pixels.shape == (64, 64, 3)
    assert picture.problem is not None
    assert (picture.problem.kind, picture.problem.path) == ("note", path)
    assert f"{path}: the JPEG is cut off after {len(cut)} bytes" in picture.problem.message


@pytest.mark.parametrize("tail", [b"", b"\0" * 5, b"a camera's own block"])
def test_a_whole_jpeg_is_not_named(tmp_path: Path, tail: bytes) -> None:
    path = write(tmp_path / "a.jpg", encode(noise(9, 9), ".jpg") + tail)
    assert read_picture(path, channels=3).problem is None


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"", r"Cannot load image .*a\.jpg: the file is empty, 0 bytes", id="E16"),
        pytest.param(b"some text\n", r"Cannot load image .*a\.jpg: not a picture", id="text"),
        pytest.param(encode(noise(99, 99), ".jpg")[:200], r"Cannot load image .*a\.jpg: not a picture", id="JPEG head"),
        pytest.param(None, r"Cannot load image .*a\.jpg: not found", id="E02 missing"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path: Path, raw: bytes | None, message: str) -> None:
    if raw is not None:
        (tmp_path / "a.jpg").write_bytes(raw)
    with pytest.raises(DataError, match=message):
        load_image(str(tmp_path / "a.jpg"), channels=3)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Is a directory\. Name a file"):
        load_image(str(tmp_path), channels=3)


def test_a_path_with_nul_is_refused() -> None:
    with pytest.raises(DataError, match="Cannot load image"):
        load_image("a\0.jpg", channels=3)


def test_a_header_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    raw = bytearray(encode(noise(9, 9), ".bmp"))
    raw[18:26] = struct.pack("<ii", 2**30, 2**30)
    with pytest.raises(DataError, match="not a picture that OpenCV reads"):
        load_image(write(tmp_path / "a.bmp", bytes(raw)), channels=3)


def test_a_system_without_libgl_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = builtins.__import__

    def without_cv2(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "cv2":
            raise ImportError("libGL.so.1: cannot open shared object file")
        return import_module(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_cv2)
    with pytest.raises(SetupError, match=r"libGL\.so\.1.*apt-get install libgl1 libglib2\.0-0.*opencv-python-headless"):
        import_cv2()


def straightforward(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return darknet's resize, written out pixel by pixel in float32, as (H, W, C)."""
    one = np.float32(1)
    source = image.astype(np.float32) * (one / np.float32(255))
    rows, columns = image.shape[:2]
    part = np.empty((rows, width, image.shape[2]), np.float32)
    for x in range(width):
        if x == width - 1 or columns == 1:
            part[:, x] = source[:, columns - 1]
        else:
            place = np.float32(x) * (np.float32(columns - 1) / np.float32(width - 1))
            left = int(place)
            share = place - np.float32(left)
            part[:, x] = (one - share) * source[:, left] + share * source[:, left + 1]
    out = np.empty((height, width, image.shape[2]), np.float32)
    for y in range(height):
        place = np.float32(y) * (np.float32(rows - 1) / np.float32(height - 1))
        upper = int(place)
        share = place - np.float32(upper)
        out[y] = (one - share) * part[upper]
        if y < height - 1 and rows > 1:
            out[y] += share * part[upper + 1]
    return out


@pytest.mark.parametrize(
    ("rows", "columns", "width", "height"),
    [
        (48, 64, 32, 32),
        (10, 7, 32, 20),
        (200, 30, 32, 32),
        (333, 40, 32, 320),
        (1, 9, 8, 8),
        (9, 1, 8, 8),
        (1, 1, 8, 4),
    ],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_the_corners_stay_in_place(rows: int, columns: int, width: int, height: int, channels: int) -> None:
    image = noise(rows, columns, channels)
    resized = resize_for_network(image, width=width, height=height)
    assert (resized.shape, resized.dtype) == ((channels, height, width), np.float32)
    np.testing.assert_allclose(resized.transpose(1, 2, 0), straightforward(image, width, height), atol=5e-7)


@pytest.mark.parametrize(
    ("rows", "height", "is_black"),
    [
        (333, 320, True),
        (800, 320, True),
        (1280, 320, True),
        (2048, 416, True),
        (960, 608, True),
        (2048, 608, True),
        (1024, 640, True),
        (576, 320, False),
        (512, 320, False),
        (424, 320, False),
        (333, 512, False),
        (2048, 512, False),
    ],
)
def test_the_last_row_is_black_where_it_is_in_darknet(rows: int, height: int, is_black: bool) -> None:
    white = np.full((rows, 4, 3), 255, np.uint8)
    resized = resize_for_network(white, width=4, height=height)
    np.testing.assert_allclose(resized[:, -1], 0 if is_black else 1, atol=2e-4)
    np.testing.assert_allclose(resized[:, :-1], 1, atol=1e-6)


def test_a_picture_that_fits_is_copied() -> None:
    image = noise(6, 9)
    resized = resize_for_network(image, width=9, height=6)
    np.testing.assert_array_equal(
        resized, image.transpose(2, 0, 1).astype(np.float32) * (np.float32(1) / np.float32(255))
    )


@pytest.mark.parametrize(
    ("picture", "network", "fitted"),
    [
        ((768, 576), (320, 320), (320, 240)),
        ((773, 512), (320, 320), (320, 211)),
        ((500, 500), (320, 320), (320, 320)),
        ((100, 400), (320, 160), (40, 160)),
        ((1200, 6), (320, 320), (320, 1)),
        ((4000, 2), (320, 320), (320, 1)),
        ((2, 4000), (320, 320), (1, 320)),
    ],
)
def test_letterbox_sizes(picture: tuple[int, int], network: tuple[int, int], fitted: tuple[int, int]) -> None:
    assert letterbox_size(*picture, width=network[0], height=network[1]) == fitted


def test_a_letterbox_is_grey_around_the_picture() -> None:
    image = noise(20, 40)
    boxed = resize_for_network(image, width=41, height=32, letter_box=True)  # 41 x 20, at row 6
    np.testing.assert_array_equal(boxed[:, 6:26], resize_for_network(image, width=41, height=20))
    assert (boxed[:, :6] == 0.5).all()
    assert (boxed[:, 26:] == 0.5).all()


@pytest.mark.parametrize("size", [(4000, 2), (2, 4000)])
def test_a_sliver_is_letterboxed_to_one_line(size: tuple[int, int]) -> None:
    boxed = resize_for_network(noise(size[1], size[0]), width=32, height=32, letter_box=True)
    assert np.isfinite(boxed).all()
    assert (boxed != 0.5).any()
