"""Long runs: killed over and over, and their memory. They run the command in processes of its own."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from training_project import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL, and no /proc to read memory from"),
]

ITERATIONS = 300
KILLS = 20
OPTIONS = "-device cpu -threads 1 -workers 1 -seed 5 -dont_show".split()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    made.write_cfg(batch=4, max_batches=ITERATIONS, net="mosaic=1\nburn_in=5", head="random=1")
    made.cfg.write_text(made.cfg.read_text().replace("width=64\nheight=64", "width=32\nheight=32"))
    return made


def start(project: Project, *words: str, **environment: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "darkpy", "detector", "train", "obj.data", "net.cfg", *words, *OPTIONS]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=project.folder, env=os.environ | environment, **pipes)  # type: ignore[call-overload,no-any-return]


def iterations(process: "subprocess.Popen[str]") -> Iterator[int]:
    """Yield the number of each iteration as its line is printed."""
    assert process.stdout is not None
    for line in process.stdout:
        number, colon, _ = line.strip().partition(":")
        if colon and number.isdigit():
            yield int(number)


def finish(process: "subprocess.Popen[str]") -> None:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out[-3000:]


def test_a_run_killed_20_times_ends_with_the_weights_of_one_that_was_not(project: Project) -> None:
    """Killed at random moments: in training, in mAP, while a file is written."""
    words = ("-map", "-map_every", "20", "-save_every", "5")
    final, last = (project.folder / f"backup/net_{suffix}.weights" for suffix in ("final", "last"))
    finish(start(project, *words))
    whole = final.read_bytes()
    rows = [line.split(",") for line in (project.folder / "backup/net.csv").read_text().splitlines()]
    for path in (project.folder / "backup").iterdir():
        path.unlink()
    draw = random.Random(7)
    for kill in range(KILLS):
        resumed = (str(last.relative_to(project.folder)),) if last.exists() else ()
        with start(project, *resumed, *words) as process:
            patience = draw.randint(1, 2 * ITERATIONS // KILLS - 4)
            for number, _ in enumerate(iterations(process), start=1):
                if number == patience:
                    break
            time.sleep(draw.uniform(0, 0.05))  # anywhere in the iterations that follow
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert process.returncode == -signal.SIGKILL, f"kill {kill} came after the end"
    finish(start(project, str(last.relative_to(project.folder)), *words))
    assert final.read_bytes() == whole
    repeated = [line.split(",") for line in (project.folder / "backup/net.csv").read_text().splitlines()]
    seconds = rows[0].index("seconds")
    assert [row[:seconds] + row[seconds + 1 :] for row in repeated] == [
        row[:seconds] + row[seconds + 1 :] for row in rows
    ]
    assert not list((project.folder / "backup").glob(".*.tmp"))


def resident_mb(pid: int) -> float:
    """Return the memory that a process has in RAM, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_stays_what_it_was(project: Project) -> None:
    """Within 8 MB from iteration 100 to 300, with random sizes and mAPs between."""
    found = {}
    with start(project, "-map", "-map_every", "20", MALLOC_ARENA_MAX="1") as process:
        for iteration in iterations(process):
            if iteration in (100, ITERATIONS):
                found[iteration] = resident_mb(process.pid)
    assert found[ITERATIONS] - found[100] <= 8, found


NETWORKS = """
import gc, os, sys
from pathlib import Path
from darkpy.network import Network, read_blueprint

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

for number in range(1, 1001):
    network = Network(read_blueprint(Path(sys.argv[1])))
    del network
    if number in (100, 1000):
        gc.collect()
        print(resident_mb())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_networks_that_are_gone_leave_no_memory_behind(project: Project) -> None:
    """Within 5 MB from the 100th to the 1000th."""
    words = [sys.executable, "-c", NETWORKS, "net.cfg"]
    environment = os.environ | {"MALLOC_ARENA_MAX": "1"}
    run = subprocess.run(words, cwd=project.folder, env=environment, capture_output=True, text=True, check=True)
    early, late = map(float, run.stdout.split())
    assert late - early <= 5, (early, late)
