import itertools
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from darkpy.data.evaluation import evaluation_batches
from darkpy.data.image import load_image, resize_for_network
from darkpy.data.loader import AugmentSpec, Request, training_batches
from darkpy.data.mixup import unit_levels
from darkpy.errors import DataError, SetupError
from darkpy.structures import MiniBatch

SPEC = AugmentSpec(hue=0.1, saturation=1.5, exposure=1.5, max_boxes=5, classes=3, images_per_iteration=8)
STILL = AugmentSpec(jitter=0, flip=False, max_boxes=5, classes=3, images_per_iteration=4)


def draw(folder: Path, count: int = 5) -> list[str]:
    """Write pictures of 32 x 24 pixels, each with as many truths of class 1 as its number; 0 has no label file."""
    paths = []
    for number in range(count):
        image = np.random.default_rng(number).integers(0, 256, (24, 32, 3), dtype=np.uint8)
        paths.append(str(folder / f"{number}.png"))
        cv2.imwrite(paths[-1], image)
        if number:
            rows = [f"1 .5 .5 {0.2 + 0.05 * row} .5" for row in range(number)]
            (folder / f"{number}.txt").write_text("\n".join(rows))
    return paths


def requests(iterations: int, images: int, mini_batch: int) -> Iterator[Request]:
    for iteration in range(iterations):
        for first in range(0, images, mini_batch):
            yield Request(iteration, first, min(mini_batch, images - first), 48, 32)


def train(
    paths: list[str], spec: AugmentSpec, asked: Iterator[Request], workers: int = 0, seed: int = 1
) -> list[MiniBatch]:
    return list(training_batches(paths, spec, asked, seed=seed, workers=workers, pin_memory=False))


def joined(batches: list[MiniBatch]) -> tuple[torch.Tensor, torch.Tensor, tuple[str, ...]]:
    images = torch.cat([torch.from_numpy(unit_levels(batch.images.numpy())) for batch in batches])
    return images, torch.cat([batch.truths for batch in batches]), sum((batch.paths for batch in batches), ())


def test_a_batch_has_bytes_truths_and_paths(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    batches = train(paths, STILL, iter([Request(0, 0, 4, 32, 24)]))
    (batch,) = batches
    assert (batch.images.dtype, batch.images.shape) == (torch.uint8, (4, 3, 24, 32))
    assert (batch.truths.dtype, batch.truths.shape) == (torch.float32, (4, 5, 5))
    for image, truths, path in zip(batch.images, batch.truths, batch.paths, strict=True):
        np.testing.assert_array_equal(image.permute(1, 2, 0).numpy(), load_image(path, channels=3))
        assert int((truths[:, 2] > 0).sum()) == paths.index(path)
        assert (truths[paths.index(path) :] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [{}, {"mosaic": True}, {"mixup": True}, {"blur": 5, "gaussian_noise": 30}],
    ids=["plain", "mosaic", "mixup", "blur and noise"],
)
def test_neither_workers_nor_the_split_change_a_picture(tmp_path: Path, changes: dict[str, object]) -> None:
    paths = draw(tmp_path)
    spec = replace(SPEC, **changes)  # type: ignore[arg-type]
    images, truths, names = joined(train(paths, spec, requests(3, 8, 8)))
    for mini_batch, workers in ((8, 2), (3, 0), (2, 2)):
        others = joined(train(paths, spec, requests(3, 8, mini_batch), workers))
        assert torch.equal(others[0], images)
        assert torch.equal(others[1], truths)
        assert others[2] == names
    assert len({image.numpy().tobytes() for image in images}) == len(images)


def test_seed_and_iteration_change_every_picture(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    first, _, _ = joined(train(paths, SPEC, requests(1, 4, 4)))
    reseeded, _, _ = joined(train(paths, SPEC, requests(1, 4, 4), seed=2))
    (later,) = train(paths, SPEC, iter([Request(1, 0, 4, 48, 32)]))
    for row in range(4):
        assert not torch.equal(first[row], reseeded[row])
        assert not torch.equal(first[row], later.images[row])


def test_pictures_are_drawn_evenly_with_replacement(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    _, _, drawn = joined(train(paths, STILL, requests(1, 200, 200)))
    counts = [drawn.count(path) for path in paths]
    assert min(counts) >= 22  # expected 40, standard deviation 5.7
    assert sum(counts) == 200


def test_mosaic_is_decided_for_each_sixth_of_an_iteration(tmp_path: Path) -> None:
    paths = draw(tmp_path)
    spec = AugmentSpec(max_boxes=5, classes=3, images_per_iteration=12, mosaic=True)
    _, _, names = joined(train(paths, spec, requests(20, 12, 5)))
    is_mosaic = np.array([name.count(" + ") == 3 for name in names]).reshape(20, 6, 2)
    assert (is_mosaic[..., 0] == is_mosaic[..., 1]).all()
    assert 40 < is_mosaic[..., 0].sum() < 80  # of 120; standard deviation 5.5
    assert any(0 < iteration.sum() < 6 for iteration in is_mosaic[..., 0])  # the jobs of an iteration differ


@pytest.mark.parametrize("workers", [0, 1])
def test_requests_are_read_only_a_few_ahead(tmp_path: Path, workers: int) -> None:
    asked = []

    def endless() -> Iterator[Request]:
        for iteration in itertools.count():
            asked.append(iteration)
            yield Request(iteration, 0, 1, 32, 32)

    batches = training_batches(draw(tmp_path), SPEC, endless(), seed=1, workers=workers, pin_memory=False)
    for _ in range(3):
        next(batches)
    assert len(asked) <= 3 + 2 * workers
    assert len(multiprocessing.active_children()) == workers
    batches.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(None, "not found", id="E01 missing"),
        pytest.param(b"", "the file is empty, 0 bytes", id="E16 empty"),
        pytest.param(b"no picture", "not a picture", id="text"),
    ],
)
def test_an_unreadable_picture_is_named_and_another_one_drawn(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    paths = draw(tmp_path, 3)
    bad = str(tmp_path / "bad.png")
    if content is not None:
        Path(bad).write_bytes(content)
    (tmp_path / "bad.txt").write_text("2 .5 .5 .9 .9")
    batches = train([*paths, bad], STILL, requests(1, 24, 24), workers=1)
    (batch,) = batches
    named = [problem for problem in batch.problems if problem.kind == "image"]
    assert named
    assert {problem.path for problem in named} == {bad}
    assert all(complaint in problem.message for problem in named)
    assert set(batch.paths) <= set(paths)
    assert not (batch.truths[..., 4] == 2).any()
    assert (batch.images.float().flatten(1).std(dim=1) > 10).all()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_list_of_unreadable_pictures_ends_the_run_in_one_line(tmp_path: Path, workers: int) -> None:
    with pytest.raises(
        DataError, match=r"^100 pictures in a row cannot be read\. The last: Cannot load image .*x\.jpg: [^\n]*$"
    ):
        train([str(tmp_path / "x.jpg")], STILL, requests(1, 1, 1), workers)
    assert multiprocessing.active_children() == []


def test_problems_of_labels_and_cut_off_pictures_come_along(tmp_path: Path) -> None:
    (path, _, _) = draw(tmp_path, 3)
    (tmp_path / "1.txt").write_text("9 .5 .5 .2 .2\n1 .5 .5 .2 .2")
    jpeg = cv2.imencode(".jpg", np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))[1].tobytes()
    (tmp_path / "2.png").write_bytes(jpeg[:-500])
    (batch,) = train([str(tmp_path / f"{number}.png") for number in range(3)], STILL, requests(1, 12, 12))
    kinds = {(problem.kind, Path(problem.path).name) for problem in batch.problems}
    assert kinds == {("label", "0.txt"), ("truth", "1.txt"), ("note", "2.png")}
    assert path in batch.paths


def test_a_jitter_that_leaves_nothing_is_noted(tmp_path: Path) -> None:
    spec = AugmentSpec(jitter=0.9, flip=False, max_boxes=5, classes=3)
    (batch,) = train(draw(tmp_path), spec, requests(1, 32, 32))
    notes = {problem.message for problem in batch.problems if problem.kind == "note"}
    assert notes
    assert all("jitter=0.9 with resize=1 left nothing of the picture: it was used whole" in note for note in notes)


@pytest.mark.parametrize("mosaic", [False, True])
def test_e08_one_channel(tmp_path: Path, mosaic: bool) -> None:
    spec = AugmentSpec(exposure=1.5, channels=1, max_boxes=5, classes=3, mosaic=mosaic, images_per_iteration=8)
    (batch,) = train(draw(tmp_path), spec, requests(1, 8, 8))
    assert batch.images.shape == (8, 1, 32, 48)


def test_a_worker_that_dies_is_reported_in_one_line(tmp_path: Path) -> None:
    class Deadly(list[str]):
        def __getitem__(self, _: object) -> str:  # type: ignore[override]
            os.kill(os.getpid(), signal.SIGKILL)
            return ""

    paths = Deadly(draw(tmp_path))
    with pytest.raises(SetupError, match=r"A worker process .* died .*: use fewer than 1 workers, or none\.$"):
        train(paths, STILL, requests(1, 1, 1), workers=1)


def test_ctrl_c_leaves_the_workers_alone(tmp_path: Path) -> None:
    batches = training_batches(draw(tmp_path), STILL, requests(8, 1, 1), seed=1, workers=1, pin_memory=False)
    next(batches)
    (worker,) = multiprocessing.active_children()
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGINT)
    assert len(list(batches)) == 7


@pytest.mark.parametrize("workers", [0, 1])
def test_a_machine_without_opencv_is_told_in_one_line(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = draw(tmp_path)
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(SetupError, match=r"^OpenCV cannot be imported: [^\n]*libgl1[^\n]*$"):
        train(paths, STILL, requests(1, 1, 1), workers)


def evaluate(paths: list[str], workers: int = 0, **changes: object) -> list[object]:
    settings = dict(width=48, height=32, channels=3, letter_box=False, classes=3, batch=2, difficult=None) | changes
    return list(evaluation_batches(paths, workers=workers, **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("letter_box", [False, True])
def test_evaluation_keeps_the_order_of_the_list(tmp_path: Path, workers: int, letter_box: bool) -> None:
    paths = draw(tmp_path)
    batches = evaluate(paths, workers, letter_box=letter_box)
    assert [len(batch.paths) for batch in batches] == [2, 2, 1]
    assert [path for batch in batches for path in batch.paths] == paths
    assert [len(truths) for batch in batches for truths in batch.truths] == [0, 1, 2, 3, 4]
    assert all(size == (32, 24) for batch in batches for size in batch.sizes)
    image = load_image(paths[3], channels=3)
    expected = resize_for_network(image, width=48, height=32, letter_box=letter_box)
    np.testing.assert_array_equal(batches[1].images[1].numpy(), expected)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_c14_short_lists(tmp_path: Path, count: int) -> None:
    assert sum(len(batch.paths) for batch in evaluate(draw(tmp_path, count))) == count


def test_e02_an_unreadable_picture_is_named_and_its_truths_stay(tmp_path: Path) -> None:
    paths = draw(tmp_path, 3)
    Path(paths[2]).unlink()
    batch, other = evaluate(paths)
    assert batch.readable == (True, True)
    assert other.readable == (False,)
    assert len(other.truths[0]) == 2
    assert (other.images == 0).all()
    (problem,) = other.problems
    assert (problem.kind, problem.path) == ("image", paths[2])
    assert "not found" in problem.message


def test_d05_ids_out_of_range_are_reported_and_left_out(tmp_path: Path) -> None:
    paths = draw(tmp_path, 2)
    (tmp_path / "1.txt").write_text("3 .5 .5 .2 .2\n-1 .5 .5 .2 .2\n2 .9 .5 .5 .2\n1 1.4 .5 .2 .2")
    (batch,) = evaluate(paths)
    np.testing.assert_allclose(batch.truths[1], [[0.9, 0.5, 0.5, 0.2, 2], [1.4, 0.5, 0.2, 0.2, 1]])
    assert [problem.kind for problem in batch.problems] == ["label", "truth", "truth", "truth"]


def test_e04_a_cut_off_picture_is_named_in_evaluation_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(cv2.imencode(".jpg", np.zeros((64, 64, 3), np.uint8))[1].tobytes()[:-9])
    (tmp_path / "a.txt").touch()
    (batch,) = evaluate([str(path)])
    assert batch.readable == (True,)
    assert [(problem.kind, problem.path) for problem in batch.problems] == [("note", str(path))]


def test_difficult_objects_come_from_the_labels_of_their_own_list(tmp_path: Path) -> None:
    paths = draw(tmp_path, 3)
    (tmp_path / "hard").mkdir()
    (tmp_path / "hard" / "2.txt").write_text("2 .25 .25 .5 .5")
    batches = evaluate(paths, difficult=[str(tmp_path / "hard" / f"{number}.png") for number in range(3)])
    assert [len(rows) for batch in batches for rows in batch.difficult] == [0, 0, 1]
    np.testing.assert_array_equal(batches[1].difficult[0], [[0.25, 0.25, 0.5, 0.5, 2]])
    assert [len(rows) for batch in evaluate(paths) for rows in batch.difficult] == [0, 0, 0]


def test_a_difficult_list_of_another_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the difficult list names 1 pictures, but the valid list 3"):
        evaluate(draw(tmp_path, 3), difficult=["a.jpg"])
