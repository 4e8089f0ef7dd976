"""Whole runs of `detector train` on a few tiny pictures."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from training_project import Project, losses, seen

from darkpy.cfg.net import NetSpec
from darkpy.cfg.options import Options
from darkpy.cfg.text import parse_sections
from darkpy.data.evaluation import evaluation_batches
from darkpy.data.index import read_image_list
from darkpy.errors import CfgError, DataError, MemoryPlanError, WeightsError
from darkpy.network import Network
from darkpy.structures import Detections
from darkpy.tasks import train as task
from darkpy.tasks._classes import open_datafile
from darkpy.tasks._interrupt import StopRequest
from darkpy.tasks._training_setup import choose_checkpoints
from darkpy.tasks.map import measure


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def test_a_run_prints_saves_and_draws(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert project.train(measure_map=True) == 0
    out, err = capsys.readouterr()
    assert "mini_batch = 4, batch = 8, time_steps = 1, train = 1 \n" in out
    assert "Learning Rate: 0.001, Momentum: 0.9, Decay: 0.0001\n" in out
    assert " Detection layer: 2 - type = 28 \n" in out
    assert len(losses(out)) == 4
    assert "mean average precision (mAP@0.50)" in out
    assert "New best mAP!" in out
    assert "Total BFLOPS" in err
    assert "saveweights: Using default '1000'" in err
    assert sorted(path.name for path in (project.folder / "backup").iterdir()) == [
        "net.csv",
        "net.run",
        "net_best.map",
        "net_best.weights",
        "net_final.weights",
        "net_memory.csv",
    ]
    assert seen(project.folder / "backup/net_final.weights") == 32
    assert (project.folder / "chart.png").read_bytes() == (project.folder / "chart_net.png").read_bytes()


def test_the_same_seed_repeats_every_loss_with_any_number_of_workers(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case H10, and mosaic, random sizes and dropout between."""
    project.write_cfg(head="random=1", net="mosaic=1\nhue=.1\nsaturation=1.5\nexposure=1.5")
    text = project.cfg.read_text().replace(
        "[convolutional]\nfilters", "[dropout]\nprobability=.3\n[convolutional]\nfilters"
    )
    project.cfg.write_text(text)
    curves = []
    for workers in (0, 2):
        project.train(workers=workers, threads=1)
        curves.append(losses(capsys.readouterr().out))
    assert len(curves[0]) == 4
    assert curves[0] == curves[1]


def test_resuming_counts_on_and_clear_starts_anew(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Case B10."""
    project.train()
    final = project.folder / "backup/net_final.weights"
    project.write_cfg(max_batches=6)
    capsys.readouterr()
    project.train(final)
    assert re.findall(r"^ (\d+): ", capsys.readouterr().out, re.MULTILINE) == ["5", "6"]
    assert seen(final) == 48
    project.train(final, clear=True)
    assert re.findall(r"^ (\d+): ", capsys.readouterr().out, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]


def test_weights_score_in_map_what_they_scored_in_training(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case B12: the file's own mAP is the one printed on the way, to the digit."""
    project.write_cfg(max_batches=30)
    project.train(measure_map=True)
    trained = re.findall(r"^ (?:mean average|for conf).*$", capsys.readouterr().out, re.MULTILINE)
    final = project.folder / "backup/net_final.weights"
    options = {"threshold": 0.25, "iou_threshold": 0.5, "points": 0, "device": "cpu", "gpus": None}
    assert measure(project.data, project.cfg, final, threads=None, workers=0, **options) == 0  # type: ignore[arg-type]
    assert re.findall(r"^ (?:mean average|for conf).*$", capsys.readouterr().out, re.MULTILINE) == trained


def test_batch_1_is_for_testing(project: Project) -> None:
    """Case A20."""
    project.write_cfg(batch=1, subdivisions=1)
    with pytest.raises(CfgError, match=r"net.cfg: .*incorrect value batch=1 for Training.*set batch=64"):
        project.train()


def test_the_first_batch_counts_for_training_too(project: Project) -> None:
    """Case A05: batch=1 above batch=64 is an inference cfg."""
    project.cfg.write_text(
        project.cfg.read_text().replace("batch=8", "batch=1\nbatch=64").replace("subdivisions=2", "")
    )
    with pytest.raises(CfgError, match="batch=1"):
        project.train()


def test_nothing_to_train(project: Project) -> None:
    project.write_cfg(max_batches=0)
    with pytest.raises(CfgError, match=r"max_batches=0: nothing to train. Set the number of iterations"):
        project.train()


def test_names_need_not_fit_without_map(project: Project) -> None:
    """Case C09."""
    (project.folder / "obj.names").write_text("one\n")
    with pytest.raises(DataError, match=r"number of names 1 .*obj.names isn't equal to classes=2 in .*net.cfg"):
        project.train(measure_map=True)
    assert project.train() == 0


def test_map_without_a_valid_file_fails_before_the_first_iteration(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case C13."""
    project.write_data(valid="nowhere.txt")
    with pytest.raises(DataError, match=r"obj.data:3: valid: .*There is no nowhere.txt file for mAP calculation"):
        project.train(measure_map=True)
    assert not losses(capsys.readouterr().out)


def test_valid_defaults_to_the_train_list(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_data(valid=None)
    assert project.train(measure_map=True) == 0
    assert "no 'valid = ...' line: mAP is measured on the train list, train.txt" in capsys.readouterr().err


def test_other_classes_in_the_data_file_are_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Case C08, in training."""
    project.write_data(classes=5)
    assert project.train() == 0
    assert "obj.data:1: classes=5, but classes=2 in" in capsys.readouterr().err


def test_the_difficult_list_counts_in_training_as_in_map(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in darknet, whose mAP in training reads the .data file's ``difficult`` too."""
    asked: list[object] = []

    def batches(*args: object, **options: object) -> object:
        asked.append(options["difficult"])
        return evaluation_batches(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("darkpy.tasks._training_data.evaluation_batches", batches)
    project.write_data(difficult="train.txt")
    project.train(measure_map=True)
    assert asked == [read_image_list(Path("train.txt"))]
    (project.folder / "other.txt").write_text("a.png\n")
    project.write_data(difficult="other.txt")
    with pytest.raises(DataError, match=r"obj.data:6: difficult: 1 images in other.txt, but 6 in train.txt"):
        project.train(measure_map=True)


def test_a_backup_folder_is_made_or_refused_at_the_start(project: Project) -> None:
    """Case C20."""
    project.write_data(backup="deep/er/backup")
    project.train()
    assert (project.folder / "deep/er/backup/net_final.weights").is_file()
    (project.folder / "taken").write_text("a file")
    project.write_data(backup="taken")
    with pytest.raises(
        DataError, match=r"obj.data:5: backup: cannot make the folder taken.*Name one that can be written"
    ):
        project.train()


@pytest.mark.parametrize("name", ["~nobody-of-this-name/b", "a\0b"])
def test_a_backup_folder_with_an_odd_name_is_no_traceback(project: Project, name: str) -> None:
    project.write_data(backup=name)
    if name.startswith("~"):
        assert project.train() == 0
        assert (project.folder / name / "net_final.weights").is_file()
    else:
        with pytest.raises(DataError, match="cannot make the folder a\0b: embedded null byte"):
            project.train()


def test_weights_that_are_trained_to_the_end_are_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.train()
    project.train(project.folder / "backup/net_final.weights")
    assert re.search(
        r"net_final\.weights: trained for 4 iterations, and max_batches=4: none is left\.", capsys.readouterr().err
    )


def test_weights_of_another_network_are_refused(project: Project) -> None:
    project.train()
    final = project.folder / "backup/net_final.weights"
    final.write_bytes(final.read_bytes() + b"\0\0\0\0")
    with pytest.raises(WeightsError, match="1 floats are left over"):
        project.train(final)


def test_ids_that_start_at_1_are_refused(project: Project) -> None:
    """Case D15."""
    alone = Project(project.folder, classes=1)
    for label in project.folder.glob("*.txt"):
        if label.stem.startswith("picture"):
            label.write_text("1 .5 .5 .3 .4\n")
    with pytest.raises(DataError, match=r"all ids are 1; ids start at 0"):
        alone.train()


def test_bad_pictures_and_labels_are_named_once_and_listed(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cases E01, E16, D02, D04: another picture takes the place; what is wrong stands in darknet's two lists."""
    (project.folder / "picture 0.png").write_bytes(b"")
    (project.folder / "picture 1.png").unlink()
    (project.folder / "picture 2.txt").unlink()
    (project.folder / "picture 3.txt").write_text("7 .5 .5 .2 .2\n1 .5 .5 .2 .2\n")
    project.write_cfg(max_batches=8)
    assert project.train() == 0
    err = capsys.readouterr().err
    for name in ("picture 0.png", "picture 1.png", "picture 2.txt", "picture 3.txt:1"):
        assert err.count(name) == 1, name
    listed = (project.folder / "bad.list").read_text().splitlines()
    assert sorted(Path(line).name for line in listed) == ["picture 0.png", "picture 1.png", "picture 2.txt"]
    assert "picture 3.txt" in (project.folder / "bad_label.list").read_text()


def test_settings_without_effect_are_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(batch=9, net="mosaic=1\nletter_box=1")
    project.train(chart=Path("old.png"))
    err = capsys.readouterr().err
    assert "subdivisions=2: does not divide batch=9: an iteration has 8 images" in err
    assert "training uses mosaic without letter_box" in err
    assert "-chart old.png" in err


def test_a_small_batch_is_warned_of(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(batch=4, subdivisions=1)
    project.train()
    assert " Warning: You set batch=4 lower than 64!" in capsys.readouterr().out


def as_in_a_terminal() -> None:
    """Let Ctrl-C count, also where the tests themselves run in a shell's background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for one process")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_iteration_saves_and_tells_by_the_status(project: Project, number: int, status: int) -> None:
    """Also one to the whole process group, workers and all, as a terminal and a service manager send it."""
    project.write_cfg(max_batches=100_000)
    words = [
        sys.executable,
        "-m",
        "darkpy",
        "detector",
        "train",
        "obj.data",
        "net.cfg",
        "-device",
        "cpu",
        "-workers",
        "1",
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        words, cwd=project.folder, start_new_session=True, preexec_fn=as_in_a_terminal, **pipes
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        for line in run.stdout:
            if line.startswith(" 3: "):
                break
        os.killpg(run.pid, number)
        deadline = time.monotonic() + 60
        run.stdout.read()
        err = run.stderr.read()
        assert run.wait(timeout=max(deadline - time.monotonic(), 1)) == status
    assert "Stopped after iteration" in err
    assert "Traceback" not in err
    last = project.folder / "backup/net_last.weights"
    assert seen(last) >= 3 * 8
    assert not (project.folder / "backup/net_final.weights").exists()


def test_sizes_that_do_not_fit_are_refused_before_the_first_iteration(project: Project) -> None:
    project.write_cfg(head="random=1")
    detour = "[maxpool]\nsize=2\nstride=2\n[upsample]\nstride=2\n[route]\nlayers=-1,0\n[convolutional]\nfilters=14"
    project.cfg.write_text(project.cfg.read_text().replace("[convolutional]\nfilters=14", detour))
    assert project.train() == 0
    project.cfg.write_text(project.cfg.read_text().replace("[net]", "[net]\nresize_step=7"))
    with pytest.raises(CfgError, match=r"at \d+x\d+, a size that random=1 draws with resize_step=7: set resize_step"):
        project.train()


def test_out_of_memory_says_what_to_lower(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr("darkpy.network.Network.losses", fail)
    match = (
        r"out of memory at 64x64 with a mini-batch of 4 images \(batch=8 / subdivisions=2, optimized_memory=0\): "
        r"0\.0 MB more were wanted\. A step needs \d+\.\d MB, there are "
    )
    with pytest.raises(MemoryPlanError, match=match):
        project.train()


def test_a_map_without_memory_for_a_batch_goes_picture_by_picture(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case H09: training goes on, and the mAP is the same."""
    project.train(measure_map=True)
    expected = re.findall(r"^ mean average precision.*$", capsys.readouterr().out, re.MULTILINE)
    detect = Network.detect

    def short_of_memory(network: Network, images: torch.Tensor, threshold: float) -> list[Detections]:
        if len(images) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return detect(network, images, threshold)

    monkeypatch.setattr(Network, "detect", short_of_memory)
    assert project.train(measure_map=True) == 0
    out, err = capsys.readouterr()
    assert "Note: no memory for 32 pictures at a time; mAP is measured one by one." in err
    assert re.findall(r"^ mean average precision.*$", out, re.MULTILINE) == expected
    monkeypatch.setattr(Network, "detect", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        project.train(measure_map=True)


def test_a_run_with_map_builds_one_network(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case H09: darknet allocates a second one for mAP."""
    built = []
    begin = Network.__init__
    monkeypatch.setattr(Network, "__init__", lambda network, blueprint: built.append(1) or begin(network, blueprint))
    assert project.train(measure_map=True) == 0
    assert built == [1]


@pytest.mark.parametrize(
    ("max_batches", "saveweights", "numbered"), [(6000, None, 1000), (10000, None, 10000), (6000, 500, 500)]
)
def test_numbered_weights_come_as_often_as_in_darknet(
    project: Project, max_batches: int, saveweights: int | None, numbered: int
) -> None:
    """Case A42."""
    project.write_data(saveweights=saveweights)
    schedule = choose_checkpoints(open_datafile(project.data), parse_net(max_batches), save_every=None)
    due = {iteration: schedule.due(iteration) for iteration in range(1, max_batches + 1)}
    assert [iteration for iteration, suffixes in due.items() if str(iteration) in suffixes] == list(
        range(numbered, max_batches + 1, numbered)
    )
    assert [iteration for iteration, suffixes in due.items() if "last" in suffixes] == list(
        range(100, max_batches + 1, 100)
    )


def parse_net(max_batches: int) -> NetSpec:
    lines = ["[net]", "width=32", "height=32", "channels=3", f"max_batches={max_batches}"]
    return NetSpec.parse(Options(parse_sections(lines, "x.cfg")[0]))


def test_save_every_writes_last_files_beside_numbered_ones(project: Project) -> None:
    project.write_data(saveweights=2)
    project.train(save_every=2)
    names = {path.name for path in (project.folder / "backup").iterdir()}
    assert {"net_2.weights", "net_4.weights", "net_last.weights", "net_last.state"} <= names
    assert seen(project.folder / "backup/net_last.weights") == 4 * 8


def test_sigterm_ends_as_ctrl_c_does(project: Project) -> None:
    """In this process, so that a coverage run sees it; test_soak.py kills real ones."""
    iterations = []

    class Terminated(StopRequest):
        def __call__(self) -> bool:
            iterations.append(1)
            if len(iterations) == 2:
                signal.raise_signal(signal.SIGTERM)
            return super().__call__()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "StopRequest", Terminated)
        assert project.train() == 143
    assert seen(project.folder / "backup/net_last.weights") == 2 * 8
