"""`data to-coco` (darkpy/tasks/to_coco.py), and the way back."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_sets import picture, rows, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from darkpy.data.index import read_image_list
from darkpy.errors import CfgError, DataError
from darkpy.tasks.from_coco import from_coco
from darkpy.tasks.to_coco import to_coco


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the current folder an empty one."""
    monkeypatch.chdir(tmp_path)


def write_set(labels: dict[str, str], *, size: tuple[int, int] = (40, 30), more: str = "") -> None:
    """Write into the current folder a picture with a label file for each name, the list, the names and obj.data."""
    for shade, (name, text) in enumerate(labels.items()):
        picture(Path("obj") / f"{name}.png", *size, shade=shade)
        Path("obj", f"{name}.txt").write_text(text)
    Path("valid.txt").write_text("".join(f"obj/{name}.png\n" for name in labels))
    Path("obj.names").write_text("cat\ntraffic light\n")
    Path("obj.data").write_text(f"classes = 2\nvalid = valid.txt\nnames = obj.names\n{more}")


def run(**changes: Any) -> int:
    return to_coco(Path("obj.data"), **{"which": "valid", "out": Path("valid.json"), "force": False, **changes})


def back(out: str = "back", **changes: Any) -> None:
    options: dict[str, Any] = {"images": Path("obj"), "names": None, "crowd": "skip", "link": False, "force": False}
    from_coco([Path("valid.json")], out=Path(out), **{**options, **changes})


@pytest.mark.usefixtures("here")
def test_a_list_becomes_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    write_set({"7": "1 0.5 0.5 0.25 0.5\n0 0.5 0.5 1 1\n", "12": ""})
    before = snapshot(Path("obj"))
    assert run() == 0
    assert snapshot(Path("obj")) == before
    document = json.loads(Path("valid.json").read_text())
    assert [(one["id"], one["file_name"], one["width"]) for one in document["images"]] == [
        (7, "7.png", 40),
        (12, "12.png", 40),
    ]
    assert [(one["image_id"], one["category_id"], one["bbox"]) for one in document["annotations"]] == [
        (7, 2, [15, 7.5, 10, 15]),
        (7, 1, [0, 0, 40, 30]),
    ]
    assert "valid.json: 2 pictures, 2 boxes, 2 categories; file names count from obj" in capsys.readouterr().out


@pytest.mark.usefixtures("here")
def test_difficult_objects_become_crowds_and_come_back() -> None:
    write_set({"1": "0 0.5 0.5 0.5 0.5\n", "2": ""}, more="difficult = difficult.txt\n")
    Path("hard").mkdir()
    Path("difficult.txt").write_text("hard/1.png\nhard/2.png\n")
    Path("hard/1.txt").write_text("")
    Path("hard/2.txt").write_text("1 0.25 0.25 0.5 0.5\n")
    run()
    back(crowd="list")
    assert [rows(Path(f"back/obj/{name}.txt")) for name in "12"] == [[[0, 0.5, 0.5, 0.5, 0.5]], []]
    assert [rows(Path(f"back/difficult/{name}.txt")) for name in "12"] == [[], [[1, 0.25, 0.25, 0.5, 0.5]]]


@pytest.mark.usefixtures("here")
def test_what_is_wrong_in_labels_is_said_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_set({"1": "7 0.5 0.5 0.5 0.5\n0 0.5 0.5 0.5 0.5\n", "2": "", "3": ""})
    Path("obj/2.txt").unlink()
    Path("obj/3.png").write_bytes(b"no picture")
    Path("valid.txt").write_text("obj/1.png\nobj/2.png\nobj/3.png\nobj/1.png\n")
    run()
    document = json.loads(Path("valid.json").read_text())
    assert [len(document[key]) for key in ("images", "annotations")] == [2, 1]
    error = capsys.readouterr().err
    assert "obj/1.txt:1: Wrong annotation: class_id = 7" in error
    assert "Can't open label file" in error
    assert "pictures that cannot be read, left out: 1" in error
    assert "1 of 4 lines are repeated" in error


@pytest.mark.usefixtures("here")
def test_many_problems_of_a_kind_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write_set({"1": "7 0.5 0.5 0.5 0.5\n" * 12})
    run()
    assert "2 more problems of this kind: labels that were left out." in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_file_that_exists_is_kept() -> None:
    write_set({"1": ""})
    Path("valid.json").write_text("mine")
    with pytest.raises(DataError, match=r"-o valid\.json: exists"):
        run()
    assert Path("valid.json").read_text() == "mine"
    run(force=True)
    assert Path("valid.json").read_text() != "mine"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "name", ["valid.txt", "obj.data", "obj.names", "obj/1.png", "obj/1.txt", "obj/2.txt", "hard/1.txt", "train.txt"]
)
def test_no_file_of_the_set_is_replaced_even_with_force(name: str) -> None:
    write_set({"1": "", "2": ""}, more="train = train.txt\ndifficult = hard.txt\n")
    Path("train.txt").write_text("obj/1.png\n")
    Path("hard").mkdir()
    Path("hard.txt").write_text("hard/1.jpg\nhard/2.jpg\n")
    Path("obj/2.txt").unlink()  # a label file that is not there is no place for a JSON either
    before = snapshot(Path())
    with pytest.raises(DataError, match="is a file of the data set"):
        run(out=Path(name), force=True)
    assert snapshot(Path()) == before


@pytest.mark.usefixtures("here")
def test_what_is_missing_is_named() -> None:
    write_set({"1": ""})
    with pytest.raises(CfgError, match=r"no 'train = \.\.\.' line, which data to-coco -list train needs"):
        run(which="train")
    Path("obj/1.png").unlink()
    with pytest.raises(DataError, match="0 pictures can be read"):
        run()
    write_set({"1": ""})
    with pytest.raises(DataError, match="cannot be written"):
        run(out=Path("none/valid.json"))
    Path("obj.data").write_text("valid = valid.txt\n")
    with pytest.raises(CfgError, match="no 'names"):
        run()


@contextmanager
def in_new_folder() -> Iterator[None]:
    old = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(old)


BOX = st.tuples(
    st.integers(0, 1),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    st.floats(1e-3, 1),
    st.floats(1e-3, 1),
)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    pictures=st.lists(st.lists(BOX, max_size=4), min_size=1, max_size=3),
    size=st.tuples(st.integers(8, 60), st.integers(8, 60)),
)
def test_there_and_back_gives_the_same_labels(pictures: list[list[tuple[Any, ...]]], size: tuple[int, int]) -> None:
    """Within 1e-6 of each number, also for boxes that overhang; and the same list."""
    with in_new_folder():
        labels = {
            f"p{number}": "".join(f"{c} {x} {y} {w} {h}\n" for c, x, y, w, h in boxes)
            for number, boxes in enumerate(pictures)
        }
        write_set(labels, size=size)
        run()
        back()
        names = [Path(path).name for path in read_image_list(Path("valid.txt"))]
        assert read_image_list(Path("back/valid.txt")) == [f"back/obj/{name}" for name in names]
        for name in labels:
            before, after = rows(Path("obj", f"{name}.txt")), rows(Path("back/obj", f"{name}.txt"))
            np.testing.assert_allclose(np.array(after), np.array(before), rtol=1e-6)


@pytest.mark.usefixtures("here")
def test_pycocotools_reads_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    from coco_tool import COCO

    write_set({"1": "1 0.5 0.5 0.25 0.5\n0 0.5 0.5 1 1\n", "2": "", "3": "0 0.2 0.2 0.1 0.1\n"})
    run()
    read = COCO("valid.json")
    assert [len(part) for part in (read.imgs, read.anns, read.cats)] == [3, 3, 2]
    assert read.getAnnIds(imgIds=[1], catIds=[2]) == [1]
    assert read.loadAnns([1])[0]["area"] == 150
