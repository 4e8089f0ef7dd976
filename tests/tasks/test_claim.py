"""Which name a run's files have, and that no other run writes them."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from darkpy.errors import DataError
from darkpy.tasks._claim import base_name, claimed_name

HOLDER = """
import sys
from pathlib import Path
from darkpy.tasks._claim import claimed_name
with claimed_name(Path(sys.argv[1]), Path(sys.argv[2]), None):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another_process(folder: Path, cfg: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", HOLDER, str(folder), cfg]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def name_of(folder: Path, cfg: str, weights: Path | None = None) -> str:
    with claimed_name(folder, Path(cfg), weights) as name:
        return name


def test_the_name_ends_at_the_first_dot_as_in_darknet() -> None:
    assert base_name(Path("cfg/yolov3.coco-giou-12.cfg")) == "yolov3"


def test_two_cfgs_of_one_name_do_not_overwrite_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case B13: the first writes net_*, as in darknet; the second says under which name it writes."""
    assert name_of(tmp_path, "net.v1.cfg") == "net"
    assert "net.v1.cfg: weights are named net_*.weights" in capsys.readouterr().err
    (tmp_path / "net_last.weights").touch()
    assert name_of(tmp_path, "net.v2.cfg") == "net.v2"
    assert "has net_*.weights of net.v1.cfg; this run's files are named net.v2_*.weights." in capsys.readouterr().err
    assert name_of(tmp_path, "net.v1.cfg") == "net"
    assert name_of(tmp_path, "net.v2.cfg") == "net.v2"


def test_files_of_which_nobody_knows_the_cfg_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such as those that darknet wrote; going on from them is another matter."""
    last = tmp_path / "net_last.weights"
    last.touch()
    assert name_of(tmp_path, "net.v1.cfg") == "net.v1"
    assert "has net_*.weights of an unknown cfg" in capsys.readouterr().err
    assert name_of(tmp_path / "." / ".." / tmp_path.name, "net.v2.cfg", last) == "net"
    (tmp_path / "net.run").unlink()
    assert name_of(tmp_path, "net.v3.cfg", tmp_path / "gone" / "net_last.weights") == "net.v3"


def test_a_plain_name_leaves_files_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net_last.weights").touch()
    assert name_of(tmp_path, "net.cfg") == "net"
    assert capsys.readouterr().err == ""
    (tmp_path / "net.run").write_text("net.v1.cfg, process 1\n")
    match = r"net_\*\.weights there are of net\.v1\.cfg, and net\.cfg would overwrite them\. Name another backup folder"
    with pytest.raises(DataError, match=match):
        name_of(tmp_path, "net.cfg")
    assert (tmp_path / "net.run").read_text() == "net.v1.cfg, process 1\n"


def test_a_name_with_signs_of_patterns_and_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n[1]_last.weights").touch()
    assert name_of(tmp_path, "n[1].b.cfg") == "n[1].b"
    assert name_of(tmp_path, "a,b.cfg") == "a,b"
    (tmp_path / "a,b_last.weights").touch()
    assert name_of(tmp_path, "a,b.cfg") == "a,b"


def test_what_is_no_claim_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.run").mkdir()
    assert name_of(tmp_path, "net.cfg") == "net"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_refuses_the_claim_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "net.run").symlink_to("/dev/full")
    with pytest.raises(DataError, match=r"net\.run: cannot be written: .*\. Free space, or name another folder\."):
        name_of(tmp_path, "net.cfg")


def test_two_runs_cannot_write_the_same_files(tmp_path: Path) -> None:
    match = r"another run is writing net_\*\.weights there \(net\.cfg, process \d+ on .*, since .*\)\. Wait"
    with held_by_another_process(tmp_path, "net.cfg") as process:
        with pytest.raises(DataError, match=match):
            name_of(tmp_path, "net.cfg")
        process.kill()
        process.wait()
        assert name_of(tmp_path, "net.cfg") == "net"  # a killed run claims nothing


def test_two_runs_of_other_names_know_of_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with held_by_another_process(tmp_path, "net.v1.cfg"):
        assert name_of(tmp_path, "other.cfg") == "other"
        assert "Warning: " in (err := capsys.readouterr().err)
        assert "another run writes there too: net.v1.cfg, process" in err
        assert name_of(tmp_path, "net.v2.cfg") == "net.v2"


def test_what_a_killed_run_left_half_written_is_removed(tmp_path: Path) -> None:
    rubbish = [
        ".net_last.weights.ab12_x.tmp",
        ".net_400.weights.ab12.tmp",
        ".net_last.state.ab12.tmp",
        ".net.csv.ab12.tmp",
    ]
    others = [".net_b_last.weights.ab12.tmp", "net_last.weights", ".net_last.weights.ab12.part"]
    for name in rubbish + others:
        (tmp_path / name).touch()
    name_of(tmp_path, "net.cfg")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "net.run"])


def test_a_folder_that_refuses_the_claim_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "net.run").mkdir()
    with pytest.raises(DataError, match=r"net\.run: cannot be written: .*\. Name another backup folder\."):
        name_of(tmp_path, "net.cfg")
