"""Result files (darkpy/report/result_files.py)."""

import errno
import json
from pathlib import Path

import pytest
import torch

from darkpy.errors import DataError
from darkpy.report import result_files as module
from darkpy.report.result_files import class_files, result_files
from darkpy.structures import Detections, PictureResult

NAMES = ("cat", "traffic light")


def picture(path: str, *probabilities: float) -> PictureResult:
    """Return one box of each probability, of class 0."""
    count = len(probabilities)
    boxes = torch.tensor([[5.0, 5.0, 2.0, 2.0]]).repeat(count, 1)
    return PictureResult(
        path, 0, (10, 10), Detections(boxes, torch.ones(count), torch.tensor(probabilities).reshape(-1, 1))
    )


def write(form: str, base: Path, *pictures: PictureResult) -> None:
    with result_files(form, base, class_names=NAMES) as add:
        for one in pictures:
            add(one)


def interruption() -> PictureResult:
    """Return a picture at whose detections Ctrl-C comes."""

    class Pressed:
        @property
        def probabilities(self) -> torch.Tensor:
            raise KeyboardInterrupt

    return PictureResult("2.jpg", 1, (10, 10), Pressed())  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_c11_voc_has_a_file_for_each_class_also_without_detections(tmp_path: Path) -> None:
    """C11: blanks stay in the names."""
    write("voc", tmp_path / "r" / "x_", picture("1.jpg", 0.5), picture("2.jpg"), picture("3.jpg", 0.25))
    assert names(tmp_path) == ["r/x_cat.txt", "r/x_traffic light.txt"]
    assert [line.split()[0] for line in (tmp_path / "r/x_cat.txt").read_text().splitlines()] == ["1", "3"]
    assert (tmp_path / "r/x_traffic light.txt").read_bytes() == b""


@pytest.mark.parametrize("form", ["coco", "bdd"])
@pytest.mark.parametrize(
    ("pictures", "count"),
    [
        ([], 0),
        ([picture("1.jpg")], 0),
        ([picture("1.jpg", 0.5)], 1),
        ([picture("1.jpg"), picture("2.jpg", 0.5, 0.25), picture("3.jpg"), picture("4.jpg", 0.5), picture("5.jpg")], 3),
    ],
)
def test_json_is_always_whole(form: str, pictures: list[PictureResult], count: int, tmp_path: Path) -> None:
    write(form, tmp_path / "x", *pictures)
    text = (tmp_path / "x.json").read_text()
    assert len(json.loads(text)) == count
    assert text.startswith("[\n")
    assert text.endswith("}\n]\n" if count else "[\n]\n")


def test_imagenet_is_one_file(tmp_path: Path) -> None:
    write("imagenet", tmp_path / "x.y", picture("1.jpg", 0.5))
    assert names(tmp_path) == ["x.y.txt"]


def test_kitti_has_a_file_for_each_picture(tmp_path: Path) -> None:
    write("kitti", tmp_path / "x", picture("d/1.jpg", 0.5), picture("d/2.jpg"))
    assert names(tmp_path) == ["x/data/1.txt", "x/data/2.txt"]
    assert (tmp_path / "x/data/2.txt").read_bytes() == b""


@pytest.mark.parametrize("form", ["voc", "coco", "bdd", "imagenet"])
def test_an_error_leaves_older_files_alone_and_nothing_else(form: str, tmp_path: Path) -> None:
    write(form, tmp_path / "x", picture("1.jpg", 0.5))
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    with pytest.raises(KeyboardInterrupt):
        write(form, tmp_path / "x", picture("2.jpg", 0.25), interruption())
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


@pytest.mark.parametrize(
    ("number", "mend"),
    [
        (errno.EMFILE, r"raise the limit \(ulimit -n 4096\), or set eval=coco"),
        (errno.ENOSPC, r"Make room, or set results = FOLDER"),
        (errno.EROFS, r"Set results = FOLDER to one that can be written\."),
    ],
)
def test_errors_of_the_file_system_say_what_to_do(
    number: int, mend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(number, "it failed", str(path))

    monkeypatch.setattr(module, "replaced", fail)
    with pytest.raises(DataError, match=rf"x: the results cannot be written: it failed\. .*{mend}"):
        write("voc", tmp_path / "x")


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    with pytest.raises(DataError, match=r"r/x: the results cannot be written: "):
        write("coco", tmp_path / "r" / "x")


def test_errors_of_the_caller_pass(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mine"), result_files("coco", tmp_path / "x", class_names=NAMES):
        raise OSError("mine")


def test_two_classes_may_not_share_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"classes 1 and 2 are both 'b', but a file is named after each"):
        class_files(tmp_path / "x", ["a", "b", "b"])


def test_a_slash_cannot_be_in_a_class_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"class 1 'tv/monitor': .* '/' cannot be in it"):
        class_files(tmp_path / "x", ["a", "tv/monitor"])
