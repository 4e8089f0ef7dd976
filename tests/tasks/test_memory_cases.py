"""Whole runs of what darknet's users met with optimized_memory: each must go through, to the weights of tier 0."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_memory import use_small_memory
from stopping import run
from training_project import Project, losses

TIERS = (1, 2, 3)
DROPOUT = "[dropout]\nprobability=.3\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    use_small_memory(monkeypatch)
    return Project(tmp_path)


def write(project: Project, *, net: str = "", head: str = "", between: str = "", **changes: int) -> None:
    """Write the cfg, with sections before the last convolution."""
    project.write_cfg(net=net, head=head, **changes)
    text = project.cfg.read_text()
    project.cfg.write_text(text.replace("[convolutional]\nfilters", f"{between}[convolutional]\nfilters"))


def last(project: Project, name: str = "final") -> bytes:
    """Return the weights that a run left, and remove them."""
    path = project.folder / f"backup/net_{name}.weights"
    content = path.read_bytes()
    path.unlink()
    return content


def trained(project: Project, tier: int, **cfg: object) -> bytes:
    """Return the weights after a run in a tier."""
    lines = str(cfg.pop("net", ""))
    write(project, net=f"{lines}\noptimized_memory={tier}", **cfg)  # type: ignore[arg-type]
    assert project.train(threads=1) == 0
    return last(project)


@pytest.mark.parametrize("tier", TIERS)
def test_dropout_in_every_tier(tier: int, project: Project) -> None:
    """Before and behind a convolution and behind a shortcut, each with masks of its own."""
    conv = "[convolutional]\nbatch_normalize=1\nfilters=4\nsize=3\npad=1\nactivation=mish\n"
    between = f"{DROPOUT}{conv}{DROPOUT}[shortcut]\nfrom=-3\nactivation=linear\n{DROPOUT}"
    expected = trained(project, 0, between=between, batch=16)
    assert expected != trained(project, 0, between=between.replace("=.3", "=.31"), batch=16)
    assert trained(project, tier, between=between, batch=16) == expected


@pytest.mark.slow
def test_a_batch_of_256_in_one_piece(project: Project) -> None:
    cfg = {"batch": 256, "subdivisions": 1, "max_batches": 2}
    assert trained(project, 3, **cfg) == trained(project, 0, **cfg)


@pytest.mark.slow
def test_960x576_with_a_large_limit_of_the_workspace(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The size and the key with which darknet's tiers were asked for first."""
    found = {}
    for tier in (0, 3):
        write(
            project,
            net=f"optimized_memory={tier}\nworkspace_size_limit_MB=8000",
            batch=2,
            subdivisions=1,
            max_batches=2,
        )
        text = project.cfg.read_text()
        project.cfg.write_text(text.replace("width=64\nheight=64", "width=960\nheight=576"))
        assert project.train(threads=1) == 0
        found[tier] = last(project)
    assert found[3] == found[0]
    complaints = [line for line in capsys.readouterr().err.splitlines() if "Unused" in line or "Error" in line]
    assert complaints == []


@pytest.mark.parametrize("file", ["", "offload_file=offload.bin"], ids=["ram", "file"])
@pytest.mark.parametrize("tier", [2, 3])
def test_more_than_eight_blocks_at_once(
    tier: int, file: str, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the second block on darknet gave two arrays the same place, and trained with what the later one held."""
    cfg = {"batch": 8, "subdivisions": 1, "between": DROPOUT}
    expected = trained(project, 0, **cfg)
    capsys.readouterr()
    assert trained(project, tier, net=file, **cfg) == expected
    blocks = re.findall(r"^ Pinned block_id = (\d+), filled = ", capsys.readouterr().out, re.MULTILINE)
    assert len(set(blocks)) > 8


def test_channels_1_mosaic_and_dynamic_minibatch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """H01. So far dynamic_minibatch has no effect, which is said; the losses must be tier 0's once it has."""
    found = {}
    for tier in (0, 3):
        write(project, net=f"mosaic=1\ndynamic_minibatch=1\noptimized_memory={tier}")
        project.cfg.write_text(project.cfg.read_text().replace("channels=3", "channels=1"))
        assert project.train(threads=1) == 0
        found[tier] = losses(capsys.readouterr().out), last(project)
    assert len(found[0][0]) == 4
    assert found[3] == found[0]


def test_a_resize_with_dynamic_minibatch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """H02. As in H01, dynamic_minibatch has no effect so far."""
    found = {}
    for tier in (0, 2):
        write(project, net=f"dynamic_minibatch=1\noptimized_memory={tier}", head="random=1", max_batches=1000, batch=4)
        assert run(project, stop_after=25, threads=1) == 130
        out = capsys.readouterr().out
        found[tier] = losses(out), last(project, "last")
        sizes = re.findall(r"^ ?(\d+ x \d+) ?$", out, re.MULTILINE)
        assert len(set(sizes)) > 1
    assert len(found[0][0]) == 25
    assert found[2] == found[0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what is used")
@pytest.mark.parametrize(("gib", "file"), [(1.5, ""), (1.5, "offload_file=offload.bin"), (4, "")])
def test_blocks_are_taken_as_they_are_needed(gib: float, file: str, project: Project) -> None:
    """H04: on a host of 4 GiB a block or two, and not 8 GiB first; where a block is too much, that is one line."""
    write(project, net=f"optimized_memory=2\n{file}")
    code = f"import resource as r; r.setrlimit(r.RLIMIT_DATA, ({int(gib * 2**30)},) * 2); from darkpy.__main__ import *"
    words = "detector train obj.data net.cfg -device cpu -threads 1 -workers 0 -dont_show".split()
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; main()", *words],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=project.folder,
        capture_output=True,
        text=True,
    )
    if gib == 4 or file:
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("Pinned block_id") == 1
    else:
        assert done.returncode == 1
        assert re.match(
            r"Error: 1\.00 GiB of host memory for what backward needs cannot be had: the process may have 1\.50 GiB, "
            r"of which 0\.\d\d GiB are used \(RLIMIT_DATA, ulimit -d\)\. Set optimized_memory=1",
            done.stderr.splitlines()[-1],
        )
