from pathlib import Path

import pytest
from data_sets import picture
from hypothesis import given
from hypothesis import strategies as st

from darkpy.conversion.folders import class_folders, matches, read_folders
from darkpy.conversion.sample import Tally
from darkpy.errors import DataError


def read(folder: Path, *names: str) -> tuple[dict[str, list[tuple[str, str]]], Tally]:
    for name in names:
        picture(folder / name)
    tally = Tally()
    found = read_folders(folder, tally)
    return {part: [(one.path.name, one.class_name) for one in pictures] for part, pictures in found.items()}, tally


@pytest.mark.parametrize("valid", ["val", "valid", "Validation"])
def test_parts(valid: str, tmp_path: Path) -> None:
    found, _ = read(tmp_path, "train/cat/1.jpg", "train/dog/a/2.jpg", f"{valid}/cat/3.jpg", "test/dog/4.jpg")
    assert found == {
        "train": [("1.jpg", "cat"), ("2.jpg", "dog")],
        "valid": [("3.jpg", "cat")],
        "test": [("4.jpg", "dog")],
    }


def test_classes_alone(tmp_path: Path) -> None:
    assert read(tmp_path, "cat/1.jpg", "dog/2.jpg")[0] == {"all": [("1.jpg", "cat"), ("2.jpg", "dog")]}


def test_a_class_called_train_is_a_class(tmp_path: Path) -> None:
    assert read(tmp_path, "bus/1.jpg", "train/2.jpg")[0] == {"all": [("1.jpg", "bus"), ("2.jpg", "train")]}


def test_what_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "train" / "empty").mkdir(parents=True)
    found, tally = read(tmp_path, "train/cat/1.jpg", "train/.x/2.jpg", "train/3.jpg", "more/cat/4.jpg", "val/cat/5.jpg")
    assert found == {"train": [("1.jpg", "cat")], "valid": [("5.jpg", "cat")]}
    assert tally["folders without a picture, no classes"] == 1
    assert tally["folders beside train, left out"] == 1


def test_nothing_to_read(tmp_path: Path) -> None:
    picture(tmp_path / "d" / "1.jpg")
    with pytest.raises(
        DataError, match=r"d: 1 picture, but none in a class's folder\. If d is a class, name the folder"
    ):
        read_folders(tmp_path / "d", Tally())
    (tmp_path / "empty" / "cat").mkdir(parents=True)
    with pytest.raises(DataError, match=r"0 pictures in CLASS/ or train/CLASS/"):
        read_folders(tmp_path / "empty", Tally())
    for path in (tmp_path / "none", tmp_path / "d" / "1.jpg"):
        with pytest.raises(DataError, match="Name the folder that holds the classes' folders"):
            read_folders(path, Tally())


@pytest.mark.parametrize(
    ("names", "parent", "folders"),
    [
        (["cat", "wildcat"], "data/cathy/train", ["cat", "wildcat"]),
        (["cat", "dog"], "data/cat/train", ["cat_", "dog"]),
        (["train", "train_"], "data/train", ["train_", "train__"]),
        (["Cat", "cat"], "train", ["Cat", "cat_"]),
        ([" cat.", "cat"], "train", ["cat", "cat_"]),
        (["..", "."], "train", ["class", "class_"]),
    ],
)
def test_folders_of_classes(names: list[str], parent: str, folders: list[str]) -> None:
    assert list(class_folders(names, [parent]).values()) == folders


@given(
    names=st.lists(st.text("ab _", min_size=1, max_size=3), min_size=1, max_size=6, unique=True),
    parents=st.lists(st.lists(st.text("ab _", min_size=1, max_size=3), max_size=3).map("/".join), max_size=2),
    file=st.text("ab _", min_size=1, max_size=4),
)
def test_darknet_finds_just_the_class_of_the_folder(names: list[str], parents: list[str], file: str) -> None:
    folders = class_folders(names, parents)
    labels = [f"/{folder}/" for folder in folders.values()]
    for number, folder in enumerate(folders.values()):
        for parent in parents:
            assert matches(f"{parent}/{folder}/{file}.jpg", labels) == [number]
