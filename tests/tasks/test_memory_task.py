"""darkpy detector memory: what is printed, written and measured."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from sections import NET, conv, lines

import darkpy.tasks._memory_measure as measuring
from darkpy.blueprint import read_blueprint
from darkpy.cli.main import darkpy
from darkpy.errors import CfgError, SetupError
from darkpy.memory.limits import Limit
from darkpy.tasks._memory_costs import Size
from darkpy.tasks.memory import memory

HEAD = {"mask": "0,1", "anchors": "4,4, 8,8", "classes": 3, "num": 2, "jitter": 0.1}
LAYERS = conv(filters=16, size=3, pad=1, batch_normalize=1, activation="leaky") + conv(filters=16, stride=8)


def cfg(folder: Path, *, head: dict[str, object] | None = None, net: str = "", batch: int = 8) -> Path:
    path = folder / "net.cfg"
    text = NET.format(width=96, height=64).replace("batch=2", f"batch={batch}") + net
    path.write_text(text + LAYERS + lines("yolo", {**HEAD, **(head or {})}), encoding="utf-8")
    return path


def plan(net: Path, **changes: object) -> int:
    options = {
        "vram": 8 * 2**30, "ram": 32 * 10**9, "link": 12 * 10**9, "tflops": 7.5, "membw": 448 * 10**9, "width": None,
        "height": None, "infer": False, "measure": False, "tier": None, "plot": None,
    }  # fmt: skip
    return memory(net, **(options | changes))  # type: ignore[arg-type]


def test_training_is_planned_at_the_cfgs_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(cfg(tmp_path)) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].endswith("net.cfg: training at 96x64 (as in the cfg), batch=8 subdivisions=1: mini-batch 8")
    assert out[-3:] == ["batch=8", "subdivisions=1", "optimized_memory=0"]


def test_the_largest_size_of_random_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(cfg(tmp_path, head={"random": 1}))
    assert "training at 160x128 (the largest of random=1; the cfg says 96x64)" in capsys.readouterr().out


def test_a_size_may_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(cfg(tmp_path, head={"random": 1}), width=32)
    assert "training at 32x64 (as asked)" in capsys.readouterr().out


def test_a_cfg_of_detection_is_planned_for_the_usual_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(cfg(tmp_path, batch=1))
    out, err = capsys.readouterr()
    assert "batch=1 is for detection: the plan is for batch=64 subdivisions=64." in err
    assert "batch=64 subdivisions=64: mini-batch 1" in out


def test_detection_is_planned_at_the_cfgs_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(cfg(tmp_path, head={"random": 1}), infer=True)
    out = capsys.readouterr().out
    assert "net.cfg: detecting at 96x64, one picture at a time" in out
    assert "largest live set" in out


def test_a_size_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    net = cfg(tmp_path)
    net.write_text(net.read_text("utf-8") + conv(size=100), encoding="utf-8")
    with pytest.raises(CfgError, match=r"size=100"):
        plan(net)
    good = cfg(tmp_path)
    good.write_text(good.read_text("utf-8").replace("size=3\n", "size=50\n").replace("pad=1\n", ""), encoding="utf-8")
    with pytest.raises(CfgError, match=r"net.cfg: the layers do not fit together at 32x64: .*size=50") as found:
        plan(good, width=32)
    assert "random" not in str(found.value)


def test_the_picture_shows_the_chosen_tier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plot.png"
    plan(cfg(tmp_path), plot=target, tier=2)
    assert target.read_bytes().startswith(b"\x89PNG")
    assert f"{target}: bytes by layer, and the timeline of a step in tier 2." in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("tier", [0, 1, 2, 3])
def test_a_measured_step_takes_what_was_predicted(
    tier: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(cfg(tmp_path), width=640, height=640, measure=True, tier=tier)
    *_, measured, predicted = capsys.readouterr().out.splitlines()
    assert measured.startswith(f"Measured on the CPU in tier {tier}, mini-batch 8")
    percent = float(predicted.split(", ")[1].removesuffix(" %."))
    assert abs(percent) <= 2


def measured(net: Path, *, tier: int = 0) -> list[str]:
    return list(measuring.measure_lines(read_blueprint(net), Size(96, 64), tier=tier, mini_batch=8))


def test_a_step_that_does_not_fit_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "limits", lambda: [Limit("little", 10**6)])
    with pytest.raises(SetupError, match=r"^-measure: a step needs [\d.]+ MB, but 1.0 MB are free. Raise subdivisions"):
        measured(cfg(tmp_path))


def test_a_system_that_does_not_tell_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "of_process", lambda key: None)
    with pytest.raises(SetupError, match=r"^-measure: this system does not tell the memory of a process. Leave"):
        measured(cfg(tmp_path))


@pytest.mark.slow
def test_a_step_that_fails_is_named(tmp_path: Path) -> None:
    blueprint = read_blueprint(cfg(tmp_path))
    (tmp_path / "net.cfg").write_text("broken", encoding="utf-8")
    with pytest.raises(SetupError, match=r"^-measure: the step failed: .*CfgError.* Raise subdivisions, or leave"):
        measuring.measure(blueprint, Size(96, 64), tier=0, mini_batch=1)


def test_the_command_takes_units(tmp_path: Path) -> None:
    words = ["detector", "memory", str(cfg(tmp_path)), "-vram", "4GB", "-ram", "16 GiB", "-link", "25GB/s"]
    done = CliRunner().invoke(darkpy, [*words, "-tflops", "12.7", "-membw", "360GB/s"], standalone_mode=False)
    assert done.exception is None
    assert "in 3.79 GB of the device and 12.88 GB of pinned RAM" in done.output
    assert "0.6 of 12.7 TFLOP/s for convolutions, 0.8 of 360 GB/s" in done.output
    assert "copies at 25 GB/s" in done.output
