from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from darkpy.conversion.same_content import content_keys


def test_same_bytes_have_the_same_key(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcde"]
    for path, raw in zip(paths, (b"one", b"two", b"one", b"longer"), strict=False):
        path.write_bytes(raw)
    a, b, c, d, e = content_keys([*paths[:4], tmp_path / "missing"], map)
    assert a == c
    assert len({a, b, d, e}) == 4


def test_only_files_of_one_length_are_read(tmp_path: Path) -> None:
    read: list[Path] = []

    def each(work: Callable[[Path], str], paths: Sequence[Path]) -> Iterable[str]:
        read.extend(paths)
        return map(work, paths)

    for name, raw in (("a", b"one"), ("b", b"three"), ("c", b"two")):
        (tmp_path / name).write_bytes(raw)
    content_keys([tmp_path / name for name in "abc"], each)
    assert read == [tmp_path / "a", tmp_path / "c"]


def test_a_file_that_vanishes_stays_alone(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        path.write_bytes(b"same")

    def each(work: Callable[[Path], str], doubtful: Sequence[Path]) -> Iterable[str]:
        paths[0].unlink()
        return map(work, doubtful)

    first, second = content_keys(paths, each)
    assert first != second


def test_a_path_that_cannot_be_one_stays_alone() -> None:
    first, second = content_keys([Path("a\0b"), Path("a\0c")], map)
    assert first != second
