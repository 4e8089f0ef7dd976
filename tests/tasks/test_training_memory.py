"""Whole runs in every memory tier: the same weights, and nothing left behind."""

import csv
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_memory import use_small_memory
from stopping import run
from training_project import Project

from darkpy.blueprint import read_blueprint
from darkpy.cfg.shipped import shipped_folder
from darkpy.engine.optimizer import DarknetUpdate
from darkpy.errors import CfgError, MemoryPlanError
from darkpy.memory.arena import BLOCK
from darkpy.memory.blocks import blocks_for
from darkpy.memory.plan import GB, Budget
from darkpy.memory.tiers import TieredMemory
from darkpy.network import Network
from darkpy.tasks._memory_budget import Plan, make_plan
from darkpy.tasks._training_memory import (
    WORKSPACE_VARIABLE,
    limit_workspace,
    out_of_memory,
    rehearse,
    training_memory,
    wanted_bytes,
)

CPU, SIZE = torch.device("cpu"), (416, 416)

NET = "mosaic=1\nhue=.1\nburn_in=2"
LAYERS = "random=1"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    use_small_memory(monkeypatch, block_bytes=BLOCK)
    return Project(tmp_path)


def final(project: Project, net: str, **options: object) -> bytes:
    """Train with these lines of [net], and return the last weights."""
    project.write_cfg(net=f"{NET}\n{net}", head=LAYERS)
    text = project.cfg.read_text().replace(
        "[convolutional]\nfilters=14",
        "[maxpool]\nsize=2\nstride=1\n[dropout]\nprobability=.2\n[convolutional]\nfilters=14",
    )
    project.cfg.write_text(text)
    assert project.train(threads=1, **options) == 0
    return (project.folder / "backup/net_final.weights").read_bytes()


@pytest.mark.parametrize("tier", [1, 2, 3])
def test_the_weights_of_a_run_are_the_same_in_every_tier(
    tier: int, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """H01, H02: with mosaic, random=1, dropout, subdivisions and mAPs between."""
    options = {"measure_map": True, "map_every": 2}
    expected = final(project, "", **options)
    capsys.readouterr()
    assert final(project, f"optimized_memory={tier}", **options) == expected
    out, err = capsys.readouterr()
    assert err.count(f"[net] optimized_memory={tier}: ") == 1
    assert out.count(" Pinned block_id = 0, filled = ") == (tier >= 2)


def test_a_file_takes_the_place_of_ram_and_is_gone_afterwards(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = final(project, "")
    capsys.readouterr()
    assert final(project, "optimized_memory=3\noffload_file=spill.bin") == expected
    assert "waits in spill.bin; the weights stay the same" in capsys.readouterr().err
    assert not (project.folder / "spill.bin").exists()


def test_a_file_of_the_users_is_never_written_over(project: Project) -> None:
    (project.folder / "spill.bin").write_text("mine")
    with pytest.raises(MemoryPlanError, match=r"spill\.bin"):
        final(project, "optimized_memory=2\noffload_file=spill.bin")
    assert (project.folder / "spill.bin").read_text() == "mine"


def test_a_file_without_a_tier_is_said_to_have_no_effect(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    final(project, "offload_file=spill.bin")
    assert "offload_file=spill.bin: has no effect without optimized_memory=2 or 3." in capsys.readouterr().err


def test_a_tier_that_is_none_is_an_error(project: Project) -> None:
    with pytest.raises(CfgError, match=r"optimized_memory=4: must be at most 3"):
        final(project, "optimized_memory=4")


# --- auto, and memory that is short -----------------------------------------------------------------------------------


def write_tiny(project: Project, net: str) -> None:
    """Write yolov3-tiny with a mini-batch of 8: large enough for the tiers to differ."""
    text = (shipped_folder("cfg") / "yolov3-tiny.cfg").read_text("utf-8")
    text = re.sub(r"(?m)^(batch|subdivisions) *=.*$", "", text)
    project.cfg.write_text(text.replace("[net]", f"[net]\nbatch=16\nsubdivisions=2\n{net}"), encoding="utf-8")


@pytest.fixture
def plan(project: Project) -> Plan:
    """A plan of all tiers, which may be asked for on a CPU thanks to a file."""
    write_tiny(project, "optimized_memory=auto\noffload_file=spill.bin")
    return make_plan(read_blueprint(project.cfg), SIZE, CPU, budget=Budget(GB, GB))


def needs(plan: Plan) -> list[int]:
    return [plan.needs(tier.ways[-1], plan.mini_batch) for tier in plan.costs.tiers]


@pytest.mark.parametrize("tier", [0, 1, 2, 3])
def test_auto_takes_the_lowest_tier_that_fits(
    tier: int, plan: Plan, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = needs(plan)
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3]
    memory = training_memory(read_blueprint(project.cfg), SIZE, CPU, budget=Budget(sizes[tier], GB))
    memory.close()
    assert memory.tier == tier
    line = next(one for one in capsys.readouterr().err.splitlines() if "=auto" in one)
    assert line.startswith(f"[net] optimized_memory=auto: tier {tier} for 416x416 and a mini-batch of 8: ")
    assert ("; tier" in line) == (tier > 0)


def test_auto_fails_with_what_would_fit(plan: Plan, project: Project) -> None:
    short = Budget(needs(plan)[3] - 1, GB)
    with pytest.raises(MemoryPlanError, match=r"no tier fits 416x416 .* What fits: subdivisions=4\.$"):
        training_memory(read_blueprint(project.cfg), SIZE, CPU, budget=short)


def test_on_a_cpu_without_a_file_offloading_is_no_help(project: Project) -> None:
    write_tiny(project, "optimized_memory=auto")
    found = make_plan(read_blueprint(project.cfg), SIZE, CPU, budget=Budget(GB, GB))
    assert needs(found)[2] > needs(found)[1]


def test_a_run_may_choose_for_itself(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    expected = final(project, "")
    assert final(project, "optimized_memory=auto") == expected
    assert "[net] optimized_memory=auto: tier 0 for " in capsys.readouterr().err


def test_short_memory_names_what_would_fit(plan: Plan, project: Project) -> None:
    """H05."""
    error = RuntimeError("CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 4 GiB")
    found = out_of_memory(
        read_blueprint(project.cfg), SIZE, error, tier=0, device=CPU, budget=Budget(needs(plan)[1], GB)
    )
    assert re.fullmatch(
        r".*net\.cfg: out of memory at 416x416 with a mini-batch of 8 images \(batch=16 / subdivisions=2, "
        r"optimized_memory=0\): 1\.61 GB more were wanted\. A step needs \d+\.\d MB, there are \d+\.\d MB\. "
        r"What fits: subdivisions=(4|8|16) or optimized_memory=1\.",
        str(found),
    )


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 512 bytes. Error code 12", 512),
        ("CUDA out of memory. Tried to allocate 20.00 MiB. GPU", 20 * 2**20),
        ("MPS backend out of memory", None),
    ],
)
def test_the_bytes_that_torch_names(text: str, nbytes: int | None) -> None:
    assert wanted_bytes(text) == nbytes


@pytest.mark.parametrize("tier", [0, 3])
def test_a_rehearsal_changes_nothing(tier: int, project: Project) -> None:
    project.write_cfg()
    network = Network(read_blueprint(project.cfg))
    update = DarknetUpdate(network)
    memory = TieredMemory(tier, CPU, blocks=blocks_for(CPU, None))
    before = {name: value.clone() for name, value in (network.state_dict() | update.state()).items()}
    drawn = torch.get_rng_state()
    rehearse(network, update, memory, (128, 96))
    assert torch.equal(torch.get_rng_state(), drawn)
    after = network.state_dict() | update.state()
    assert all(torch.equal(before[name], after[name]) for name in before)
    memory.close()


def test_a_limit_of_the_workspace_is_handed_to_cudnn(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(WORKSPACE_VARIABLE, raising=False)
    project.write_cfg(net="workspace_size_limit_MB=300")
    net, cuda = read_blueprint(project.cfg).net, torch.device("cuda")
    limit_workspace(net, 1, cuda)
    assert WORKSPACE_VARIABLE not in os.environ  # as in darknet
    limit_workspace(net, 2, cuda)
    assert os.environ[WORKSPACE_VARIABLE] == "300"
    limit_workspace(replace(net, workspace_size_limit_MB=None), 2, cuda)
    assert f"{WORKSPACE_VARIABLE}=300 is set, and stays" in capsys.readouterr().err
    monkeypatch.delenv(WORKSPACE_VARIABLE)
    limit_workspace(replace(net, workspace_size_limit_MB=None), 3, cuda)
    assert os.environ[WORKSPACE_VARIABLE] == "1024"
    monkeypatch.delenv(WORKSPACE_VARIABLE)
    limit_workspace(net, 3, CPU)
    assert "workspace_size_limit_MB=300: has no effect on cpu" in capsys.readouterr().err
    assert WORKSPACE_VARIABLE not in os.environ


def test_a_limit_below_zero_is_an_error(project: Project) -> None:
    with pytest.raises(CfgError, match=r"workspace_size_limit_MB=-1: must be at least 0"):
        final(project, "workspace_size_limit_MB=-1")


def test_a_run_tells_what_it_takes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    final(project, "optimized_memory=3")
    line = next(one for one in capsys.readouterr().err.splitlines() if one.startswith("Memory at "))
    assert re.fullmatch(
        r"Memory at \d+x\d+, tier 3: process peak \d+\.\d+ [MG]B \(weights \d+\.\d MB, momentum 0\.0 MB\); "
        r"host arena \d+\.\d MB in 1 block",
        line,
    )
    rows = list(csv.DictReader((project.folder / "backup/net_memory.csv").read_text("utf-8").splitlines()))
    assert rows[0]["iteration"] == "1"
    assert rows[0]["tier"] == "3"
    assert int(rows[0]["arena"]) > 0
    assert int(rows[0]["device_peak"]) > int(rows[0]["weights"]) > 0


def test_a_run_goes_on_exactly_in_another_tier(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    changes = {"max_batches": 1000, "head": "random=1"}
    project.write_cfg(net="mosaic=1", **changes)
    assert run(project, stop_after=14, threads=1) == 130
    whole = project.folder / "backup/net_last.weights"
    expected = whole.read_bytes()
    for left in whole.parent.iterdir():
        left.unlink()
    assert run(project, stop_after=6, threads=1) == 130
    project.write_cfg(net="mosaic=1\noptimized_memory=3\noffload_file=spill.bin\nworkspace_size_limit_MB=9", **changes)
    capsys.readouterr()
    assert run(project, whole, stop_after=8, threads=1) == 130
    assert "The run goes on exactly after iteration 6." in capsys.readouterr().err
    assert whole.read_bytes() == expected
