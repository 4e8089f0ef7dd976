"""`data split` (darkpy/tasks/split.py)."""

from pathlib import Path
from typing import Any

import pytest
from data_sets import picture, snapshot

from darkpy.cfg.datafile import read_datafile
from darkpy.data.index import read_image_list
from darkpy.errors import CfgError, DataError
from darkpy.tasks.split import split


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(source: str = "obj.data", **changes: Any) -> tuple[list[str], list[str]]:
    options: dict[str, Any] = {"out": Path("new"), "valid": None, "seed": None, "group": "content", "force": False}
    options.update(changes)
    assert split(Path(source), **options) == 0
    train, valid = (read_image_list(options["out"] / f"{part}.txt") for part in ("train", "valid"))
    return train, valid


def write_set(count: int = 20, *, rare: tuple[int, ...] = (3, 4), folder: str = "obj") -> list[str]:
    """Write pictures of class 0, some of class 1 too, their list, names and obj.data."""
    paths = [f"{folder}/{number}.png" for number in range(count)]
    for number, path in enumerate(paths):
        picture(Path(path), shade=number)
        box = " .5 .5 .2 .2\n"
        Path(path).with_suffix(".txt").write_text(f"0{box}" + (f"1{box}" if number in rare else ""))
    Path("train.txt").write_text("".join(f"{path}\n" for path in paths))
    Path("obj.names").write_text("cat\ndog\n")
    Path("obj.data").write_text("train = train.txt\nclasses = 2\nnames = obj.names\nbackup = backup\n")
    return paths


def test_a_datafile_becomes_one_with_two_lists(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_set()
    before = snapshot(Path())
    train, valid = run()
    assert {key: what for key, what in snapshot(Path()).items() if not key.startswith("new")} == before
    assert sorted([*train, *valid]) == sorted(paths)
    assert [path for path in paths if path in train] == train
    assert len(valid) == 4
    assert len({"obj/3.png", "obj/4.png"} & set(valid)) == 1
    assert Path("new/obj.data").read_text() == (
        "classes = 2\ntrain = new/train.txt\nvalid = new/valid.txt\nnames = obj.names\nbackup = backup\n"
    )
    assert read_datafile(Path("new/obj.data")).notes == ()
    captured = capsys.readouterr()
    assert captured.out == "new/train.txt: 16 pictures\nnew/valid.txt: 4 pictures\nnew/obj.data\n"
    assert captured.err == ""


@pytest.mark.parametrize("source", ["train.txt", "obj"])
def test_a_list_and_a_folder(source: str) -> None:
    paths = write_set()
    train, valid = run(source)
    assert sorted([*train, *valid]) == sorted(paths)
    assert not Path("new/obj.data").exists()


def test_a_class_of_one_picture_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    write_set(rare=(3,))
    run()
    assert "valid has no picture of class 1 (dog): too few pictures or groups have it." in capsys.readouterr().err


def test_the_same_content_stays_together(capsys: pytest.CaptureFixture[str]) -> None:
    write_set(10)
    for number in range(1, 5):
        Path(f"obj/{number}.png").write_bytes(Path("obj/0.png").read_bytes())
    same = {f"obj/{number}.png" for number in range(5)}
    for seed in range(5):
        train, _ = run(seed=seed, force=True)
        assert len(same & set(train)) in (0, 5)
    assert "4 pictures have the same content as another" in capsys.readouterr().err


def test_pictures_that_share_a_label_file_stay_together() -> None:
    paths = write_set(6)
    for path in paths:
        picture(Path(path).with_suffix(".jpg"), shade=int(Path(path).stem) * 30)
    Path("train.txt").write_text("".join(f"{path}\n{Path(path).with_suffix('.jpg').as_posix()}\n" for path in paths))
    train, valid = run("train.txt", valid=0.5)
    assert not {Path(path).stem for path in train} & {Path(path).stem for path in valid}


def test_folders_can_stay_together() -> None:
    paths = [path for folder in "abcde" for path in write_set(4, folder=folder, rare=())]
    Path("train.txt").write_text("".join(f"{path}\n" for path in paths))
    for number, path in enumerate(paths):
        picture(Path(path), shade=number)
    train, valid = run(group="folder")
    assert len(valid) == 4
    assert not {Path(path).parent for path in train} & {Path(path).parent for path in valid}


def test_one_folder_alone_cannot_be_split() -> None:
    write_set()
    with pytest.raises(DataError, match=r"obj\.data: 1 group of pictures, but a split needs 2"):
        run(group="folder")


def test_a_classifiers_list_is_split_by_the_labels_in_its_paths() -> None:
    paths = [f"c/{name}/{number}.png" for name in ("cat", "dog") for number in range(10)]
    for number, path in enumerate(paths):
        picture(Path(path), shade=number)
    Path("train.list").write_text("".join(f"{path}\n" for path in paths))
    Path("labels.txt").write_text("/cat/\n/dog/\n")
    Path("obj.data").write_text("classes = 2\ntrain = train.list\nlabels = labels.txt\n")
    _, valid = run()
    assert [sum(name in path for path in valid) for name in ("cat", "dog")] == [2, 2]


def test_missing_labels_and_repeated_lines(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_set(5)
    for path in paths:
        Path(path).with_suffix(".txt").unlink()
    Path("train.txt").write_text("".join(f"{path}\n" for path in [*paths, paths[0]]))
    train, valid = run("train.txt")
    assert (len(train), len(valid)) == (4, 1)
    error = capsys.readouterr().err
    assert "train.txt: 1 lines are repeated; each picture is taken once." in error
    assert "No label file has an object (looked for obj/0.txt)" in error


def test_a_valid_list_that_exists_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_set()
    Path("obj.data").write_text("train = train.txt\nvalid = other.txt\ndifficult = more.txt\n")
    train, valid = run()
    assert len(train) + len(valid) == len(paths)
    assert "obj.data:2: valid: only the train list is shared out" in capsys.readouterr().err
    assert Path("new/obj.data").read_text() == "train = new/train.txt\nvalid = new/valid.txt\n"


def test_a_names_file_beside_the_data_file_is_found_from_the_new_one() -> None:
    write_set()
    Path("cfg").mkdir()
    Path("obj.names").rename("cfg/obj.names")
    Path("obj.data").rename("cfg/obj.data")
    run("cfg/obj.data")
    data = read_datafile(Path("new/obj.data"))
    assert data.required("names", purpose="").read_text() == "cat\ndog\n"
    assert data.text("backup") == "backup"


def test_files_that_exist_are_kept() -> None:
    write_set()
    Path("new").mkdir()
    Path("new/valid.txt").write_text("mine")
    with pytest.raises(DataError, match=r"-o new: new/valid\.txt: exists"):
        run()
    assert [path.name for path in Path("new").iterdir()] == ["valid.txt"]
    run(force=True)
    assert Path("new/valid.txt").read_text() != "mine"


@pytest.mark.parametrize("source", ["obj.data", "train.txt", "other.data"])
def test_the_source_is_never_replaced(source: str) -> None:
    write_set()
    Path("other.data").write_bytes(Path("obj.data").read_bytes())
    before = snapshot(Path())
    with pytest.raises(DataError, match="is a file of the data set"):
        run(source, out=Path(), force=True)
    assert snapshot(Path()) == before


def test_what_cannot_be_split_is_named() -> None:
    write_set(1, rare=())
    with pytest.raises(DataError, match="1 group of pictures"):
        run()
    Path("empty").mkdir()
    with pytest.raises(DataError, match="empty: 0 pictures in the folder"):
        run("empty")
    with pytest.raises(CfgError, match=r"none\.txt"):
        run("none.txt")
    with pytest.raises(DataError, match=r"-o obj\.names: cannot be made"):
        run(out=Path("obj.names"))
    Path("obj.data").write_text("valid = train.txt\n")
    with pytest.raises(CfgError, match=r"no 'train = \.\.\.' line, which data split needs"):
        run()


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("obj.cfg", "\n[net]\nbatch=1\n", r"^obj\.cfg:2: '\[net\]' is a section, so this is a cfg, not a list\."),
        (
            "obj.names",
            "cat\ndog\n",
            r"^obj\.names:1: 'cat' is not there, nor any other of 2 lines; a split needs a list",
        ),
    ],
)
def test_what_is_no_list_is_refused_and_nothing_written(name: str, text: str, rule: str) -> None:
    Path(name).write_text(text)
    with pytest.raises(DataError, match=rule):
        run(name)
    assert not Path("new").exists()


def test_pictures_that_are_not_there_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_set()
    Path("train.txt").write_text("\n" + "".join(f"{path}\n" for path in paths))
    Path(paths[3]).unlink()
    Path(paths[5]).unlink()
    run()
    assert "2 of 20 pictures are not there, the first: train.txt:5: obj/3.png\n" in capsys.readouterr().err


def test_repeated_lines_are_those_of_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_set()
    Path("train.txt").write_text("".join(f"{path}\n" for path in [*paths, *paths[:2]]))
    run()
    assert "train.txt: 2 lines are repeated; each picture is taken once.\n" in capsys.readouterr().err
