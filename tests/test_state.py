"""State files: plain data, whole, and tied to their weights."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from darkpy.errors import StateError
from darkpy.state import RunState, file_hash, read_state, weights_hash_in, write_state

FIGURES = st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False) | st.text() | st.none() | st.booleans())
NAMES = st.from_regex(r"[0-9]{1,3}\.[a-z]{1,9}\.[vms]", fullmatch=True)
ARRAYS = st.dictionaries(NAMES, arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0)))


def stored(path: Path, **arrays: np.ndarray) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


@given(figures=FIGURES, arrays=ARRAYS)
def test_what_is_written_is_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, figures: dict, arrays: dict
) -> None:
    path = tmp_path_factory.mktemp("state") / "net_last.state"
    write_state(path, RunState(figures, arrays), weights_hash="ab12")
    state = read_state(path)
    assert state.figures == figures
    assert {name: (array.dtype, array.shape, array.tobytes()) for name, array in state.arrays.items()} == {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()
    }
    assert weights_hash_in(path) == "ab12"


def test_no_array_can_bring_code(tmp_path: Path) -> None:
    path = tmp_path / "net_last.state"
    stored(path, figures=np.array([print], dtype=object))
    with pytest.raises(StateError, match=r"net_last\.state: cannot be read as a state file: Object arrays cannot be"):
        read_state(path)


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def other_file(path: Path) -> None:
    path.write_text("no state")


def without_figures(path: Path) -> None:
    stored(path, other=np.zeros(3))


def without_hash(path: Path) -> None:
    stored(path, figures=np.array(json.dumps({"version": 1})))


@pytest.mark.parametrize("harm", [damaged, cut, emptied, other_file, without_figures, without_hash])
def test_a_file_that_is_no_whole_state_is_one_line(tmp_path: Path, harm: object) -> None:
    path = tmp_path / "net_last.state"
    write_state(path, RunState({"a": 1}, {"0.weight.v": np.ones(5000, np.float32)}), weights_hash="ab12")
    harm(path)  # type: ignore[operator]
    with pytest.raises(
        StateError, match=r"net_last\.state: cannot be read as a state file: .*\. Remove it\."
    ) as caught:
        read_state(path)
    assert "\n" not in str(caught.value)


def test_no_flipped_byte_is_a_traceback(tmp_path: Path) -> None:
    """A zip has fields that say encrypted, or packed in another way."""
    path = tmp_path / "net_last.state"
    write_state(path, RunState({"a": 1}, {"0.weight.v": np.ones(4, np.float32)}), weights_hash="ab12")
    content = path.read_bytes()
    refused = 0
    for position in range(0, len(content), 3):
        for flip in (1, 8, 255):
            path.write_bytes(content[:position] + bytes([content[position] ^ flip]) + content[position + 1 :])
            try:
                read_state(path)
            except StateError:
                refused += 1
    assert refused > len(content) / 4


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="No such file"):
        weights_hash_in(tmp_path / "net_last.state")


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net_last.state"
    stored(path, figures=np.array(json.dumps({"version": 7, "weights": "", "figures": {}})))
    with pytest.raises(StateError, match=r"a state file of version 7, this darkpy reads version 1\. Remove it\."):
        weights_hash_in(path)


def test_the_file_is_a_zip_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "net_last.state"
    write_state(path, RunState({}, {"0.weight.v": np.ones(3, np.float32)}), weights_hash="")
    assert sorted(zipfile.ZipFile(path).namelist()) == ["0.weight.v.npy", "figures.npy"]


def test_the_hash_is_that_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert file_hash(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
