"""The .csv file of a run."""

import csv
import shutil
from pathlib import Path

import pytest

from darkpy.events import IterationTrained, MapMeasured, TrainingEnded
from darkpy.report.rows import COLUMNS, Rows, begin_rows, best_map_in


def trained(iteration: int, loss: float = 1.5) -> IterationTrained:
    return IterationTrained(iteration, 400, loss, loss / 2, 0.001, 0.25, iteration * 8, 0.5, None, -1.0, -1.0, 0.5)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def written(path: Path, *iterations: int, maps: dict[int, float] | None = None) -> Path:
    rows = Rows(path)
    for iteration in iterations:
        rows(trained(iteration))
        if iteration in (maps or {}):
            rows(MapMeasured(iteration, maps[iteration], 0.5, True))  # type: ignore[index]
    rows(TrainingEnded(iterations[-1], interrupted=False))
    return path


def test_each_row_is_on_disk_at_once(tmp_path: Path) -> None:
    path = tmp_path / "net.csv"
    rows = Rows(path)
    rows(trained(1, loss=2.0))
    assert path.read_text() == ",".join(COLUMNS) + "\n1,2,1,0.001,8,0.250,\n"
    rows(MapMeasured(1, 0.75, 0.5, True))
    assert rows_of(path)[-1] == dict.fromkeys(COLUMNS, "") | {"iteration": "1", "map": "0.750000"}
    rows.close()


def test_a_loss_keeps_its_float32_digits(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "net.csv")
    rows(trained(1, loss=0.1234567912936210632))  # a float32
    rows.close()
    assert rows_of(tmp_path / "net.csv")[0]["loss"] == "0.123456791"


def test_going_on_appends_under_the_one_header(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", 1, 2)
    begin_rows(path, completed=2, is_exact=False)
    written(path, 3)
    assert [row["iteration"] for row in rows_of(path)] == ["1", "2", "3"]
    assert list(tmp_path.iterdir()) == [path]


def test_rows_that_an_exact_run_repeats_are_taken_back(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", 1, 2, 3, maps={3: 0.5})
    begin_rows(path, completed=2, is_exact=True)
    assert [row["iteration"] for row in rows_of(path)] == ["1", "2"]
    assert list(tmp_path.iterdir()) == [path]


def test_rows_of_a_run_that_takes_another_way_are_kept_apart(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", 1, 2, 3)
    content = path.read_bytes()
    begin_rows(path, completed=1, is_exact=False)
    assert [row["iteration"] for row in rows_of(path)] == ["1"]
    assert (tmp_path / "net.1.csv").read_bytes() == content
    begin_rows(path, completed=0, is_exact=False)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["net.1.csv", "net.2.csv"]


def test_a_row_that_a_kill_cut_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", 1, 2)
    path.write_bytes(path.read_bytes()[:-4])
    begin_rows(path, completed=1, is_exact=True)
    written(path, 2)
    assert [row["iteration"] for row in rows_of(path)] == ["1", "2"]


def test_no_file_yet(tmp_path: Path) -> None:
    begin_rows(tmp_path / "net.csv", completed=5, is_exact=False)
    assert list(tmp_path.iterdir()) == []
    assert best_map_in(tmp_path / "net.csv") == -1


def test_the_best_map_is_found_among_the_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "net.csv", 1, 2, 3, maps={1: 0.25, 2: 0.75, 3: 0.5})
    path.write_text(path.read_text() + "a line of someone else\n")
    assert best_map_in(path) == 0.75
    assert best_map_in(written(tmp_path / "other.csv", 1)) == -1


def test_a_folder_that_vanished_and_came_back_gets_a_new_file(tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    folder.mkdir()
    rows = Rows(folder / "net.csv")
    rows(trained(1))
    shutil.rmtree(folder)
    folder.mkdir()
    rows(trained(2))
    rows.close()
    assert [row["iteration"] for row in rows_of(folder / "net.csv")] == ["2"]


def test_a_file_that_cannot_be_written_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows(tmp_path / "gone" / "net.csv")
    rows(trained(1))
    rows(trained(2))
    assert capsys.readouterr().err == (
        f"Note: {tmp_path / 'gone' / 'net.csv'} cannot be written: No such file or directory. Training goes on.\n"
    )
