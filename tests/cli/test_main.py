"""How a run ends, and how fast help comes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from darkpy import __version__
from darkpy.cli.main import missing_library, run
from darkpy.errors import CfgError


@pytest.fixture
def map_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], int]:
    """Run ``detector map`` with a stand-in for its task, and return the exit status."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.data", "a.cfg"):
        Path(name).touch()

    def run_with(task: Callable[..., Any]) -> int:
        module = ModuleType("darkpy.tasks.map")
        module.measure = task  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return run(["detector", "map", "a.data", "a.cfg"])

    return run_with


def raising(error: BaseException) -> Callable[..., int]:
    def task(*_: Any, **__: Any) -> int:
        raise error

    return task


def test_a_users_mistake_is_one_line_and_1(map_task: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert map_task(raising(CfgError("a.cfg:3: wrong."))) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "Error: a.cfg:3: wrong."


def test_ctrl_c_ends_with_130(map_task: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert map_task(raising(KeyboardInterrupt())) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_bug_shows_itself(map_task: Any) -> None:
    with pytest.raises(ZeroDivisionError, match="a bug"):
        map_task(raising(ZeroDivisionError("a bug")))


def test_a_missing_system_library_of_opencv_is_named(map_task: Any, capsys: pytest.CaptureFixture[str]) -> None:
    error = ImportError("libGL.so.1: cannot open shared object file: No such file or directory")
    assert map_task(raising(error)) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("Error: opencv-python needs the system library libGL.so.1, which is missing. Install it")
    assert last.endswith("or let opencv-python-headless take its place.")


@pytest.mark.parametrize("text", ["No module named 'nope'", "libcudart.so.12: cannot open shared object file"])
def test_other_import_errors_are_not_explained_away(text: str, map_task: Any) -> None:
    assert missing_library(ImportError(text)) is None
    with pytest.raises(ImportError, match=text):
        map_task(raising(ImportError(text)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("detectr", "No such command 'detectr'. Did you mean 'detector'?"),
        ("train a.data a.cfg", "No such command 'train'. Did you mean 'detector train'?"),
        ("classifier train a b", "'darkpy classifier' is not in this version of darkpy."),
        ("-foo", "No such option '-foo'."),
    ],
)
def test_bad_first_words_end_with_2(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["detector"]])
def test_no_command_shows_the_help_and_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert "Usage: darkpy" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"darkpy {__version__}\n"


ROOT = Path(__file__).parents[2]
HERE = {**os.environ, "PYTHONPATH": str(ROOT)}
FRESH = """
import json, sys, time
from darkpy.cli.main import run
status = run(sys.argv[1:])
slow = sorted({"torch", "torchvision", "numpy", "cv2"} & set(sys.modules))
print(json.dumps({"status": status, "slow": slow, "seconds": time.process_time()}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "line",
    ["", "--help", "help memory", "detector --help", "detector train --help", "detector test --help",
     "detector map --help", "detector calc_anchors --help", "detector train a.data a.cfg", "detector train -mAP"],
)  # fmt: skip
def test_what_needs_no_torch_imports_none_and_is_quick(line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRESH, *line.split()], capture_output=True, text=True, cwd=tmp_path, env=HERE
    )
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["slow"] == []
    assert told["seconds"] < 0.3  # of the processor, since the process began: the clock would count other programs too
    assert told["status"] == (0 if "help" in line else 1 if "a.data" in line else 2)


def test_python_m_darkpy_takes_the_status_out() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "darkpy", "detector", "valid"], capture_output=True, text=True, env=HERE
    )
    assert done.returncode == 2
    assert done.stdout == ""


def fake_task_folder(folder: Path, body: str) -> dict[str, str]:
    """Write a sitecustomize that puts a stand-in for ``detector map`` in place, and return the environment for it."""
    for name in ("a.data", "a.cfg"):
        (folder / name).touch()
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    (folder / "sitecustomize.py").write_text(
        "import sys, types\nmodule = types.ModuleType('darkpy.tasks.map')\n"
        f"def measure(*files, **options):\n{indented}\n"
        "module.measure = measure\nsys.modules['darkpy.tasks.map'] = module\n",
        encoding="utf-8",
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    environment = fake_task_folder(tmp_path, "for number in range(100000):\n    print(number)\nreturn 0")
    child = subprocess.Popen(
        [sys.executable, "-m", "darkpy", "detector", "map", "a.data", "a.cfg"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b"0\n"
    child.stdout.close()
    errors = child.stderr.read().decode()
    child.stderr.close()
    assert child.wait() == 1
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_a_signal_from_the_keyboard_ends_with_130(tmp_path: Path) -> None:
    environment = fake_task_folder(tmp_path, "import time\nprint('here')\ntime.sleep(30)\nreturn 0")
    child = subprocess.Popen(
        [sys.executable, "-m", "darkpy", "detector", "map", "a.data", "a.cfg"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == b"here\n"  # a line reaches a pipe at once
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert child.returncode == 130
    assert b"Traceback" not in errors


def test_odd_bytes_and_other_scripts_are_printed_as_they_are(tmp_path: Path) -> None:
    environment = fake_task_folder(tmp_path, "print('\\u732b \\udcff')\nreturn 0")
    done = subprocess.run(
        [sys.executable, "-m", "darkpy", "detector", "map", "a.data", "a.cfg"],
        capture_output=True, cwd=tmp_path,
        env={**environment, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert done.stdout == "猫 ".encode() + b"\xff\n"


UNWRITABLE = r"Error: standard output cannot be written: .+\. Make room on the disk, or send the output somewhere else."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("detector map a.data a.cfg", "print('a line')\nreturn 0"),
        ("detector map a.data a.cfg", "print('no end', end='')\nreturn 0"),
        ("--help", "return 0"),
        ("cfg check a.cfg", "return 0"),
    ],
)
def test_a_full_disk_is_one_line(line: str, body: str, tmp_path: Path) -> None:
    environment = fake_task_folder(tmp_path, body)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "darkpy", *line.split()],
            stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment,
        )  # fmt: skip
    *notes, last = done.stderr.splitlines()
    assert re.fullmatch(UNWRITABLE, last)
    assert len(notes) <= 1  # that PyTorch is loaded
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_failure_of_another_file_is_no_failure_of_stdout(tmp_path: Path) -> None:
    environment = fake_task_folder(tmp_path, "open('/dev/full', 'w').write('x' * 100000)")
    done = subprocess.run(
        [sys.executable, "-m", "darkpy", "detector", "map", "a.data", "a.cfg"],
        capture_output=True, text=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert "Traceback" in done.stderr
    assert "standard output" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="closes a POSIX descriptor")
@pytest.mark.parametrize(("closed", "status"), [(1, 1), (2, 0)])
def test_closed_streams_are_no_traceback(closed: int, status: int, tmp_path: Path) -> None:
    environment = fake_task_folder(tmp_path, "import sys\nprint('lost', file=sys.stderr)\nreturn 0")
    done = subprocess.run(
        [sys.executable, "-m", "darkpy", "detector", "map", "a.data", "a.cfg"],
        capture_output=True, text=True, cwd=tmp_path, env=environment,
        preexec_fn=lambda: os.close(closed),
    )  # fmt: skip
    assert done.returncode == status
    assert done.stdout == ""
    assert re.fullmatch(UNWRITABLE if closed == 1 else "", done.stderr.rstrip("\n"))
