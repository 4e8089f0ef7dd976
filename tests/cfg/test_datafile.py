""".data and .names files."""

from pathlib import Path

import pytest

from darkpy.cfg.datafile import DataFile, read_datafile, read_names
from darkpy.errors import CfgError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str) -> DataFile:
    path = folder / "obj.data"
    path.write_bytes(text.encode())
    return read_datafile(path)


def test_values_lose_the_blanks_around_them_and_keep_those_inside(tmp_path: Path) -> None:
    data = write(tmp_path, "classes= 3\n  train  = a b/train 1.txt \n")
    assert (data.text("classes"), data.text("train"), data.text("valid")) == ("3", "a b/train 1.txt", None)


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a01_a02_line_ends_and_byte_order_marks_change_nothing(tmp_path: Path, ending: str, mark: str) -> None:
    """A01, A02: no CR in a path, no mark in a key."""
    data = write(tmp_path, f"{mark}train = t.txt{ending}names = n.names{ending}")
    assert data.values == {"train": ("t.txt", 1), "names": ("n.names", 2)}
    assert data.notes == ()


def test_comments_are_skipped_and_cut_off(tmp_path: Path) -> None:
    data = write(tmp_path, "# one\n;two=2\n\ntrain = t.txt # the list\nvalid = v#1.txt\n")
    assert (data.text("train"), data.text("valid")) == ("t.txt", "v#1.txt")


def test_first_of_equal_keys_wins_and_is_noted(tmp_path: Path) -> None:
    data = write(tmp_path, "train=a\nvalid=b\ntrain=c\n")
    assert data.text("train") == "a"
    assert data.notes == (f"{data.path}:3: 'train' stands in line 1 already; the first counts.",)


@pytest.mark.parametrize(("line", "note"), [
    ("nmaes=x", "Unused field: 'nmaes = x'. Did you mean 'names'?"),
    ("zzz=x", "Unused field: 'zzz = x'."),
    ("names", "'names' has no value, so the line is dropped."),
    ("names = ", "'names =' has no value, so the line is dropped."),
    ("names = # none", "'names = # none' has no value, so the line is dropped."),
])  # fmt: skip
def test_odd_lines_are_noted(tmp_path: Path, line: str, note: str) -> None:
    data = write(tmp_path, f"classes=2\n{line}\n")
    assert data.notes == (f"{data.path}:2: {note}",)
    assert data.text("names") is None


def test_a_cfg_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CfgError, match=r"obj\.data:2: '\[net\]' is a section, so this is a cfg, not a \.data file\.$"):
        write(tmp_path, "# x\n[net]\nbatch=1\n")


def test_c22_missing_data_file_offers_the_longer_name(tmp_path: Path) -> None:
    """C22: asked for obj.data, only obj.data.txt exists."""
    (tmp_path / "obj.data.txt").touch()
    with pytest.raises(
        CfgError, match=r"Couldn't open file: .*obj\.data: not found\. Did you mean .*obj\.data\.txt\?$"
    ):
        read_datafile(tmp_path / "obj.data")


def test_paths_count_from_the_current_folder_first(here: Path) -> None:
    data_folder = here / "set"
    data_folder.mkdir()
    data = write(data_folder, "train = t.txt\nvalid = v.txt\nbackup = out\n")
    for name in ("t.txt", "set/t.txt", "set/v.txt"):
        (here / name).touch()
    assert data.file("train") == Path("t.txt")  # both exist
    assert data.file("valid") == data_folder / "v.txt"  # only beside the .data file
    assert data.file("backup") == Path("out")  # neither exists: the current folder
    assert data.file("names") is None


def test_a_path_may_begin_with_the_home_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))
    data = write(here, "train = ~/t.txt\nvalid = ~nobody-of-this-name.txt\n")
    assert data.file("train") == here / "t.txt"
    assert data.file("valid") == Path("~nobody-of-this-name.txt")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_stays_as_given(tmp_path: Path, name: str) -> None:
    assert write(tmp_path, f"train = {name}\n").file("train") == Path(name)


def test_a_required_key_says_who_needs_it(tmp_path: Path) -> None:
    data = write(tmp_path, "train = t.txt\n")
    assert data.required("train", purpose="training") == Path("t.txt")
    with pytest.raises(CfgError, match=r"obj\.data: no 'valid = \.\.\.' line, which -map needs\. Add one\.$"):
        data.required("valid", purpose="-map")


def test_asked_by_names_line_and_key(tmp_path: Path) -> None:
    data = write(tmp_path, "train = t.txt\nvalid = v.txt\n")
    assert data.asked_by("valid") == f"{data.path}:2: valid"
    assert data.asked_by("names") == f"{data.path}: names"


def test_integer_reads_whole_numbers(tmp_path: Path) -> None:
    data = write(tmp_path, "classes = 20 # of VOC\n")
    assert data.integer("classes") == 20
    assert data.integer("top") is None


@pytest.mark.parametrize("text", ["0", "-1", "x", "2.5", "²", "9" * 5000])
def test_integer_refuses_the_rest(tmp_path: Path, text: str) -> None:
    data = write(tmp_path, f"classes = {text}\n")
    with pytest.raises(CfgError, match=rf"obj\.data:1: classes={text}: must be a whole number of at least 1\.$"):
        data.integer("classes")


def test_names_keep_their_blanks_and_lose_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.names"
    path.write_bytes(b"\xef\xbb\xbfcat\r\ntraffic light \r\n\r\n")
    assert read_names(path) == ["cat", "traffic light"]  # A02, C11


def test_c12_a_folder_holds_no_names(tmp_path: Path) -> None:
    """C12: ``names =`` a directory."""
    with pytest.raises(CfgError, match=r"^obj\.data:3: names: Couldn't open file: .*: it is a folder\. Name a file\.$"):
        read_names(tmp_path, asked_by="obj.data:3: names")
