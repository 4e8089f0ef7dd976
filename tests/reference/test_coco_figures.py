"""`detector map -coco` and the file of `detector valid` against pycocotools, on 32 COCO pictures."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import cv2
import pytest
from coco_tool import score
from commands import MAP_OPTIONS, RUN_OPTIONS

from darkpy.data.index import label_path, read_image_list
from darkpy.data.labels import read_labels
from darkpy.report.result_rows import COCO_CATEGORIES, coco_image_id
from darkpy.tasks.map import measure
from darkpy.tasks.valid import validate

pytestmark = [pytest.mark.reference, pytest.mark.slow]


def dataset(pictures: list[str]) -> dict[str, Any]:
    """Return the label files as a COCO data set; an object's area is that of its box."""
    images, objects = [], []
    for path in pictures:
        height, width = cv2.imread(path).shape[:2]
        images.append({"id": coco_image_id(path), "width": width, "height": height})
        for x, y, w, h, class_id in read_labels(label_path(path), classes=80).truths.astype(float):
            box = [(x - w / 2) * width, (y - h / 2) * height, w * width, h * height]
            objects.append({"id": len(objects) + 1, "image_id": images[-1]["id"], "bbox": box, "iscrowd": 0,
                            "area": box[2] * box[3], "category_id": COCO_CATEGORIES[int(class_id)]})  # fmt: skip
    return {"images": images, "annotations": objects, "categories": [{"id": number} for number in COCO_CATEGORIES]}


@pytest.mark.parametrize("net", ["yolo-fastest/yolo-fastest-1.1-xl", "mobilenet-yolo/MobileNetV2-YOLOv3-Nano-coco"])
def test_both_ways_agree(
    net: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has rounded digits: within 0.001, half of which the three printed decimals take."""
    models = (shared / "models").resolve()
    monkeypatch.chdir(shared / "data/coco-ccby")
    data = tmp_path / "coco.data"
    data.write_text(f"valid = all.txt\nnames = coco.names\neval = coco\nresults = {tmp_path}\n")
    network = data, models / f"{net}.cfg", models / f"{net}.weights"
    assert measure(*network, **MAP_OPTIONS, coco=True) == 0
    printed = [float(value) for value in re.findall(r"\] = (-?\d\.\d{3})\n", capsys.readouterr().out)]
    assert validate(*network, out=None, **RUN_OPTIONS) == 0
    found = json.loads((tmp_path / "coco_results.json").read_text())
    with contextlib.redirect_stdout(io.StringIO()):
        expected = score(dataset(read_image_list(Path("all.txt"))), found)
    assert len(printed) == 12
    assert printed == pytest.approx(expected, abs=1e-3)
    assert printed[0] > 0.2
