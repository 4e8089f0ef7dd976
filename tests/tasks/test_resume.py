"""Runs that are stopped and go on: exactly with a state, as darknet without."""

import csv
import io
import re
import shutil
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stopping import run
from training_project import Project, losses, seen

from darkpy.report.rows import Rows
from darkpy.tasks import _training_run
from darkpy.tasks import train as task
from darkpy.tasks._interrupt import StopRequest

EVERYTHING = "mosaic=1\nhue=.1\nsaturation=1.5\nexposure=1.5\nburn_in=3"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    return Project(tmp_path)


def last(project: Project) -> Path:
    return project.folder / "backup/net_last.weights"


def final(project: Project) -> bytes:
    return (project.folder / "backup/net_final.weights").read_bytes()


def rows(project: Project) -> list[tuple[str, ...]]:
    """What the .csv says, without the seconds."""
    with (project.folder / "backup/net.csv").open(newline="") as file:
        return [
            (row["iteration"], row["loss"], row["average_loss"], row["rate"], row["map"])
            for row in csv.DictReader(file)
        ]


def with_dropout(project: Project) -> None:
    text = project.cfg.read_text()
    project.cfg.write_text(
        text.replace("[convolutional]\nfilters", "[dropout]\nprobability=.3\n[convolutional]\nfilters")
    )


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    iterations=st.integers(2, 16),
    stops=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    subdivisions=st.sampled_from([1, 2, 4]),
    random=st.booleans(),
    map_every=st.sampled_from([3, 100]),
)
def test_a_run_in_pieces_is_the_whole_run(
    project: Project, iterations: int, stops: list[int], subdivisions: int, random: bool, map_every: int
) -> None:
    """Weights byte for byte, and every row of losses, rates and mAPs, with dropout, mosaic and colours."""
    shutil.rmtree(project.folder / "backup", ignore_errors=True)
    project.write_cfg(
        max_batches=iterations, subdivisions=subdivisions, net=EVERYTHING, head="random=1" if random else ""
    )
    with_dropout(project)
    options = {"measure_map": True, "map_every": map_every, "threads": 1, "save_every": 2}
    assert run(project, **options) == 0
    whole, whole_rows = final(project), rows(project)
    shutil.rmtree(project.folder / "backup")
    begun: Path | None = None
    for stop in stops:
        if run(project, begun, stop_after=stop, **options) == 0:
            break
        begun = last(project)
    else:
        assert run(project, begun, **(options | {"seed": None})) == 0  # the seed is in the state
    assert final(project) == whole
    assert rows(project) == whole_rows


def test_going_on_exactly_is_said_and_goes_on_from_a_numbered_file_too(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write_data(saveweights=2)
    project.write_cfg(max_batches=6)
    project.train(threads=1, save_every=2)
    whole = final(project)
    run(project, stop_after=2, threads=1, save_every=2)
    capsys.readouterr()
    assert run(project, project.folder / "backup/net_2.weights", threads=1, save_every=2) == 0
    err = capsys.readouterr().err
    assert "net_last.state: belongs to these weights." in err
    assert "The run goes on exactly after iteration 2." in err
    assert final(project) == whole


def test_weights_of_another_moment_go_on_as_in_darknet(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(max_batches=6)
    run(project, stop_after=2)
    content = bytearray(last(project).read_bytes())
    content[-1] ^= 1
    last(project).write_bytes(content)
    capsys.readouterr()
    assert run(project, last(project)) == 0
    out, err = capsys.readouterr()
    assert "exactly" not in err
    assert re.findall(r"^ (\d+): ", out, re.MULTILINE) == ["3", "4", "5", "6"]


def test_clear_forgets_the_state(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write_cfg(max_batches=4)
    run(project, stop_after=2)
    capsys.readouterr()
    assert run(project, last(project), clear=True) == 0
    out, err = capsys.readouterr()
    assert "net_last.state: not used, because of -clear." in err
    assert len(losses(out)) == 4


def test_another_batch_goes_on_as_in_darknet(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, stop_after=2)
    project.write_cfg(batch=4)
    capsys.readouterr()
    assert run(project, last(project)) == 0
    out, err = capsys.readouterr()
    assert "not used: it was made with 8 images an iteration, now there are 4 (batch, subdivisions in" in err
    assert re.findall(r"^ (\d+): ", out, re.MULTILINE) == []  # 16 images are 4 iterations of 4: none is left


@pytest.mark.parametrize("change", ["subdivisions", "rate", "list", "seed"])
def test_a_changed_run_goes_on_with_its_momentum_and_is_not_called_exact(
    project: Project, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    run(project, stop_after=3)
    options = {}
    if change == "subdivisions":
        project.write_cfg(subdivisions=4)
    elif change == "rate":
        project.cfg.write_text(project.cfg.read_text().replace("0.001", "0.002"))
    elif change == "list":
        (project.folder / "train.txt").write_text((project.folder / "train.txt").read_text().strip() + "\n/gone.png\n")
    else:
        options["seed"] = 4
    (project.folder / "backup/net_2.weights").write_bytes(last(project).read_bytes())
    capsys.readouterr()
    assert run(project, project.folder / "backup/net_2.weights", **options) == 0
    out, err = capsys.readouterr()
    assert "exactly" not in err
    assert "Momentum and averages go on, but the run is another one: the cfg, the train list or the seed" in err
    assert re.findall(r"^ (\d+): ", out, re.MULTILINE) == ["4"]


def test_a_damaged_state_is_told_and_not_needed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, stop_after=2)
    last(project).with_suffix(".state").write_bytes(b"PK")
    capsys.readouterr()
    assert run(project, last(project)) == 0
    assert re.search(r"Note: .*net_last\.state: cannot be read as a state file: ", capsys.readouterr().err)


def test_a_state_that_does_not_fit_the_cfg_any_more_is_told(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project, stop_after=2)
    project.write_cfg(net="adam=1")
    capsys.readouterr()
    assert run(project, last(project)) == 0
    out, err = capsys.readouterr()
    assert re.search(r"Note: the state does not fit the network \(.*\): momentum and averages begin anew\.", err)
    assert re.findall(r"^ (\d+): ", out, re.MULTILINE) == ["3", "4"]


def test_another_seed_is_obeyed_and_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, stop_after=2)
    capsys.readouterr()
    run(project, last(project), seed=4)
    assert (
        "-seed 4: from here on other random draws than those of the run that goes on (seed 3)."
        in capsys.readouterr().err
    )


def test_another_size_of_the_cfg_counts(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, stop_after=2)
    project.cfg.write_text(project.cfg.read_text().replace("width=64", "width=96"))
    sizes = []
    with pytest.MonkeyPatch.context() as patch:
        batches = _training_run.training_batches

        def watch(*args: object, **options: object) -> object:
            for batch in batches(*args, **options):  # type: ignore[arg-type]
                sizes.append(tuple(batch.images.shape[2:]))
                yield batch

        patch.setattr(_training_run, "training_batches", watch)
        assert run(project, last(project)) == 0
    assert set(sizes) == {(64, 96)}


def best_maps(project: Project, monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    """Let mAPs be these, one after the other."""
    maps = iter(values)
    monkeypatch.setattr(_training_run, "measure_and_print", lambda *_, **__: next(maps))


@pytest.mark.parametrize("lost", ["", "state", "record", "state record"])
def test_a_worse_map_after_a_resume_does_not_replace_the_best(
    project: Project, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Case H08: 0.80 before, 0.70 after; darknet begins again at -1."""
    best_maps(project, monkeypatch, 0.8, 0.7, 0.9)
    options = {"measure_map": True, "map_every": 2}
    run(project, stop_after=2, **options)
    best = project.folder / "backup/net_best.weights"
    assert seen(best) == 2 * 8
    if "state" in lost:
        last(project).with_suffix(".state").unlink()
    if "record" in lost:
        best.with_suffix(".map").unlink()
    run(project, last(project), stop_after=2, **options)
    assert seen(best) == 2 * 8
    project.write_cfg(max_batches=6)
    run(project, project.folder / "backup/net_final.weights", **options)
    assert seen(best) == 6 * 8
    assert sorted(path.name for path in best.parent.glob("*best*")) == ["net_best.map", "net_best.weights"]


def test_a_best_that_came_after_the_state_counts_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed after a best mAP, and goes on from before it on another way."""
    best_maps(project, monkeypatch, 0.2, 0.9, 0.5)
    options = {"measure_map": True, "map_every": 1}
    project.write_cfg(max_batches=3)
    run(project, stop_after=1, **options)
    kept = [(path, path.read_bytes()) for path in (last(project), last(project).with_suffix(".state"))]
    run(project, last(project), stop_after=1, **options)
    for path, content in kept:
        path.write_bytes(content)
    run(project, last(project), stop_after=1, seed=4, **options)
    assert seen(project.folder / "backup/net_best.weights") == 2 * 8
    assert "0.9 " in (project.folder / "backup/net_best.map").read_text()


def test_a_new_folder_gets_a_best_file_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    best_maps(project, monkeypatch, 0.9, 0.5, 0.4)
    options = {"measure_map": True, "map_every": 2}
    run(project, stop_after=2, **options)
    (project.folder / "backup/net_best.weights").unlink()
    run(project, last(project), **options)
    assert seen(project.folder / "backup/net_best.weights") == 4 * 8


@pytest.mark.parametrize("clear", [False, True])
def test_starting_over_is_warned_of_and_keeps_the_best(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clear: bool
) -> None:
    """The weights forgotten on the command line, or -clear."""
    best_maps(project, monkeypatch, 0.9, 0.1, 0.2)
    options = {"measure_map": True, "map_every": 2}
    run(project, stop_after=2, **options)
    folder = project.folder / "backup"
    best = (folder / "net_best.weights").read_bytes()
    capsys.readouterr()
    run(project, last(project) if clear else None, clear=clear, **options)
    assert "net_last.weights of an earlier run will be overwritten" in capsys.readouterr().err
    assert (folder / "net_best.1.weights").read_bytes() == best
    assert seen(folder / "net_best.weights") == 4 * 8
    assert len(list(folder.glob("net_best*.weights"))) == 2


def test_a_full_disk_for_rows_and_log_does_not_end_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The .csv and what is printed; the weights have their own tests."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Rows, "_open", lambda rows: Full())
    monkeypatch.setattr(sys, "stdout", Full())
    assert project.train() == 0
    assert seen(project.folder / "backup/net_final.weights") == 4 * 8


def test_a_best_file_of_unknown_map_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as darknet's own, of which no file says how good it is."""
    run(project, stop_after=2)
    folder = project.folder / "backup"
    (folder / "net_last.state").unlink()
    (folder / "net_best.weights").write_bytes(b"darknet's")
    best_maps(project, monkeypatch, 0.7, 0.8)
    run(project, last(project), measure_map=True, map_every=1)
    assert (folder / "net_best.1.weights").read_bytes() == b"darknet's"
    assert seen(folder / "net_best.weights") == 4 * 8
    assert len(list(folder.glob("net_best*.weights"))) == 2
    assert "of an earlier run; it is kept as net_best.1.weights." in capsys.readouterr().err


def test_the_chart_goes_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    curves = []
    save = _training_run.Chart._save

    def watch(chart: _training_run.Chart) -> None:
        plot = chart.plot()
        assert plot is not None
        curves.append(plot.losses.iterations.tolist())
        save(chart)

    monkeypatch.setattr(_training_run.Chart, "_save", watch)
    run(project, stop_after=2)
    run(project, last(project))
    assert curves[-1] == [1, 2, 3, 4]


def test_a_vanished_backup_folder_loses_nothing(project: Project) -> None:
    class Vandal(StopRequest):
        def __call__(self) -> bool:
            shutil.rmtree("backup", ignore_errors=True)
            return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "StopRequest", Vandal)
        assert project.train() == 0
    assert seen(project.folder / "backup/net_final.weights") == 4 * 8


def test_a_save_that_fails_does_not_end_the_run(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """As on a disk that is full for a while."""
    replace = Path.replace

    def full(path: Path, target: Path) -> Path:
        if Path(target).name == "net_2.weights":
            raise OSError(28, "No space left on device")
        return replace(path, target)

    project.write_data(saveweights=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", full)
        assert project.train() == 0
    err = capsys.readouterr().err
    assert "Warning: backup/net_2.weights: cannot write weights: No space left on device." in err
    assert "Training goes on; the next save tries again." in err
    assert sorted(path.name for path in (project.folder / "backup").glob("*.weights")) == [
        "net_4.weights",
        "net_final.weights",
    ]
