from pathlib import Path

import pytest
from data_sets import annotation, picture, thing, voc

from darkpy.conversion.sample import Tally
from darkpy.conversion.voc_folder import PictureFinder, VocFolder, share, voc_folders
from darkpy.errors import DataError

CAT = thing("cat", 1, 1, 9, 9)


def shared(*folders: Path) -> tuple[dict[str, list[str]], Tally]:
    tally = Tally()
    lists = share([one for folder in folders for one in voc_folders(folder, tally)], tally)
    return {key: [path.stem for path in paths] for key, paths in lists.items()}, tally


def five(root: Path, **sets: str) -> Path:
    return voc(root, {name: [CAT] for name in "abcde"}, {name: ids.split() for name, ids in sets.items()})


@pytest.mark.parametrize(
    ("sets", "train", "valid"),
    [
        ({"train": "a b", "val": "c", "trainval": "a b c", "test": "d e"}, "abc", "de"),
        ({"train": "a b", "val": "c d"}, "ab", "cd"),
        ({"trainval": "a b c", "test": "d"}, "abc", "d"),
        ({"trainval": "a b c", "val": "c"}, "ab", "c"),
        ({"trainval": "b a"}, "ba", ""),
        ({}, "abcde", ""),
        ({"train": "a", "val": "b", "test": ""}, "a", "b"),
    ],
)
def test_which_sets_are_train_and_valid(sets: dict[str, str], train: str, valid: str, tmp_path: Path) -> None:
    assert shared(five(tmp_path, **sets))[0] == {"train": list(train), "valid": list(valid)}


def test_with_one_test_set_all_trainval_is_train(tmp_path: Path) -> None:
    """VOC 2007 has a test set, 2012 has none with annotations."""
    first = five(tmp_path / "VOC2007", train="a", val="b", test="c")
    five(tmp_path / "VOC2012", train="d", val="e", test="x y")
    lists, tally = shared(tmp_path)
    assert lists == {"train": ["a", "b", "d", "e"], "valid": ["c"]}
    assert tally["ids of ImageSets/Main without an annotation, left out"] == 2
    assert shared(first)[0] == {"train": ["a", "b"], "valid": ["c"]}


def test_annotations_in_no_set_are_counted(tmp_path: Path) -> None:
    tally = shared(five(tmp_path, train="a b", val="c"))[1]
    assert tally["annotations in no list of ImageSets/Main, left out"] == 2
    assert tally.lines()[-1].endswith("d.xml)")


@pytest.mark.parametrize(
    ("sets", "count"),
    [
        ({"train": "a b c", "val": "b c d"}, 2),
        ({"trainval": "a b", "test": "b"}, 1),
        ({"trainval": "a b", "val": "b"}, 0),
        ({"train": "a", "val": "b", "trainval": "a b"}, 0),
    ],
)
def test_annotations_in_both_lists_are_valid_and_counted(sets: dict[str, str], count: int, tmp_path: Path) -> None:
    lists, tally = shared(five(tmp_path, **sets))
    assert not set(lists["train"]) & set(lists["valid"])
    assert tally["annotations in the sets of train and valid both, taken for valid"] == count
    assert count == 0 or "b.xml" in "".join(tally.lines())


def test_lines_of_a_set(tmp_path: Path) -> None:
    """A class's mark behind the id, an extension, blank lines, CRLF, an id twice."""
    root = five(tmp_path, train="a")
    (root / "ImageSets" / "Main" / "train.txt").write_bytes(b"b  -1\r\n\r\nc.jpg\r\nb 1\r\nz\r\n")
    lists, tally = shared(root)
    assert lists["train"] == ["b", "c"]
    assert tally.lines()[0].endswith("train.txt:5)")


def test_ids_with_blanks(tmp_path: Path) -> None:
    assert shared(voc(tmp_path, {"a b": [CAT]}, {"train": ["a b"]}))[0]["train"] == ["a b"]


def test_hidden_files_are_no_annotations(tmp_path: Path) -> None:
    annotation(tmp_path / "a.xml", CAT)
    annotation(tmp_path / "._a.xml", CAT)
    annotation(tmp_path / ".old" / "b.XML", CAT)
    assert shared(tmp_path)[0]["train"] == ["a"]


def test_equal_names_in_two_folders_are_two(tmp_path: Path) -> None:
    annotation(tmp_path / "x" / "a.xml", CAT)
    annotation(tmp_path / "y" / "a.xml", CAT)
    assert shared(tmp_path)[0]["train"] == ["a", "a"]


def test_folders_without_annotations(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no \.xml file in it or below"):
        shared(tmp_path)
    with pytest.raises(DataError, match="Name a folder with XML annotations"):
        shared(tmp_path / "none")
    with pytest.raises(DataError, match="Name a folder with XML annotations"):
        shared(picture(tmp_path / "a.jpg"))


@pytest.mark.parametrize(
    ("xml", "image", "filename"),
    [
        ("a.xml", "a.jpg", ""),
        ("a.xml", "a.PNG", "other.jpg"),
        ("Annotations/a.xml", "JPEGImages/a.jpg", ""),
        ("annotations/a.xml", "images/a.bmp", ""),
        ("annotations/sub/a.xml", "Images/sub/a.jpg", ""),
        ("annotations/sub/a.xml", "images/a.jpg", ""),
        ("Annotations/a.xml", "Annotations/a.jpg", ""),
        ("xml/a.xml", "img/a.jpg", ""),
        ("a.xml", "images/b.jpg", r"C:\old\b.jpg"),
        ("a.xml", "b.png", "/home/me/b.jpg"),
    ],
)
def test_where_pictures_are_found(xml: str, image: str, filename: str, tmp_path: Path) -> None:
    path, wanted = annotation(tmp_path / xml, CAT), picture(tmp_path / image)
    picture(tmp_path / "elsewhere" / "a.jpg")
    assert PictureFinder().find(path, root=tmp_path, filename=filename) == wanted


def test_no_picture(tmp_path: Path) -> None:
    path = annotation(tmp_path / "a.xml", CAT)
    assert PictureFinder().find(path, root=tmp_path, filename="") is None
    assert VocFolder(tmp_path, {"a": path}, {}).sets == {}


def test_the_first_of_two_extensions(tmp_path: Path) -> None:
    path, wanted = annotation(tmp_path / "a.xml", CAT), picture(tmp_path / "a.jpg")
    picture(tmp_path / "a.png")
    assert PictureFinder().find(path, root=tmp_path, filename="") == wanted
