"""The JSON of -out (darkpy/report/detections_json.py)."""

import json
from pathlib import Path

import pytest
import torch

from darkpy.errors import DataError
from darkpy.report.detections_json import JsonFile, picture_json
from darkpy.structures import Detections

NAMES = ["cat", "traffic light"]
BOX = (0.5, 0.25, 0.125, -0.5)


def found(*rows: tuple[float, float]) -> Detections:
    """Make detections of two class probabilities each, all with the same box."""
    probabilities = torch.tensor(rows, dtype=torch.float32).reshape(len(rows), 2)
    return Detections(torch.tensor([BOX] * len(rows)).reshape(-1, 4), torch.ones(len(rows)), probabilities)


def test_bytes_are_darknets() -> None:
    where = '"relative_coordinates":{"center_x":0.500000, "center_y":0.250000, "width":0.125000, "height":-0.500000}'
    assert picture_json(3, "a/b.jpg", found((0.5, 0.25), (0.0, 0.75)), names=NAMES) == (
        '{\n "frame_id":3, \n "filename":"a/b.jpg", \n "objects": [ \n'
        f'  {{"class_id":0, "name":"cat", {where}, "confidence":0.500000}}, \n'
        f'  {{"class_id":1, "name":"traffic light", {where}, "confidence":0.250000}}, \n'
        f'  {{"class_id":1, "name":"traffic light", {where}, "confidence":0.750000}}\n'
        " ] \n}"
    )


def test_no_objects() -> None:
    text = picture_json(1, "a.jpg", found(), names=NAMES)
    assert text == '{\n "frame_id":1, \n "filename":"a.jpg", \n "objects": [ \n\n ] \n}'


def test_weak_and_hidden_ones_are_left_out() -> None:
    text = picture_json(1, "a.jpg", found((0.005, 0.9), (0.006, 0.0)), names=["cat", "dont_show"])
    assert [entry["confidence"] for entry in json.loads(text)["objects"]] == [0.006]


def test_odd_names_are_escaped() -> None:
    text = picture_json(1, 'C:\\new "x".jpg', found((0.9, 0.0)), names=['a "b"\t', "x"])
    read = json.loads(text)
    assert read["filename"] == 'C:\\new "x".jpg'
    assert read["objects"][0]["name"] == 'a "b"\t'


def test_file_is_an_array(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with JsonFile(path) as file:
        file.add("a.jpg", found((0.9, 0.0)), NAMES)
        file.add("bücher\udce9.jpg", found(), NAMES)
    raw = path.read_bytes().decode("utf-8")
    assert raw.startswith("[\n{\n")
    assert "}, \n{\n" in raw
    assert raw.endswith(" ] \n}\n]")
    assert [(one["frame_id"], one["filename"]) for one in json.loads(raw)] == [(1, "a.jpg"), (2, "bücher\udce9.jpg")]


def test_file_without_pictures(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with JsonFile(path):
        pass
    assert path.read_bytes() == b"[\n\n]"


def test_file_is_whole_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "out.json"

    def interrupted() -> None:
        with JsonFile(path) as file:
            file.add("a.jpg", found((0.9, 0.0)), NAMES)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 1


def test_bad_path_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"-out .*missing.out\.json: fopen failed: No such file"):
        JsonFile(tmp_path / "missing" / "out.json")
