"""`detector valid` (darkpy/tasks/valid.py), with a network that finds what it is told."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import RUN_OPTIONS
from pictures import FakeNetwork, make_folder

from darkpy.errors import CfgError, DataError, WeightsError
from darkpy.structures import Detections
from darkpy.tasks import valid as task

PIXELS = "16.000000 16.000000 26.000000 26.000000"  # as VOC counts them
LIGHTS = "results/comp4_det_test_traffic light.txt"


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNetwork:
    """The network; the current folder has three pictures."""
    monkeypatch.chdir(tmp_path)
    made = FakeNetwork()
    monkeypatch.setattr(task, "open_network", lambda *_, **__: made)
    make_folder("a b c")
    return made


def run(weights: Path | None = Path("net.weights"), *, data: str | None = None, **options: Any) -> int:
    """Run the command, with more lines in the .data file."""
    if data is not None:
        make_folder("a b c", data)
    return task.validate(Path("obj.data"), Path("net.cfg"), weights, **{"out": None, **RUN_OPTIONS, **options})


def written() -> list[str]:
    return sorted(path.relative_to("results").as_posix() for path in Path("results").rglob("*") if path.is_file())


def test_c11_f10_voc_is_the_default_and_its_folder_is_made(
    network: FakeNetwork, capsys: pytest.CaptureFixture[str]
) -> None:
    """C11: blanks in names stay. F10: the folder was missing."""
    assert run() == 0
    assert written() == ["comp4_det_test_cat.txt", "comp4_det_test_traffic light.txt"]
    assert Path("results/comp4_det_test_cat.txt").read_text() == "".join(f"{n} 0.900000 {PIXELS}\n" for n in "abc")
    assert Path(LIGHTS).read_text() == ""
    captured = capsys.readouterr()
    assert captured.out == " Detection layer: 16 - type = 28 \n Detection layer: 23 - type = 28 \n"
    assert captured.err == (
        "obj.data: no 'results = ...' line; results go to results/\n"
        "Learning Rate: 0.00261, Momentum: 0.9, Decay: 0.0005\n3\nTotal Detection Time: 0.000000 Seconds\n"
    )


@pytest.mark.parametrize(
    ("form", "files"),
    [
        ("coco", ["coco_results.json"]),
        ("bdd", ["bdd_results.json"]),
        ("imagenet", ["imagenet-detection.txt"]),
        ("kitti", [f"kitti_results/data/{name}.txt" for name in "abc"]),
    ],
)
def test_other_forms_need_no_names(form: str, files: list[str], network: FakeNetwork) -> None:
    make_folder("a b c")
    Path("obj.data").write_text(f"valid = valid.txt\nresults = results\neval = {form}\n")
    assert run() == 0
    assert written() == files


@pytest.mark.parametrize(
    ("form", "files"),
    [("voc", ["my_cat.txt", "my_traffic light.txt"]), ("coco", ["my_.json"]), ("imagenet", ["my_.txt"])],
)
def test_out_names_the_files(form: str, files: list[str], network: FakeNetwork) -> None:
    run(data=f"eval = {form}\n", out=Path("my_"))
    assert written() == files


def test_out_may_have_a_folder_and_a_dot(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    run(data="eval = kitti\n", out=Path("d/v1.2"))
    assert written() == [f"d/v1.2/data/{name}.txt" for name in "abc"]
    assert capsys.readouterr().out.endswith("\nd/v1.2\n")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_c14_short_lists_work(count: int, network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    """C14."""
    Path("valid.txt").write_text("".join(f"{name}.png\n" for name in "abc"[:count]))
    assert run() == 0
    assert len(Path("results/comp4_det_test_cat.txt").read_text().splitlines()) == count
    assert f"\n{count}\nTotal Detection Time" in capsys.readouterr().err


def test_progress_in_steps_of_four(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    Path("valid.txt").write_text("a.png\n" * 17)
    run()
    assert "\n4\n8\n12\n16\n20\nTotal" in capsys.readouterr().err


def test_f14_nothing_found(network: FakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    """F14."""
    nothing = Detections(torch.zeros(0, 4), torch.zeros(0), torch.zeros(0, 2))
    monkeypatch.setattr(network, "detect", lambda images, threshold: [nothing] * len(images))
    assert run(data="eval = coco\n") == 0
    assert json.loads(Path("results/coco_results.json").read_text()) == []


def test_e02_unreadable_picture_is_named_and_keeps_its_place(
    network: FakeNetwork, capsys: pytest.CaptureFixture[str]
) -> None:
    """E02: exit status 1; the places of the others in the list are as before."""
    make_folder("a b c", "eval = imagenet\n")
    Path("b.png").unlink()
    assert run() == 1
    error = capsys.readouterr().err
    assert "Cannot load image b.png" in error
    assert "1 pictures could not be read; nothing stands for them in results/." in error
    lines = Path("results/imagenet-detection.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["1", "3"]


def test_labels_are_not_needed(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "abc":
        Path(f"{name}.txt").unlink()
    assert run() == 0
    assert "label" not in capsys.readouterr().err


def test_letterbox_of_the_cfg(network: FakeNetwork) -> None:
    import cv2
    import numpy as np

    network.net.letter_box = True
    cv2.imwrite("a.png", np.zeros((20, 40, 3), np.uint8))  # takes rows 8 to 24 of 32
    run(data=None)
    assert (
        Path("results/comp4_det_test_cat.txt")
        .read_text()
        .startswith("a 0.900000 16.000000 6.000000 26.000000 16.000000\n")
    )


@pytest.mark.slow
def test_workers_change_nothing(network: FakeNetwork) -> None:
    Path("valid.txt").write_text("a.png\nb.png\nc.png\n" * 7)
    run()
    alone = Path("results/comp4_det_test_cat.txt").read_bytes()
    run(workers=2)
    assert Path("results/comp4_det_test_cat.txt").read_bytes() == alone


def test_boxes_that_are_no_numbers_are_told(
    network: FakeNetwork, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Detections(torch.full((1, 4), float("nan")), torch.ones(1), torch.ones(1, 2))
    monkeypatch.setattr(network, "detect", lambda images, threshold: [broken] * len(images))
    assert run() == 0
    assert "a.png: 1 boxes are no finite numbers and are left out" in capsys.readouterr().err
    assert Path(LIGHTS).read_text() == ""


def test_a_bug_or_ctrl_c_leaves_older_results_alone(network: FakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    before = Path("results/comp4_det_test_cat.txt").read_bytes()

    def interrupt(images: torch.Tensor, threshold: float) -> list[Detections]:
        raise KeyboardInterrupt

    monkeypatch.setattr(network, "detect", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert Path("results/comp4_det_test_cat.txt").read_bytes() == before
    assert len(list(Path("results").iterdir())) == 2


def test_an_unknown_form_is_voc_as_in_darknet(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(data="eval = COCO\n") == 0
    assert "obj.data:3: eval=COCO is unknown: voc is used, as in darknet. Write one of voc," in capsys.readouterr().err
    assert len(written()) == 2


def test_a_class_map_has_no_effect(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    run(data="map = coco.map\n")
    assert "obj.data:3: map has no effect: only the class trees of YOLO9000 have one." in capsys.readouterr().err


@pytest.mark.parametrize(("form", "most"), [("coco", 80), ("bdd", 10), ("kitti", 3)])
def test_more_classes_than_categories(form: str, most: int, network: FakeNetwork) -> None:
    network.classes = most + 1
    message = rf"obj\.data:3: eval={form} has {most} categories, but classes={most + 1} in net\.cfg\. Set eval=voc\."
    with pytest.raises(DataError, match=message):
        run(data=f"eval = {form}\n")


def test_imagenet_has_200_classes(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    network.classes = 201
    assert run(data="eval = imagenet\n") == 0
    assert "eval=imagenet: the first 200 of 201 classes are written." in capsys.readouterr().err


@pytest.mark.parametrize(("form", "name"), [("voc", "img"), ("kitti", "img"), ("coco", "0")])
def test_pictures_that_the_results_cannot_tell_apart(
    form: str, name: str, network: FakeNetwork, capsys: pytest.CaptureFixture[str]
) -> None:
    make_folder("img.1 img.2", f"eval = {form}\n")
    Path("valid.txt").write_text("img.1.png\nimg.2.png\nimg.1.png\n")
    assert run() == 0
    warning = (
        f"Warning: 1 pictures share their name in the results with another (img.1.png and img.2.png are both {name})"
    )
    assert warning in capsys.readouterr().err


def test_a_list_that_names_a_picture_twice_is_no_clash(
    network: FakeNetwork, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("valid.txt").write_text("a.png\na.png\n")
    run()
    assert "share" not in capsys.readouterr().err


def test_f10_folder_that_cannot_be_made(network: FakeNetwork) -> None:
    """F10: an error before the network is opened."""
    Path("file").write_text("")
    with pytest.raises(DataError, match=r"obj\.data:3: results: cannot make the folder file/r: "):
        run(data="results = file/r\n")


def test_f10_folder_that_cannot_be_written(network: FakeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    """F10."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match=r"obj\.data:3: results: the folder r cannot be written"):
        run(data="results = r\n")


def test_names_are_needed_for_voc(network: FakeNetwork) -> None:
    Path("obj.data").write_text("valid = valid.txt\n")
    with pytest.raises(CfgError, match=r"obj\.data: no 'names = \.\.\.' line"):
        run()


def test_names_that_make_one_file_of_two_classes(network: FakeNetwork) -> None:
    Path("obj.names").write_text("cat\ncat\n")
    with pytest.raises(DataError, match="classes 0 and 1 are both 'cat'"):
        run()


def test_weights_are_required(network: FakeNetwork) -> None:
    with pytest.raises(WeightsError, match="detector valid: no weights given"):
        run(None)


def test_g10_gpu_without_cuda(network: FakeNetwork, capsys: pytest.CaptureFixture[str]) -> None:
    """G10: the CPU is used, and that is said."""
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device, and the test is of its absence")
    assert run(device=None, gpus=(0,)) == 0
    assert re.search(r"(?i)cpu", capsys.readouterr().err)
