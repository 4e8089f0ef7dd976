"""Whole runs in every memory tier: the same weights, and nothing left behind."""

from pathlib import Path

import pytest
from small_memory import use_small_memory
from training_project import Project

from darkpy.errors import CfgError, MemoryPlanError
from darkpy.memory.arena import BLOCK

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
