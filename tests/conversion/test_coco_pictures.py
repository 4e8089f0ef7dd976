from pathlib import Path

import pytest
from data_sets import picture

from darkpy.conversion.coco_pictures import CocoPictures


@pytest.mark.parametrize(
    "place", ["a.jpg", "images/a.jpg", "train2017/a.jpg", "images/train2017/a.jpg", "annotations/a.jpg"]
)
def test_usual_places(place: str, tmp_path: Path) -> None:
    wanted = picture(tmp_path / place)
    found = CocoPictures(tmp_path / "annotations" / "x.json", None, name="train2017").find("a.jpg")
    assert found is not None
    assert found.samefile(wanted)


@pytest.mark.parametrize("name", ["sub/a.jpg", r"sub\a.jpg", "C:/old/a.jpg", "/nowhere/a.jpg"])
def test_names_with_folders(name: str, tmp_path: Path) -> None:
    wanted = picture(tmp_path / ("sub/a.jpg" if name.startswith("sub") else "a.jpg"))
    assert CocoPictures(tmp_path / "x.json", tmp_path, name="x").find(name) == wanted


def test_the_whole_name_comes_first(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    wanted = picture(tmp_path / "images" / "sub" / "a.jpg")
    assert CocoPictures(tmp_path / "x.json", tmp_path, name="x").find("sub/a.jpg") == wanted


def test_a_named_folder_is_the_only_one(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    assert CocoPictures(tmp_path / "x.json", tmp_path / "other", name="x").find("a.jpg") is None


@pytest.mark.parametrize("name", ["", ".", "a\0b", "x" * 5000, "sub"])
def test_names_of_no_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert CocoPictures(tmp_path / "x.json", None, name="x").find(name) is None
