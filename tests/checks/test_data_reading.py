"""Reading pictures and labels in threads (darkpy/checks/data_reading.py)."""

from pathlib import Path

import pytest
from clean_data import LABEL, add

from darkpy.checks import data_reading
from darkpy.checks.data_reading import read_label_file, read_samples, usable_cores


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("workers", [1, 3])
def test_samples_come_in_the_order_of_the_paths(workers: int) -> None:
    paths = [f"{number}.png" for number in range(30)]
    for number, path in enumerate(paths):
        add(path, width=8 + number, height=8)
    paths.insert(7, "none.png")
    samples = list(read_samples(paths, classes=2, workers=workers))
    assert [one.path for one in samples] == paths
    assert [one.picture.width for one in samples] == [*range(8, 15), 0, *range(15, 38)]
    assert samples[7].picture.failure == samples[7].label.failure == "missing"
    assert [len(one.label.labels.truths) for one in samples] == [2] * 7 + [0] + [2] * 23


def test_who_stops_early_leaves_the_rest_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def group(paths: list[str], *, classes: int) -> list[str]:
        read.extend(paths)
        return paths

    monkeypatch.setattr(data_reading, "_read_group", group)
    samples = read_samples([str(number) for number in range(100_000)], classes=1, workers=1)
    assert next(samples) == "0"
    samples.close()
    assert len(read) < 100_000


@pytest.mark.parametrize(
    ("raw", "odd", "records"),
    [
        (LABEL.encode(), (), 2),
        (b"", (), 0),
        (b"\xef\xbb\xbf" + LABEL.encode(), ("byte-order-mark",), 2),
        (LABEL.encode("utf-16"), ("utf-16",), 2),
        (LABEL.replace("\n", "\r").encode(), ("carriage-returns",), 2),
        (LABEL.encode() + b"\xe4 .5 .5 .1 .1\n", (), 2),  # no UTF-8: the line is no record, which says more
        (b"\x89PNG\r\n\x1a\n\0\0", ("binary",), 0),
    ],
)
def test_odd_label_files(raw: bytes, odd: tuple[str, ...], records: int) -> None:
    Path("a.txt").write_bytes(raw)
    label = read_label_file("a.txt", classes=2)
    assert (label.failure, label.odd, len(label.labels.truths)) == ("", odd, records)


@pytest.mark.parametrize(("path", "failure"), [("none.txt", "missing"), (".", "Is a directory"), ("a\0b", "embedded")])
def test_label_files_that_cannot_be_read(path: str, failure: str) -> None:
    label = read_label_file(path, classes=2)
    assert label.failure.startswith(failure)
    assert label.labels.missing


def test_there_is_a_core() -> None:
    assert usable_cores() >= 1
