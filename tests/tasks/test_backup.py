"""What is saved is never lost: a kill or a failure at any operation leaves weights with the state that is theirs."""

import errno
import re
from pathlib import Path

import numpy as np
import pytest
import sections
import torch
from faults import Killed, failing
from hypothesis import given
from hypothesis import strategies as st

from darkpy.errors import WeightsError
from darkpy.events import Line, WeightsSaved
from darkpy.network import Network
from darkpy.state import RunState, file_hash, read_state, weights_hash_in
from darkpy.tasks._backup import Saver, save_pair
from darkpy.tasks._resume import find_state

LAYERS = sections.conv(filters=2)
MOST_OPERATIONS = 20


def network(value: float) -> Network:
    built = sections.network(LAYERS)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.fill_(value)
    return built


def save(folder: Path, value: int) -> None:
    """Save a pair whose weights, seen and state all say ``value``."""
    state = RunState({"value": value}, {"momentum": np.full(3, value, np.float32)})
    save_pair(network(value), folder / "net_last.weights", state, seen=value)


def value_on_disk(folder: Path) -> int:
    """Return what the pair on disk says; both halves must agree."""
    weights = folder / "net_last.weights"
    value = int(np.frombuffer(weights.read_bytes(), "<f4", offset=20)[0])
    found = find_state(weights, folder)
    assert found is not None, f"no state belongs to the weights: {sorted(path.name for path in folder.iterdir())}"
    _, state = found
    assert state.figures == {"value": value}
    assert state.arrays["momentum"].tolist() == [value] * 3
    return value


@given(kills=st.lists(st.integers(0, MOST_OPERATIONS), min_size=1, max_size=6))
def test_a_kill_between_any_two_operations_leaves_a_pair(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int]
) -> None:
    """However many saves in a row are killed, each at another point."""
    folder = tmp_path_factory.mktemp("backup")
    save(folder, 1)
    before = 1
    for value, kill in enumerate(kills, start=2):
        try:
            with failing(kill, Killed, for_good=True):
                save(folder, value)
        except Killed:
            assert value_on_disk(folder) in (before, value)
        else:
            assert value_on_disk(folder) == value
        before = value_on_disk(folder)


def test_every_operation_of_a_save_can_be_the_last(tmp_path: Path) -> None:
    """The same, point by point, so that no point is left to chance; and the points are as many as we think."""
    results = []
    for kill in range(MOST_OPERATIONS):
        folder = tmp_path / str(kill)
        folder.mkdir()
        save(folder, 1)
        try:
            with failing(kill, Killed, for_good=True):
                save(folder, 2)
        except Killed:
            results.append(value_on_disk(folder))
        else:
            break
    assert results == sorted(results)
    assert len(results) >= 8
    assert {1, 2} <= set(results)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.ENOENT, errno.EACCES, errno.EIO])
def test_a_failure_of_any_operation_leaves_a_pair_and_no_rubbish(tmp_path: Path, number: int) -> None:
    """A full disk, a read-only or vanished folder, a failed rename."""
    told: list[str] = []
    for at in range(MOST_OPERATIONS):
        folder = tmp_path / str(at)
        folder.mkdir()
        save(folder, 1)
        try:
            with failing(at, lambda: OSError(number, "it failed"), for_good=False):
                save(folder, 2)
        except WeightsError as error:
            told.append(str(error))
        value = value_on_disk(folder)
        with failing(99, Killed, for_good=True):
            save(folder, 3)
        assert value in (1, 2)
        assert value_on_disk(folder) == 3
        leftovers = [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
        # where removing the unfinished file is what failed, it stays until the next run begins
        assert len(leftovers) <= 1
        assert sorted(path.name for path in folder.iterdir() if path.name not in leftovers) == [
            "net_last.state",
            "net_last.weights",
        ]
    assert len(told) >= 6
    line = "net_last.weights: cannot write weights: it failed. Free space, or set another backup folder."
    assert all(text.endswith(line) for text in told)


class Bench:
    """A saver with what it announced."""

    def __init__(self, folder: Path) -> None:
        self.events: list[object] = []
        self.state: RunState | None = RunState({"value": 1}, {})
        self.saver = Saver(
            network(1.0),
            folder,
            "net",
            seen=lambda: 640,
            state=lambda: self.state,
            emit=self.events.append,
        )


def test_only_the_last_file_has_a_state(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for suffix in ("100", "best", "last", "final"):
        bench.saver(suffix)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net_100.weights",
        "net_best.weights",
        "net_final.weights",
        "net_last.state",
        "net_last.weights",
    ]
    assert bench.events[0] == WeightsSaved(tmp_path / "net_100.weights")
    assert weights_hash_in(tmp_path / "net_last.state") == file_hash(tmp_path / "net_last.weights")


def test_the_average_of_the_weights_is_told_as_darknet_tells_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.saver("ema")
    path = tmp_path / "net_ema.weights"
    assert bench.events == [WeightsSaved(path), Line(f" EMA weights are saved to the file: {path} ")]


def test_where_there_is_nothing_exact_to_tell_the_weights_go_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.state = None
    bench.saver("last")
    assert [path.name for path in tmp_path.iterdir()] == ["net_last.weights"]


def test_a_folder_that_vanished_is_made_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "deep" / "backup")
    bench.saver("last")
    assert read_state(tmp_path / "deep/backup/net_last.state").figures == {"value": 1}


def test_a_folder_that_cannot_be_made_again_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "backup").write_text("a file")
    with pytest.raises(WeightsError, match=r"net_last\.weights: cannot write weights: File exists\. Free space, or"):
        Bench(tmp_path / "backup").saver("last")


def test_the_end_of_a_run_is_saved_elsewhere_rather_than_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "backup").write_text("a file")
    for name in ("net_final.weights", "net_final.1.weights"):  # no second file over the first
        with pytest.raises(WeightsError, match=rf"cannot write weights: .* The weights are in .*{re.escape(name)}\.$"):
            Bench(tmp_path / "backup").saver.finish("final")
        assert (tmp_path / name).stat().st_size == 20 + 4 * 8
    with pytest.raises(WeightsError, match=r"The weights are in .*net_last\.weights\.$"):
        Bench(tmp_path / "backup").saver.finish("last")
    found = find_state(tmp_path / "net_last.weights", tmp_path)
    assert found is not None
    assert found[1].figures == {"value": 1}
