"""Real data sets: darknet's form -> COCO's -> darknet's."""

import json
from pathlib import Path

import numpy as np
import pytest
from coco_tool import COCO
from data_sets import rows

from darkpy.cfg.datafile import read_datafile, read_names
from darkpy.cli.main import run
from darkpy.data.index import label_path, read_image_list
from darkpy.data.labels import read_labels
from darkpy.tasks.from_coco import from_coco
from darkpy.tasks.from_folders import from_folders
from darkpy.tasks.split import split
from darkpy.tasks.to_coco import to_coco

pytestmark = pytest.mark.reference


def there_and_back(folder: Path, data: str, list_key: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Convert a list to COCO's form and back into ``out``/new; return the pictures of the original list."""
    monkeypatch.chdir(folder)
    to_coco(Path(data), which=list_key, out=out / f"{list_key}.json", force=False)
    from_coco(
        [out / f"{list_key}.json"],
        images=folder / "obj",
        out=out / "new",
        names=None,
        crowd="skip",
        link=False,
        force=False,
    )
    return read_image_list(read_datafile(Path(data)).required(list_key, purpose="this test"))


def assert_same_labels(before: list[str], after: list[str], classes: int) -> int:
    """Compare the labels of two lists of the same pictures, and return the number of boxes."""
    count = 0
    assert [Path(path).name for path in after] == [Path(path).name for path in before]
    for old, new in zip(before, after, strict=True):
        found = rows(Path(label_path(new)))
        np.testing.assert_allclose(np.array(found), np.array(rows(Path(label_path(old)))), rtol=1e-6)
        assert read_labels(label_path(new), classes=classes).problems == ()
        assert Path(new).read_bytes() == Path(old).read_bytes()
        count += len(found)
    return count


def test_bccd(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = there_and_back(shared / "data" / "bccd", "bccd.data", "valid", tmp_path, monkeypatch)
    after = read_image_list(tmp_path / "new" / "valid.txt")
    assert assert_same_labels(before, after, 3) == 945
    assert read_names(tmp_path / "new" / "obj.names") == read_names(shared / "data" / "bccd" / "bccd.names")


def test_coco_ccby(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """18 sizes, upright and wide, one picture without objects; COCO's own tool reads the file."""
    before = there_and_back(shared / "data" / "coco-ccby", "coco.data", "valid", tmp_path, monkeypatch)
    after = read_image_list(tmp_path / "new" / "valid.txt")
    assert assert_same_labels(before, after, 80) == 179
    read = COCO(str(tmp_path / "valid.json"))
    assert [len(part) for part in (read.imgs, read.anns, read.cats)] == [32, 179, 80]
    assert read.imgs[8762]["file_name"] == "000000008762.jpg"


def test_split_of_bccd(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "data" / "bccd")
    split(Path("bccd.data"), out=tmp_path, valid=0.2, seed=0, group="content", force=False)
    train, valid = (read_image_list(tmp_path / f"{part}.txt") for part in ("train", "valid"))
    assert abs(len(valid) - 0.2 * 292) <= 1
    assert sorted([*train, *valid]) == sorted(read_image_list(Path("train.txt")))


@pytest.mark.slow
def test_folders_of_cut_out_cells(shared: Path, tmp_path: Path) -> None:
    """Pictures are named after their class: RBC, WBC, Platelets."""
    cells = shared / "data" / "bccd-cells"
    for part in ("train", "valid"):
        for picture in (cells / part).iterdir():
            target = tmp_path / "in" / part / picture.stem.rpartition("_")[2]
            target.mkdir(parents=True, exist_ok=True)
            (target / picture.name).write_bytes(picture.read_bytes())
    from_folders(tmp_path / "in", out=tmp_path / "new", valid=0.2, seed=0, link=False, force=False)
    assert read_names(tmp_path / "new" / "classes.names") == ["Platelets", "RBC", "WBC"]
    assert [len(read_image_list(tmp_path / "new" / f"{part}.list")) for part in ("train", "valid")] == [600, 149]


def test_the_json_has_boxes_in_the_picture(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "data" / "bccd")
    to_coco(Path("bccd.data"), which="valid", out=tmp_path / "a.json", force=False)
    document = json.loads((tmp_path / "a.json").read_text())
    boxes = np.array([one["bbox"] for one in document["annotations"]])
    assert {(one["width"], one["height"]) for one in document["images"]} == {(640, 480)}
    assert (boxes[:, :2] >= -0.01).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= [640.01, 480.01]).all()
    np.testing.assert_allclose(boxes, boxes.round(), atol=0.002)  # marked in whole pixels, kept with six decimals


@pytest.mark.slow
def test_data_check_finds_nothing_in_a_converted_set(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bccd = shared / "data" / "bccd"
    monkeypatch.chdir(bccd)
    for key in ("train", "valid"):
        to_coco(Path("bccd.data"), which=key, out=tmp_path / f"{key}.json", force=False)
    monkeypatch.chdir(tmp_path)
    words = "data from-coco train.json valid.json -o set -images".split()
    assert run([*words, str(bccd / "obj")]) == 0
    assert run("data check set/obj.data".split()) == 0
    assert "0 errors, 0 warnings, 0 notes" in capsys.readouterr().out
