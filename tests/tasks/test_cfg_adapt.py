"""`cfg adapt` as a command: the file it writes, what it prints, and what it never overwrites."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from darkpy.cfg.text import read_sections
from darkpy.cli.main import run

CFG = "# mine\n[net]\nwidth=64\nheight=64\nchannels=3\n\n[convolutional]\nfilters=18\n\n[yolo]\nclasses=1\nnum=3\n"
ADAPTED = CFG.replace("18", "24").replace("classes=1", "classes=3")
DIFF = "".join(
    line + "\n"
    for line in (
        "--- net.cfg",
        "+++ net-3.cfg",
        "@@ -5,8 +5,8 @@",
        " channels=3",
        " ",
        " [convolutional]",
        "-filters=18",
        "+filters=24",
        " ",
        " [yolo]",
        "-classes=1",
        "+classes=3",
        " num=3",
    )
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with net.cfg in it."""
    monkeypatch.chdir(tmp_path)
    write("net.cfg", CFG)
    return tmp_path


def write(name: str, text: str, *, encoding: str = "utf-8") -> None:
    Path(name).write_bytes(text.encode(encoding))


def read(name: str) -> str:
    return Path(name).read_bytes().decode()


def adapt(*words: str) -> int:
    return run(["cfg", "adapt", *words])


def error(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a refused command prints."""
    assert adapt(*words) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


def test_a_new_file_is_written_and_the_difference_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert adapt("net.cfg", "-classes", "3") == 0
    out, err = capsys.readouterr()
    assert out == DIFF
    assert err == "Wrote net-3.cfg\n"
    assert read("net-3.cfg") == ADAPTED
    assert read("net.cfg") == CFG


def test_names_are_counted_as_they_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    write("obj.names", "\ufeffcat\r\n\r\ndog house\r\n \r\nx")
    assert adapt("net.cfg", "-names", "obj.names") == 0
    assert read("net-3.cfg") == ADAPTED


def test_without_classes_the_file_is_called_adapted() -> None:
    assert adapt("net.cfg", "-width", "96", "-max_batches", "50") == 0
    assert read("net-adapted.cfg") == CFG.replace("width=64", "width=96").replace(
        "channels=3\n", "channels=3\nmax_batches=50\n"
    )


def test_the_file_goes_to_the_current_folder(folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "there/net.cfg").write_text(CFG, encoding="utf-8")
    assert adapt("there/net.cfg", "-classes", "3") == 0
    assert read("net-3.cfg") == ADAPTED


def test_anchors_come_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    write("anchors.txt", "  1,  2,   3,  4,  5,  6\n")
    assert adapt("net.cfg", "-anchors", "anchors.txt", "-o", "new.cfg") == 0
    assert "+anchors=1,2, 3,4, 5,6\n" in capsys.readouterr().out


def test_a_file_that_exists_stays_unless_forced(capsys: pytest.CaptureFixture[str]) -> None:
    write("net-3.cfg", "mine")
    assert error(capsys, "net.cfg", "-classes", "3") == (
        "net-3.cfg: exists already, and stays as it is. Name another file with -o, or overwrite it with -force."
    )
    assert read("net-3.cfg") == "mine"
    assert adapt("net.cfg", "-classes", "3", "-force") == 0
    assert read("net-3.cfg") == ADAPTED


@pytest.mark.parametrize("out", ["net.cfg", "./net.cfg", "same.cfg"])
def test_the_cfg_itself_stays_unless_named_and_forced(capsys: pytest.CaptureFixture[str], out: str) -> None:
    os.link("net.cfg", "same.cfg")
    assert "is the cfg that is read, and stays as it is" in error(capsys, "net.cfg", "-classes", "3", "-o", out)
    assert read("net.cfg") == CFG
    assert adapt("net.cfg", "-classes", "3", "-o", out, "-force") == 0
    assert read(out) == ADAPTED


def test_a_link_to_nowhere_counts_as_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        os.symlink("nowhere", "net-3.cfg")
    except OSError:
        pytest.skip("the system refuses symbolic links")
    assert "net-3.cfg: exists already" in error(capsys, "net.cfg", "-classes", "3")


def test_nothing_to_change_is_said_and_a_copy_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert adapt("net.cfg", "-classes", "1") == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "Nothing to change. Wrote net-1.cfg, a copy.\n")
    assert read("net-1.cfg") == CFG


def test_a_cfg_that_comes_with_darkpy_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert adapt("yolov4-tiny.cfg", "-classes", "3") == 0
    assert "using the one that comes with darkpy" in capsys.readouterr().err
    heads = [section for section in read_sections(Path("yolov4-tiny-3.cfg")) if section.kind == "yolo"]
    assert [entry.value for head in heads if (entry := head.find("classes"))] == ["3", "3"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encoding_and_line_ends_stay(encoding: str, newline: str) -> None:
    write("net.cfg", CFG.replace("mine", "meins: ä").replace("\n", newline), encoding=encoding)
    assert adapt("net.cfg", "-classes", "3") == 0
    wanted = ADAPTED.replace("mine", "meins: ä").replace("\n", newline)
    assert Path("net-3.cfg").read_bytes() == wanted.encode(encoding)


def test_bytes_that_are_no_text_stay(capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.cfg").write_bytes(CFG.encode().replace(b"mine", b"\xb5\xff"))
    assert adapt("net.cfg", "-classes", "3") == 0
    assert Path("net-3.cfg").read_bytes() == ADAPTED.encode().replace(b"mine", b"\xb5\xff")


def test_a_missing_end_of_the_last_line_stays_and_shows_in_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    write("net.cfg", CFG.replace("classes=1\nnum=3\n", "num=3\nclasses=1"))
    assert adapt("net.cfg", "-classes", "3") == 0
    assert read("net-3.cfg").endswith("num=3\nclasses=3")
    end = "\\ No newline at end of file\n"
    assert capsys.readouterr().out.endswith(f" num=3\n-classes=1\n{end}+classes=3\n{end}")


def test_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    write("net.cfg", CFG + "counters_per_class=7\n")
    assert adapt("net.cfg", "-classes", "3") == 0
    assert "net.cfg:13: [yolo] counters_per_class belongs to 1 classes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.cfg", "-classes", "3"], "Couldn't open file: none.cfg: not found"),
        ([".", "-classes", "3"], "Couldn't open file: .: it is a folder"),
        (["net.cfg", "-classes", "3", "-o", "."], ".: is a folder. Name the new file with -o."),
        (["net.cfg", "-classes", "3", "-o", "no/x.cfg"], "no/x.cfg: there is no folder no. Make it"),
        (["net.cfg", "-classes", "3", "-o", "net.cfg/x.cfg"], "net.cfg/x.cfg: there is no folder net.cfg"),
        (["net.cfg", "-classes", "3", "-o", "x" * 300], "cannot be written: File name too long"),
        (["net.cfg", "-names", "none.names"], "-names: Couldn't open file: none.names: not found"),
        (["net.cfg", "-names", "empty.names"], "empty.names: has no names. Write one class name on each line."),
        (["net.cfg", "-anchors", "1,2,3"], "-anchors: 3 numbers make no pairs"),
        (["strided.cfg", "-width", "7"], "strided.cfg:9: [convolutional] stride=two: 'two' is no number"),
        (["binary.cfg", "-classes", "3"], "binary.cfg: not a cfg: it is no text"),
        (["cut.cfg", "-classes", "3"], "cut.cfg: looks like utf-16-le, but is none: truncated data. Save it as UTF-8."),
    ],
)
def test_what_cannot_be_done_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    write("empty.names", "\n \n")
    Path("binary.cfg").write_bytes(b"abc\x00\x01\x02")
    Path("cut.cfg").write_bytes("[net]\n".encode("utf-16")[:-1])
    write("strided.cfg", CFG.replace("filters=18", "filters=18\nstride=two"))
    assert message in error(capsys, *words)
    assert not [name for name in os.listdir() if name.endswith(".tmp") or "-3" in name]


def test_a_place_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x" * 300 + ".cfg"
    assert f"{name}: cannot be written: " in error(capsys, "net.cfg", "-classes", "3", "-o", name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to change. Give -classes"),
        (["-o", "x.cfg", "-force"], "nothing to change"),
        (["-classes", "3", "-names", "x.names"], "-classes and -names both say how many classes"),
        (["-classes", "0"], "0 is not in the range"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert adapt("net.cfg", *words) == 2
    assert message in capsys.readouterr().err
    assert not Path("net-3.cfg").exists()


def test_no_torch_is_imported() -> None:
    code = "import sys, darkpy.tasks.cfg_adapt; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
