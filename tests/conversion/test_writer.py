import os
from pathlib import Path

import pytest
from data_sets import picture, snapshot

from darkpy.conversion.writer import (
    LabelledPicture,
    check_out,
    data_text,
    list_text,
    make_folders,
    name_pictures,
    names_text,
    put_picture,
    put_text,
    write_apart,
    write_picture,
)
from darkpy.errors import DataError


def test_one_picture_in_two_lists_is_one_file() -> None:
    a, b = LabelledPicture(Path("x/a.jpg"), "0 1"), LabelledPicture(Path("y/a.jpg"), "0 1")
    other = LabelledPicture(Path("x/a.jpg"), "other labels")
    named = name_pictures({"train": [a, b], "valid": [a, other]})
    assert [one.name for one in named["train"]] == ["a.jpg", "a_2.jpg"]
    assert [one.name for one in named["valid"]] == ["a.jpg", "a_3.jpg"]


def test_texts() -> None:
    named = name_pictures({"train": [LabelledPicture(Path("x/a.jpg"), "")]})["train"]
    assert list_text(named, Path("data") / "set") == "data/set/obj/a.jpg\n"
    assert names_text(["cat", "traffic light"]) == "cat\ntraffic light\n"
    assert data_text({"classes": 2, "train": "a b.txt"}) == "classes = 2\ntrain = a b.txt\n"


@pytest.mark.parametrize("link", [False, True])
def test_a_picture_with_its_label(link: bool, tmp_path: Path) -> None:
    source, out = picture(tmp_path / "in" / "a.jpg"), tmp_path / "out"
    before = snapshot(tmp_path / "in")
    (named,) = name_pictures({"train": [LabelledPicture(source, "0 .5 .5 .1 .1\n")]})["train"]
    make_folders(out, "obj")
    assert write_picture(named, out, link=link) == link
    assert (out / "obj" / "a.jpg").samefile(source) == link
    assert (out / "obj" / "a.jpg").read_bytes() == source.read_bytes()
    assert (out / "obj" / "a.txt").read_bytes() == b"0 .5 .5 .1 .1\n"
    assert sorted(os.listdir(out / "obj")) == ["a.jpg", "a.txt"]
    assert snapshot(tmp_path / "in") == before


def test_a_copy_over_a_link_leaves_the_original(tmp_path: Path) -> None:
    """A file that is written into would change the original through its link."""
    original, other = picture(tmp_path / "a.jpg", shade=1), picture(tmp_path / "b.jpg", shade=200)
    before = snapshot(tmp_path)
    assert put_picture(original, tmp_path / "out.jpg", link=True)
    assert not put_picture(other, tmp_path / "out.jpg", link=False)
    put_picture(original, tmp_path / "text", link=True)
    put_text(tmp_path / "text", "new")
    assert {path: what for path, what in snapshot(tmp_path).items() if path in before} == before
    assert (tmp_path / "out.jpg").read_bytes() == other.read_bytes()


def test_a_link_to_a_link_is_one_to_the_file(tmp_path: Path) -> None:
    source = picture(tmp_path / "a.jpg")
    try:
        (tmp_path / "soft.jpg").symlink_to(source)
    except OSError:
        pytest.skip("the system refuses symbolic links")
    put_picture(tmp_path / "soft.jpg", tmp_path / "b.jpg", link=True)
    assert not (tmp_path / "b.jpg").is_symlink()
    assert (tmp_path / "b.jpg").samefile(source)


def test_no_links_here_makes_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links")

    monkeypatch.setattr(os, "link", refuse)
    source = picture(tmp_path / "a.jpg")
    assert not put_picture(source, tmp_path / "b.jpg", link=True)
    assert (tmp_path / "b.jpg").read_bytes() == source.read_bytes()


def test_a_copy_of_a_read_only_picture_can_be_deleted(tmp_path: Path) -> None:
    source = picture(tmp_path / "a.jpg")
    source.chmod(0o444)
    put_picture(source, tmp_path / "b.jpg", link=False)
    assert (tmp_path / "b.jpg").stat().st_mode & 0o200


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.jpg: cannot be written: No such file"):
        put_picture(tmp_path / "none.jpg", tmp_path / "b.jpg", link=False)
    with pytest.raises(DataError, match=r"a\.txt: cannot be written"):
        put_text(tmp_path / "none" / "a.txt", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder: cannot be written"):
        put_text(tmp_path / "folder", "")
    assert os.listdir(tmp_path) == ["folder"]


def test_odd_bytes_of_names_come_out_as_they_were(tmp_path: Path) -> None:
    put_text(tmp_path / "a.txt", "a\udce4.jpg\n")
    assert (tmp_path / "a.txt").read_bytes() == b"a\xe4.jpg\n"


def test_apart_labels_have_a_line_for_each_line_of_the_list(tmp_path: Path) -> None:
    pictures = [LabelledPicture(Path("a.jpg"), "", "0 1\n"), LabelledPicture(Path("b.jpg"), "1 1\n")]
    make_folders(tmp_path, "difficult")
    write_apart(name_pictures({"valid": pictures})["valid"], tmp_path)
    prefix = tmp_path.as_posix()
    assert (tmp_path / "difficult.txt").read_text() == f"{prefix}/difficult/a.jpg\n{prefix}/difficult/b.jpg\n"
    assert (tmp_path / "difficult" / "a.txt").read_text() == "0 1\n"
    assert (tmp_path / "difficult" / "b.txt").read_text() == ""


def test_a_new_or_empty_folder_is_taken(tmp_path: Path) -> None:
    check_out(tmp_path / "a" / "b", sources=[tmp_path], force=False)
    check_out(tmp_path / "a" / "b", sources=[tmp_path], force=False)
    (tmp_path / "a" / "b" / "x").touch()
    check_out(tmp_path / "a" / "b", sources=[tmp_path], force=True)


def test_a_full_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(DataError, match=r"the folder is not empty\. Name a new one, or add -force"):
        check_out(tmp_path, sources=[], force=False)


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    for path in (tmp_path / "x", tmp_path / "x" / "y", Path("x" * 5000)):
        with pytest.raises(DataError, match="cannot be made or read"):
            check_out(path, sources=[], force=True)
    with pytest.raises(DataError, match="cannot make"):
        make_folders(tmp_path, "x")


@pytest.mark.parametrize("source", ["out/obj", "out/difficult", "out/../out/obj", "alias"])
def test_originals_in_the_way_are_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "out" / "obj").mkdir(parents=True)
    (tmp_path / "out" / "difficult").mkdir()
    (tmp_path / "alias").symlink_to("out/obj", target_is_directory=True)
    with pytest.raises(DataError, match="holds pictures that are to be converted"):
        check_out(tmp_path / "out", sources=[tmp_path / source], force=True)


@pytest.mark.parametrize("name", ["a #b", " a", "a\nb"])
def test_names_that_darknets_files_cannot_hold(name: str) -> None:
    with pytest.raises(DataError, match=r"no list or \.data file can hold this path"):
        check_out(Path(name), sources=[], force=False)


@pytest.mark.parametrize("name", ["VOC/JPEGImages/new", "x/images/train2017/new"])
def test_folders_for_which_darknet_looks_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"darknet looks for the label in .*labels.*/obj/1\.txt"):
        check_out(tmp_path / name, sources=[], force=False)
