"""The training side of the loader: mixup, letter_box at changing sizes, shown pictures and odd files."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from darkpy.data.image import load_image
from darkpy.data.loader import AugmentSpec, Request, _TrainingSet, training_batches
from darkpy.data.mixup import blend, unit_levels
from darkpy.errors import DataError
from darkpy.structures import MiniBatch

SPEC = AugmentSpec(hue=0.1, saturation=1.5, exposure=1.5, max_boxes=5, classes=3, images_per_iteration=8)
STILL = AugmentSpec(jitter=0, flip=False, max_boxes=5, classes=3, images_per_iteration=4)


def draw(folder: Path, count: int = 5) -> list[str]:
    """Write pictures of 32 x 24 pixels, each with as many truths of class 1 as its number."""
    paths = []
    for number in range(count):
        image = np.random.default_rng(number).integers(0, 256, (24, 32, 3), dtype=np.uint8)
        paths.append(str(folder / f"{number}.png"))
        cv2.imwrite(paths[-1], image)
        (folder / f"{number}.txt").write_text("1 .5 .5 .5 .5\n" * number)
    return paths


def requests(iterations: int, images: int, mini_batch: int) -> list[Request]:
    starts = range(0, images, mini_batch)
    return [Request(iteration, first, mini_batch, 32, 24) for iteration in range(iterations) for first in starts]


def train(
    paths: list[str], spec: AugmentSpec, asked: Iterable[Request], *, workers: int = 0, shown: Path | None = None
) -> list[MiniBatch]:
    return list(training_batches(paths, spec, asked, seed=1, workers=workers, pin_memory=False, shown=shown))


def test_mixup_blends_two_pictures_in_whole_jobs(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    spec = replace(STILL, mixup=True, images_per_iteration=12)
    batches = train(paths, spec, requests(5, 12, 2))
    pixels = {path: load_image(path, channels=3) for path in paths}
    blended = 0
    for batch in batches:  # one job each
        is_blended = [" + " in names for names in batch.paths]
        assert len(set(is_blended)) == 1
        assert batch.images.dtype == (torch.float32 if is_blended[0] else torch.uint8)
        for image, truths, names in zip(batch.images, batch.truths, batch.paths, strict=True):
            drawn = names.split(" + ")
            expected = blend(*(pixels[path] for path in drawn)) if is_blended[0] else pixels[drawn[0]]
            np.testing.assert_array_equal(image.permute(1, 2, 0).numpy(), expected)
            assert int((truths[:, 2] > 0).sum()) == min(sum(map(paths.index, drawn)), 5)
        blended += is_blended[0]
    assert 0 < blended < 30


def test_rows_beside_a_blended_one_come_as_a_network_sees_them(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    spec = replace(STILL, mixup=True, images_per_iteration=12)
    for batch in train(paths, spec, requests(3, 12, 12)):
        assert batch.images.dtype == torch.float32
        assert {" + " in names for names in batch.paths} == {False, True}
        for image, names in zip(batch.images, batch.paths, strict=True):
            if " + " not in names:
                expected = unit_levels(load_image(names, channels=3))
                np.testing.assert_array_equal(image.permute(1, 2, 0).numpy(), expected)


@pytest.mark.parametrize("mix", ["mosaic", "mixup"])
def test_law_half_of_the_jobs_are_mixed(mix: str) -> None:
    pictures = _TrainingSet([], replace(SPEC, images_per_iteration=6, **{mix: True}), 1, None)  # type: ignore[arg-type]
    mixed = np.array(
        [[pictures._is_mixed(Request(iteration, 0, 6, 32, 32), row) for row in range(6)] for iteration in range(1000)]
    )
    assert abs(mixed.sum() - 3000) < 5 * 1500**0.5  # five standard deviations
    correlation = np.corrcoef(mixed.T)[np.triu_indices(6, 1)]  # jobs of an iteration know nothing of each other
    assert (np.abs(correlation) < 5 / 1000**0.5).all()


def test_the_letter_box_has_the_aspect_of_the_size_asked_for(tmp_path: Path) -> None:
    """The size changes on the way with random=1: pictures of 32 x 24 pixels in 64 x 24 and in 32 x 48."""
    (path,) = draw(tmp_path, 1)
    image = load_image(path, channels=3)
    mean = np.rint(image.reshape(-1, 3).mean(axis=0))
    asked = [Request(0, 0, 1, 64, 24), Request(1, 0, 1, 32, 48)]
    wide, tall = train([path], replace(STILL, letter_box=True), asked)
    pixels = wide.images[0].permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(pixels[:, 16:48], image)
    np.testing.assert_array_equal(pixels[:, [0, 15, 48, 63]], np.broadcast_to(mean, (24, 4, 3)))
    pixels = tall.images[0].permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(pixels[12:36], image)
    np.testing.assert_array_equal(pixels[[0, 11, 36, 47]], np.broadcast_to(mean, (4, 32, 3)))


@pytest.mark.parametrize("workers", [0, 1])
def test_every_row_is_saved_for_the_user_once(tmp_path: Path, workers: int) -> None:
    paths, shown = draw(tmp_path), tmp_path / "shown"
    shown.mkdir()
    train(paths, replace(SPEC, mixup=True), requests(2, 8, 4), workers=workers, shown=shown)
    names = {f"aug_{iteration}_{row}_1.jpg" for iteration in (1, 2) for row in range(8)}
    assert {path.name for path in shown.iterdir()} == names
    assert all(cv2.imread(str(path)).shape == (24, 32, 3) for path in shown.iterdir())


@pytest.mark.parametrize("workers", [0, 1])
def test_a_picture_that_cannot_be_saved_ends_the_run_in_one_line(tmp_path: Path, workers: int) -> None:
    with pytest.raises(DataError, match=r"^-show_imgs: .*aug_1_0_1\.jpg cannot be written: [^\n]*$"):
        train(draw(tmp_path), SPEC, requests(1, 1, 1), workers=workers, shown=tmp_path / "gone")


ODD = {
    "16 bits": (np.uint16, 3, 257),
    "16 bits, grey": (np.uint16, 1, 257),
    "alpha": (np.uint8, 4, 1),
    "grey": (np.uint8, 1, 1),
}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", list(ODD))
def test_e05_e08_odd_files_train(tmp_path: Path, kind: str, channels: int) -> None:
    dtype, planes, factor = ODD[kind]
    levels = np.random.default_rng(0).integers(0, 256, (24, 32, planes)).astype(dtype)
    if planes == 4:
        levels[..., 3] = 0  # clear pixels count as others
    path = tmp_path / "a.png"
    cv2.imwrite(str(path), (levels * factor).astype(dtype))
    (batch,) = train([str(path)], replace(STILL, channels=channels), requests(1, 1, 1))
    pixels = batch.images[0].permute(1, 2, 0).numpy()
    if planes == 1:
        np.testing.assert_array_equal(pixels, np.repeat(levels, channels, axis=2))
    elif channels == 3:
        np.testing.assert_array_equal(pixels, levels[..., [2, 1, 0]])
    else:
        assert np.abs(pixels - levels[..., [2, 1, 0]] @ np.array([[0.299], [0.587], [0.114]])).max() <= 1


def test_e11_a_turned_picture_trains_upright(tmp_path: Path) -> None:
    """40 x 20 pixels with EXIF orientation 6: 20 wide, 40 high, the left edge becomes the upper one."""
    image = np.zeros((20, 40, 3), np.uint8)
    image[:, :20] = 255
    jpeg = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 100])[1].tobytes()
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    path = tmp_path / "a.jpg"
    path.write_bytes(jpeg[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + jpeg[2:])
    for channels in (1, 3):
        (batch,) = train([str(path)], replace(STILL, channels=channels), [Request(0, 0, 1, 20, 40)])
        assert batch.images[0, :, :18].min() > 240
        assert batch.images[0, :, 22:].max() < 15
